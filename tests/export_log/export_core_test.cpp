// SPDX-License-Identifier: Apache-2.0
// What random runs of the core find is in simulation/export_log_test.cpp; here are single decisions.
#include <distrib/export_log/export_core.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

using namespace distrib::export_action;
using distrib::ExportActions;
using distrib::ExportPlan;

namespace {

auto part_of_core(const char* letter, const std::string& on = {}) -> distrib::LogPart {
  std::string hash;
  while (hash.size() < 64) hash += letter;
  return {"parts/1-" + hash + ".safetensors", 10, on, {1, 1}};
}

struct StartedCore {
  distrib::ExportCore core;
  distrib::LogHead head;

  explicit StartedCore(distrib::LogView view = {}, distrib::ExportMark mark = {}, std::uint64_t lineage = 4)
      : core{rules(), lineage, std::move(mark)} {
    ExportActions out;
    core.start(out);
    REQUIRE(std::holds_alternative<ReadLog>(out.at(0)));
    core.log_read(std::move(view), out);
    head = std::get<SwapHead>(out.at(1)).head;
    core.swapped(true, out);
    started.assign(out.begin() + 2, out.end());
  }
  ExportActions started;  // what the core asks for when it has its number

  static auto rules() -> distrib::ExportRules {
    distrib::ExportRules rules;
    rules.base_every = 1000;
    rules.new_log = 9;
    return rules;
  }
};

auto view_at(std::uint64_t step, std::uint64_t lineage, const distrib::LogPart& part) -> distrib::LogView {
  distrib::LogView view;
  view.head = {9, 1, "manifests/x", {3}};
  view.version = "v";
  view.manifest.emplace();
  view.manifest->step = step;
  view.manifest->lineage = lineage;
  view.manifest->parts = {part};
  return view;
}

}  // namespace

TEST_CASE("a shard that starts takes its number, and then exports all rows") {
  StartedCore one;
  CHECK(one.head.log == 9);
  CHECK(one.head.epochs == std::vector<std::uint64_t>{1});
  CHECK(one.core.has_started());
  CHECK(one.core.plan(1, {}).kind == ExportPlan::Kind::full);
  one.core.written(1, part_of_core("a"), {});
  const ExportPlan next = one.core.plan(2, {});
  CHECK(next.kind == ExportPlan::Kind::delta);
  CHECK(next.on == part_of_core("a").name);
}

TEST_CASE("before it has its number a shard exports nothing and forgets no change") {
  distrib::ExportCore core{StartedCore::rules(), 4, {}};
  CHECK(core.plan(1, {}).kind == ExportPlan::Kind::nothing);
  CHECK(!core.plan(1, {}).forget_changes);
}

TEST_CASE("a shard commits when all have voted, and only from the head that it has read") {
  StartedCore one;
  (void)one.core.plan(1, {});
  one.core.written(1, part_of_core("a"), {});
  ExportActions out;
  one.core.vote(out);
  std::error_code ignored;
  const auto vote = distrib::parse_log_vote(std::get<Put>(out.at(0)).text, ignored);
  REQUIRE(vote);
  out.clear();
  one.core.poll(out);
  distrib::LogView view{one.head, "v7", std::nullopt};
  one.core.log_read(view, out);
  REQUIRE(std::get<ReadVotes>(out.at(1)).names.size() == 1);
  one.core.votes_read(std::vector<std::optional<distrib::LogVote>>{vote}, out);
  const auto& swap = std::get<SwapHead>(out.at(3));
  CHECK(swap.version == "v7");
  CHECK(swap.head.position == 1);
  CHECK(swap.head.manifest == std::get<Put>(out.at(2)).name);
  one.core.swapped(true, out);
  CHECK(std::holds_alternative<Committed>(out.back()));
}

TEST_CASE("a vote that is missing, of another epoch, or on another part commits nothing") {
  StartedCore one;
  (void)one.core.plan(1, {});
  one.core.written(1, part_of_core("a"), {});
  ExportActions out;
  one.core.vote(out);
  std::error_code ignored;
  auto good = distrib::parse_log_vote(std::get<Put>(out.at(0)).text, ignored);
  const auto commits = [&](std::optional<distrib::LogVote> vote) {
    ExportActions now;
    one.core.poll(now);
    one.core.log_read({one.head, "v", std::nullopt}, now);
    one.core.votes_read(std::vector{std::move(vote)}, now);
    const bool done = std::holds_alternative<SwapHead>(now.back());
    if (done) one.core.swapped(false, now);
    return done;
  };
  CHECK(commits(good));
  CHECK(!commits(std::nullopt));
  auto other = good;
  ++other->epoch;
  CHECK(!commits(other));
  other = good;
  other->part.on = part_of_core("b").name;
  CHECK(!commits(other));
  other = good;
  ++other->lineage;
  CHECK(!commits(other));
  CHECK(commits(good));
}

TEST_CASE("a step that is in the log already is not exported again, and proves where deltas go on") {
  const distrib::LogPart committed = part_of_core("c");
  StartedCore one{view_at(10, 4, committed)};
  CHECK(one.core.plan(5, {9, 9}).kind == ExportPlan::Kind::nothing);
  const ExportPlan same = one.core.plan(10, committed.state);
  CHECK(same.kind == ExportPlan::Kind::nothing);
  CHECK(same.forget_changes);
  CHECK(one.core.plan(15, {}).on == committed.name);
  CHECK(one.core.mark().base == committed.name);
}

TEST_CASE("with other settings a step may be exported again: as the next position, with all rows") {
  StartedCore one{view_at(10, 5, part_of_core("c")), {part_of_core("b").name, {}}};
  CHECK(one.core.plan(5, {}).kind == ExportPlan::Kind::full);
}

TEST_CASE("a shard that starts from a cut goes on with deltas only if it stands on what is committed") {
  distrib::LogVote vote;
  vote.label = vote.step = 12;
  vote.lineage = 4;
  vote.part = part_of_core("d", part_of_core("c").name);
  const distrib::ExportMark mark{part_of_core("d").name, {vote}};
  {
    StartedCore proven{view_at(10, 4, part_of_core("c")), mark};
    REQUIRE(proven.started.size() == 1);  // votes again, as the process that it is now
    CHECK(std::get<Put>(proven.started[0]).name == distrib::vote_name(12, 0, 4));
    CHECK(proven.core.plan(13, {}).on == part_of_core("d").name);
  }
  StartedCore other{view_at(10, 4, part_of_core("e")), mark};
  CHECK(other.started.empty());
  CHECK(other.core.plan(13, {}).kind == ExportPlan::Kind::full);
  StartedCore changed{view_at(10, 4, part_of_core("c")), mark, 5};
  CHECK(changed.core.plan(13, {}).kind == ExportPlan::Kind::full);
}

TEST_CASE("a shard whose number was taken exports nothing until it has taken the number back") {
  StartedCore one;
  ExportActions out;
  one.core.poll(out);
  distrib::LogHead taken = one.head;
  ++taken.epochs[0];
  one.core.log_read({taken, "v", std::nullopt}, out);
  CHECK(std::holds_alternative<Replaced>(out.back()));
  CHECK(!one.core.has_started());
  CHECK(one.core.plan(1, {}).kind == ExportPlan::Kind::nothing);
  one.core.poll(out);
  one.core.log_read({taken, "v", std::nullopt}, out);
  one.core.swapped(true, out);
  CHECK(one.core.epoch() == 3);
}

TEST_CASE("a vote that was not written, because an action failed, is written again") {
  StartedCore one;
  (void)one.core.plan(1, {});
  one.core.written(1, part_of_core("a"), {});
  ExportActions out;
  one.core.vote(out);
  const std::string name = std::get<Put>(out.at(0)).name;
  out.clear();
  one.core.poll(out);
  CHECK(out.size() == 1);  // no vote a second time
  one.core.failed();
  out.clear();
  one.core.poll(out);
  REQUIRE(out.size() == 2);
  CHECK(std::get<Put>(out[0]).name == name);
  CHECK(std::holds_alternative<ReadLog>(out[1]));
}

TEST_CASE("a chain of parts that nobody commits ends with all rows") {
  StartedCore one;
  std::string on;
  std::uint64_t step = 1;
  for (; step < 100; ++step) {
    const ExportPlan plan = one.core.plan(step, {});
    if (plan.kind == ExportPlan::Kind::full && step > 1) break;
    const std::string letter(1, static_cast<char>('a' + step % 6));
    one.core.written(step, part_of_core(letter.c_str(), plan.on), {});
  }
  CHECK(step == 16);
}

TEST_CASE("an asynchronous part whose position went to another one is given up, and the next one has all rows") {
  distrib::ExportRules rules = StartedCore::rules();
  rules.synchronous = false;
  distrib::ExportCore core{rules, 0, {}};
  ExportActions out;
  core.start(out);
  core.log_read({}, out);
  const distrib::LogHead begun = std::get<SwapHead>(out.at(1)).head;
  core.swapped(true, out);
  REQUIRE(core.plan(5, {}).label == 1);
  core.written(5, part_of_core("a"), {});
  core.vote(out);
  CHECK(core.plan(6, {}).kind == ExportPlan::Kind::nothing);  // its position is not decided yet
  distrib::LogView others = view_at(5, 0, part_of_core("b"));
  others.head.log = begun.log;
  others.head.epochs = begun.epochs;
  // Of a job with one shard, as this one is: who compacts the log. Or with two: the job before this one.
  if (GENERATE(true, false)) others.manifest->parts.push_back(part_of_core("c"));
  core.poll(out);
  core.log_read(others, out);
  CHECK(!core.is_busy());
  CHECK(!core.has_pending());
  const ExportPlan next = core.plan(7, {});
  CHECK(next.kind == ExportPlan::Kind::full);
  CHECK(next.label == 2);
}

TEST_CASE("a shard whose chain begins with a part that another shard lacks exports all rows until one is committed") {
  distrib::ExportRules rules = StartedCore::rules();
  rules.shards = 2;
  distrib::ExportCore core{rules, 4, {}};
  ExportActions out;
  core.start(out);
  core.log_read({}, out);
  distrib::LogHead head = std::get<SwapHead>(out.at(1)).head;
  core.swapped(true, out);
  head.epochs.push_back(1);  // the other shard starts after the first label
  const auto exports = [&](std::uint64_t step, const char* letter) {
    const ExportPlan plan = core.plan(step, {});
    core.written(step, part_of_core(letter, plan.on), {});
    return plan.kind;
  };
  // Polls; the other shard has voted for these labels. Returns true if the core commits.
  const auto polls = [&](const std::vector<std::uint64_t>& labels) {
    ExportActions now;
    core.poll(now);
    now.clear();
    core.log_read({head, "v", std::nullopt}, now);
    while (!now.empty() && std::holds_alternative<ReadVotes>(now.back())) {
      const distrib::ExportMark mark = core.mark();
      std::vector<std::optional<distrib::LogVote>> votes(2);
      for (const distrib::LogVote& own : mark.votes) {
        if (distrib::vote_name(own.label, 0, 1) != std::get<ReadVotes>(now.back()).names[0]) continue;
        votes[0] = own;
        if (std::ranges::find(labels, own.label) == labels.end()) continue;
        votes[1] = own;
        votes[1]->shard = 1;
        votes[1]->part = part_of_core("f");
      }
      now.clear();
      core.votes_read(votes, now);
    }
    const bool commits = !now.empty() && std::holds_alternative<SwapHead>(now.back());
    if (commits) core.swapped(true, now);
    return commits;
  };
  CHECK(exports(1, "a") == ExportPlan::Kind::full);
  CHECK(exports(2, "b") == ExportPlan::Kind::delta);
  CHECK(exports(3, "c") == ExportPlan::Kind::delta);
  CHECK_FALSE(polls({2, 3}));
  CHECK(exports(4, "d") == ExportPlan::Kind::delta);  // its vote for 1 may have come meanwhile
  CHECK_FALSE(polls({2, 3}));
  CHECK(exports(5, "e") == ExportPlan::Kind::full);
  CHECK_FALSE(polls({2, 3}));
  CHECK(exports(6, "a") == ExportPlan::Kind::full);  // the other shard may have begun anew at this label
  CHECK(polls({2, 3, 6}));
  CHECK(exports(7, "b") == ExportPlan::Kind::delta);
}

TEST_CASE("a part that is taken and not written yet: the next one is a delta to it, and each gets its own label") {
  StartedCore one;
  CHECK(one.core.plan(1, {}).kind == ExportPlan::Kind::full);
  one.core.taken();
  const ExportPlan next = one.core.plan(2, {});
  CHECK(next.kind == ExportPlan::Kind::delta);
  CHECK(next.on_taken);
  CHECK(next.on.empty());
  one.core.taken();
  CHECK(one.core.has_pending());
  one.core.written(1, part_of_core("a"), {});
  one.core.written(2, part_of_core("b", part_of_core("a").name), {});
  const distrib::ExportMark mark = one.core.mark();
  REQUIRE(mark.votes.size() == 2);
  CHECK(mark.votes[0].label == 1);
  CHECK(mark.votes[1].label == 2);
  CHECK(mark.base == part_of_core("b").name);
  const ExportPlan last = one.core.plan(3, {});
  CHECK(last.on == part_of_core("b").name);
  CHECK_FALSE(last.on_taken);
}

TEST_CASE("a part that is written after the log has proven another state is on no chain") {
  const distrib::LogPart committed = part_of_core("c");
  StartedCore one;
  (void)one.core.plan(9, {});
  one.core.taken();
  ExportActions out;
  one.core.poll(out);
  distrib::LogView view = view_at(10, 4, committed);  // the shard's other process was faster
  view.head.epochs = one.head.epochs;
  view.head.log = one.head.log;
  one.core.log_read(std::move(view), out);
  CHECK(one.core.plan(10, committed.state).kind == ExportPlan::Kind::nothing);
  one.core.written(9, part_of_core("a"), {});
  const ExportPlan next = one.core.plan(11, {});
  CHECK(next.kind == ExportPlan::Kind::delta);
  CHECK(next.on == committed.name);
}

TEST_CASE("the number of an export decides when a base is due, if steps are named; the last step has all rows") {
  StartedCore one;
  CHECK_FALSE(one.core.plan(7, {}, 1000).with_base);  // the part itself has all rows
  one.core.written(7, part_of_core("a"), {});
  CHECK_FALSE(one.core.plan(1000, {}, 2).with_base);  // by its label it would be due
  one.core.written(1000, part_of_core("b", part_of_core("a").name), {});
  const ExportPlan due = one.core.plan(1001, {}, 1000);
  CHECK(due.kind == ExportPlan::Kind::delta);
  CHECK(due.with_base);
  const ExportPlan last = one.core.plan(1002, {}, 1000, true);
  CHECK(last.kind == ExportPlan::Kind::full);
  CHECK_FALSE(last.with_base);
}

namespace {

/// Shards that export into one log, which is kept here. Each export is written and voted for at once; `polls` lets a
/// shard commit what it can.
struct CoresOnLog {
  struct Shard {
    std::optional<distrib::ExportCore> core;
    std::optional<distrib::LogVote> vote;  // the newest one
  };
  distrib::LogHead head;
  std::uint64_t version = 0;
  std::map<std::string, std::string> texts;
  std::vector<distrib::LogManifest> positions;
  std::vector<std::string> removed;  // parts
  std::vector<bool> has_new_base;  // of what was committed
  std::vector<Shard> shards;

  explicit CoresOnLog(std::uint32_t count, std::uint64_t base_every = 4) : shards(count), base_every_{base_every} {
    for (std::uint32_t shard = 0; shard < count; ++shard) start(shard);
  }
  void start(std::uint32_t shard) {
    distrib::ExportRules rules = StartedCore::rules();
    rules.shard = shard;
    rules.shards = static_cast<std::uint32_t>(shards.size());
    rules.base_every = base_every_;
    distrib::ExportMark mark;
    if (shards[shard].core) mark = shards[shard].core->mark();
    shards[shard].core.emplace(rules, 4, mark);
    ExportActions out;
    shards[shard].core->start(out);
    perform(shard, std::move(out));
  }
  /// Exports a step and votes for it. If all rows are asked for as well, they are copied if `takes_base`.
  auto exports(std::uint32_t shard, std::uint64_t step, bool takes_base = true, bool all_rows = false) -> ExportPlan {
    distrib::ExportCore& core = *shards[shard].core;
    ExportPlan plan = core.plan(step, {}, 0, all_rows);
    if (plan.kind == ExportPlan::Kind::nothing) return plan;
    if (plan.with_base && takes_base) core.base_taken();
    core.written(step, {name_of(step, shard), bytes_of_delta, plan.on, {1, 1}}, {});
    ExportActions out;
    core.vote(out);
    perform(shard, std::move(out));
    return plan;
  }
  void polls(std::uint32_t shard) {
    ExportActions out;
    shards[shard].core->poll(out);
    perform(shard, std::move(out));
  }
  /// All shards export a step, and learn of it.
  void all_export(std::uint64_t step) {
    for (std::uint32_t shard = 0; shard < shards.size(); ++shard) exports(shard, step);
    for (std::uint32_t shard = 0; shard < shards.size(); ++shard) polls(shard);
  }
  void base_written(std::uint32_t shard, std::uint64_t label) {
    shards[shard].core->base_written(label, name_of_base(label, shard), 100);
  }
  [[nodiscard]] auto newest() const -> const distrib::LogManifest& { return positions.back(); }
  static auto name_of(std::uint64_t label, std::uint32_t shard) -> std::string {
    return distrib::part_name(label, shard, 2, distrib::as_bytes("part"));
  }
  static auto name_of_base(std::uint64_t label, std::uint32_t shard) -> std::string {
    return distrib::base_name(label, shard, 2, 1, distrib::as_bytes("base"));
  }
  static constexpr std::uint64_t bytes_of_delta = 10;

 private:
  void perform(std::uint32_t number, ExportActions todo) {
    Shard& shard = shards[number];
    std::error_code ignored;
    for (std::size_t at = 0; at < todo.size(); ++at) {
      const distrib::ExportAction action = todo[at];
      if (std::holds_alternative<ReadLog>(action)) {
        distrib::LogView view{head, std::to_string(version), std::nullopt};
        if (!positions.empty()) view.manifest = positions.back();
        shard.core->log_read(std::move(view), todo);
      } else if (const auto* const swap = std::get_if<SwapHead>(&action)) {
        const bool is_done = swap->version == std::to_string(version);
        if (is_done) {
          if (swap->head.position != head.position)
            positions.push_back(distrib::parse_log_manifest(texts.at(swap->head.manifest), ignored).value());
          head = swap->head;
          ++version;
        }
        shard.core->swapped(is_done, todo);
      } else if (const auto* const put = std::get_if<Put>(&action)) {
        texts.try_emplace(put->name, put->text);
        if (put->name.starts_with("votes/")) shard.vote = distrib::parse_log_vote(put->text, ignored);
      } else if (const auto* const votes = std::get_if<ReadVotes>(&action)) {
        std::vector<std::optional<distrib::LogVote>> read;
        for (const std::string& name : votes->names) {
          const auto text = texts.find(name);
          read.push_back(text == texts.end() ? std::nullopt : distrib::parse_log_vote(text->second, ignored));
        }
        shard.core->votes_read(read, todo);
      } else if (const auto* const remove = std::get_if<Remove>(&action)) {
        if (remove->name.starts_with("parts/")) removed.push_back(remove->name);
      } else if (const auto* const committed = std::get_if<Committed>(&action)) {
        has_new_base.push_back(committed->has_new_base);
      }
    }
  }

  std::uint64_t base_every_;
};

}  // namespace

TEST_CASE("a base is written beside deltas, and later votes carry it until a position names the bases of all shards") {
  CoresOnLog log{2};
  for (std::uint64_t step = 1; step <= 3; ++step) log.all_export(step);
  CHECK_FALSE(log.newest().is_base());
  const ExportPlan plan = log.exports(0, 4);
  CHECK(plan.kind == ExportPlan::Kind::delta);
  CHECK(plan.with_base);
  CHECK(log.exports(1, 4).with_base);
  log.polls(1);
  CHECK(log.newest().step == 4);
  log.base_written(0, 4);
  log.all_export(5);
  CHECK(log.newest().step == 5);  // no position waits for the other base
  CHECK(log.newest().bases.empty());
  REQUIRE(log.shards[0].vote->base);
  CHECK(*log.shards[0].vote->base == distrib::LogBase{4, log.name_of(4, 0), log.name_of_base(4, 0), 100});
  CHECK_FALSE(log.shards[1].vote->base);
  log.base_written(1, 4);
  log.exports(0, 6);
  CHECK(log.positions.size() == 5);
  log.exports(1, 6);
  log.exports(1, 7);  // also carries it
  log.polls(0);
  REQUIRE(log.newest().bases.size() == 2);
  for (std::uint32_t shard = 0; shard < 2; ++shard)
    CHECK(log.newest().bases[shard] == distrib::LogBase{4, log.name_of(4, shard), log.name_of_base(4, shard), 100});
  CHECK(log.positions[3].is_place_of(log.newest().bases));
  CHECK(log.newest().base_bytes == 200);
  CHECK(log.newest().delta_bytes == 2 * CoresOnLog::bytes_of_delta);
  CHECK(log.has_new_base == std::vector<bool>{true, false, false, false, false, true});
  // It is repeated, and is no new one.
  log.exports(0, 7);
  CHECK_FALSE(log.shards[0].vote->base);
  log.polls(0);
  CHECK(log.newest().step == 7);
  CHECK(log.newest().bases == log.positions[5].bases);
  CHECK(log.newest().delta_bytes == 4 * CoresOnLog::bytes_of_delta);
  CHECK_FALSE(log.has_new_base.back());
  log.all_export(8);
  CHECK_FALSE(log.shards[1].vote->base);
  CHECK(log.removed.empty());
}

TEST_CASE("a base that is written before its part is named, and one whose part is not counted is not") {
  CoresOnLog log{1};
  distrib::ExportCore& core = *log.shards[0].core;
  for (std::uint64_t step = 1; step <= 3; ++step) log.all_export(step);
  REQUIRE(core.plan(4, {}).with_base);
  core.taken();
  core.base_taken();
  log.base_written(0, 4);
  core.written(4, {log.name_of(4, 0), 10, log.name_of(3, 0), {}}, {});
  log.polls(0);
  CHECK_FALSE(log.shards[0].vote->base);  // it is of this label
  log.all_export(5);
  CHECK(log.newest().bases.size() == 1);

  for (std::uint64_t step = 6; step <= 8; ++step) log.all_export(step);
  log.exports(0, 9, true, true);  // the base of 8 is of no use: no delta leads back to it
  log.base_written(0, 8);
  log.polls(0);
  CHECK(log.newest().is_base());
  CHECK(log.newest().bases.empty());
  log.all_export(10);
  CHECK_FALSE(log.shards[0].vote->base);
  CHECK(log.removed == std::vector<std::string>{log.name_of_base(8, 0)});
}

TEST_CASE("bases of different labels are not named, are removed, and the next ones are further apart") {
  CoresOnLog log{2};
  for (std::uint64_t step = 1; step <= 3; ++step) log.all_export(step);
  log.exports(0, 4);
  log.exports(1, 4, false);
  log.polls(0);
  log.polls(1);
  log.base_written(0, 4);
  for (std::uint64_t step = 5; step <= 7; ++step) log.all_export(step);
  const ExportPlan of_first = log.exports(0, 8);
  CHECK(of_first.with_base);  // twice the distance
  CHECK(log.exports(1, 8, false).with_base);
  log.base_written(0, 8);
  log.polls(0);
  log.polls(1);
  CHECK(log.removed == std::vector<std::string>{log.name_of_base(4, 0)});
  for (std::uint64_t step = 9; step <= 15; ++step) {
    log.exports(0, step);
    CHECK(log.exports(1, step).with_base == (step == 12));
    log.polls(0);
    log.polls(1);
    if (step == 12) log.base_written(1, 12);
    CHECK(log.newest().step == step);
    CHECK(log.newest().bases.empty());
  }
  CHECK(log.exports(0, 16).with_base);
  CHECK(log.exports(1, 16).with_base);
  for (std::uint32_t shard = 0; shard < 2; ++shard) log.polls(shard);
  for (std::uint32_t shard = 0; shard < 2; ++shard) log.base_written(shard, 16);
  log.all_export(17);
  REQUIRE(log.newest().bases.size() == 2);
  CHECK(log.newest().bases[0].label == 16);
  log.all_export(18);
  CHECK(log.removed.size() == 3);
}

TEST_CASE("a base that failed, or of a process before, is in no vote") {
  CoresOnLog log{1};
  for (std::uint64_t step = 1; step <= 4; ++step) log.all_export(step);
  SECTION("it failed") {
    log.shards[0].core->base_dropped(4);
    log.all_export(5);
    CHECK_FALSE(log.shards[0].vote->base);
    for (std::uint64_t step = 6; step <= 7; ++step) log.all_export(step);
    CHECK(log.exports(0, 8).with_base);
  }
  SECTION("the process started again") {
    log.base_written(0, 4);
    log.exports(0, 5);
    REQUIRE(log.shards[0].vote->base);
    log.start(0);
    CHECK(log.shards[0].vote->epoch == 2);
    CHECK(log.shards[0].vote->label == 5);
    CHECK_FALSE(log.shards[0].vote->base);
    log.base_written(0, 4);  // the answer came late
    log.polls(0);
    log.all_export(6);
    CHECK_FALSE(log.shards[0].vote->base);
    CHECK(log.newest().bases.empty());
    CHECK(log.newest().step == 6);
  }
  SECTION("another process had its number meanwhile") {
    log.base_written(0, 4);
    log.exports(0, 5);
    ++log.head.epochs[0];
    ++log.version;
    log.polls(0);
    log.polls(0);
    CHECK(log.shards[0].vote->epoch == 3);
    CHECK_FALSE(log.shards[0].vote->base);
    log.polls(0);
    CHECK(log.newest().step == 5);
    CHECK(log.newest().bases.empty());
  }
}

TEST_CASE("a base is due when the deltas outweigh the one before, at each fourth export") {
  CoresOnLog log{1, 1000};
  std::vector<std::uint64_t> due;
  for (std::uint64_t step = 1; step <= 40; ++step) {
    if (log.exports(0, step, true, step == 1).with_base) due.push_back(step);
    log.polls(0);
    if (step == 6) log.base_written(0, 4);
    if (step == 29) log.base_written(0, 20);
  }
  // The first one has 10 bytes, so it is due at once; the second one has 100. While one is written, no other one
  // begins.
  CHECK(due == std::vector<std::uint64_t>{4, 20});
  CHECK(log.positions[6].bases.size() == 1);
  CHECK(log.positions[28].delta_bytes == 230);
  CHECK(log.positions[29].base_bytes == 100);
}

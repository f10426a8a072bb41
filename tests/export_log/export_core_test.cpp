// SPDX-License-Identifier: Apache-2.0
// What random runs of the core find is in simulation/export_log_test.cpp; here are single decisions.
#include <distrib/export_log/export_core.hpp>

#include "support/catch.hpp"

#include <algorithm>
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

TEST_CASE("the number of an export decides when all rows are exported, if steps are named") {
  StartedCore one;
  (void)one.core.plan(7, {}, 1);
  one.core.written(7, part_of_core("a"), {});
  CHECK(one.core.plan(1000, {}, 2).kind == ExportPlan::Kind::delta);  // by its label it would have all rows
  one.core.written(1000, part_of_core("b", part_of_core("a").name), {});
  CHECK(one.core.plan(1001, {}, 1000).kind == ExportPlan::Kind::full);
}

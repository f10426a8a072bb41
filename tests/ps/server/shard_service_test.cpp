// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/server/shard_service.hpp>

#include <distrib/export_log/directory_log.hpp>
#include <distrib/export_log/retire_log.hpp>
#include <distrib/optimizer/updater_list.hpp>
#include <distrib/ps/server/perform_export.hpp>

#include "ps/fake_connection.hpp"
#include "ps/story.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using distrib::Cut;
using distrib::Empty;
using distrib::Instant;
using distrib::Job;
using distrib::Rank;
using distrib::ServerEvent;
using distrib::ShardIdentity;
using distrib::ShardOptions;
using distrib::Step;
using story::block;
using Texts = std::vector<std::string>;
using namespace std::chrono_literals;

namespace {

constexpr distrib::Consistency synchronous = distrib::BulkSynchronousParallel{};
constexpr distrib::Consistency asynchronous = distrib::AsynchronousParallel{};

auto job_of(Rank ranks, Step total, Step interval, distrib::Consistency consistency = synchronous) -> Job {
  Job job = story::job(1, ranks, total, interval);
  job.updater = "sgd learning_rate=1";  // values are the negative of the contributions
  job.consistency = consistency;
  return job;
}

auto replicated() -> Job {
  Job job = story::job(2, 2, 9, 3);
  job.tasks = 2;
  job.shards_per_task = 1;
  job.replicas = 2;
  job.updater = "sgd learning_rate=1";
  job.consistency = synchronous;
  return job;
}

auto hash_of(const Job& job) -> std::string { return distrib::to_hex(distrib::job_hash(job)); }

struct ShellEvent {
  const char* what;  ///< Describes the event; shown if the check fails.
  std::function<void()> happens;
  Texts expected;  ///< The answers to connections and the calls of the shell that must follow, in order.
};

/// A service with seven connections and a shell that records its calls: "a1 joined ...", "shell save 2 ...".
/// Ranks 0, 1 and 2 use connections "a", "b" and "c".
struct ServiceBench : distrib::ShardShell {
  explicit ServiceBench(Job of, ShardIdentity identity = {}, const ShardOptions& options = {})
      : job{std::move(of)},
        service{with_ranks(identity, job), options, distrib::shard_kinds(distrib::StandardUpdaters{}), *this, now} {}

  static auto with_ranks(ShardIdentity identity, const Job& job) -> ShardIdentity {
    if (identity.ranks == 1) identity.ranks = job.ranks;
    return identity;
  }

  // --- events ---

  template <class M>
  auto call(char who, std::uint64_t number, typename M::Request request = {}) -> std::function<void()> {
    return [=, this] {
      auto& connection = of(who);
      service.happened(&connection, connection.template begin<M>(number, request), now);
    };
  }
  auto join(char who, std::uint64_t number, Rank rank) {
    return call<distrib::Join>(who, number, {rank, hash_of(job), {}, {}});
  }
  auto bring(char who, std::uint64_t number, Rank rank, const Job& other) {
    return call<distrib::Join>(who, number,
                               {rank, hash_of(other), to_text(other), {"the directory", 7, {.max_to_keep = 3}}});
  }
  auto bring(char who, std::uint64_t number, Rank rank) { return bring(who, number, rank, job); }
  auto push(char who, std::uint64_t number, Step step, Rank rank, float value) {
    return call<distrib::Push>(who, number, {step, rank, 0, block(value)});
  }
  auto pull(char who, std::uint64_t number, Step step) { return call<distrib::Pull>(who, number, {step}); }
  auto pull(char who, std::uint64_t number, Step step, distrib::KeyLists keys) {
    return call<distrib::Pull>(who, number, {step, story::wanted(keys).keys});
  }
  auto push(char who, std::uint64_t number, Step step, Rank rank, distrib::SharedBuffer contribution) {
    return call<distrib::Push>(who, number, {step, rank, 0, std::move(contribution)});
  }
  auto cancel(char who, std::uint64_t number) {
    return [=, this] { service.happened(&of(who), of(who).cancel(number), now); };
  }
  auto look(char who, std::uint64_t number, Step step) {
    return call<distrib::Look>(who, number, {hash_of(job), step});
  }
  auto look_newest(char who, std::uint64_t number) { return call<distrib::Look>(who, number, {hash_of(job), 0, true}); }
  auto await_end(char who, std::uint64_t number) { return call<distrib::AwaitEnd>(who, number, {hash_of(job)}); }
  auto credit(char who, std::size_t items) {
    return [=, this] {
      of(who).credit = items;
      ServerEvent event;
      event.kind = ServerEvent::Kind::credit;
      if (items != 0) service.happened(&of(who), event, now);
    };
  }
  auto closed(char who) {
    return [=, this] { service.closed(&of(who), now); };
  }
  auto opened() {
    return [this] { service.opened({}, nullptr, now); };
  }
  auto ranks_saved() {
    return [this] { service.ranks_saved(now); };
  }
  auto opened_from(Step newest, float value, std::vector<Step> cuts) {
    return [=, this] {
      const Cut cut{newest, block(value), {}, {}, {}, story::only_lineage(job)};
      service.opened(story::cuts_at(cuts, job), &cut, now);
    };
  }
  auto copied() {
    return [this] { service.copy_cut(now); };
  }
  /// The answer of the other replica; step 0: nothing newer.
  auto state_came(Step step, float value) {
    return [=, this] {
      const Cut cut{step, block(value), {}, {}, {}, story::only_lineage(job)};
      service.state_came(step == 0 ? nullptr : &cut, now);
    };
  }
  auto ask_state(char who, std::uint64_t number, Step have, std::uint64_t at = 0) {
    return call<distrib::State>(who, number, {hash_of(job), have, at});
  }
  auto state_read(Step step, float value) {
    return [=, this] {
      const Cut cut{step, block(value), {}, {}};
      service.state_read(asked, step == 0 ? nullptr : &cut);
    };
  }
  auto saved(Step step) {
    return [=, this] { service.cut_saved(step, now); };
  }
  auto stop() {
    return [this] { service.stop(); };
  }
  /// Wakes the service at the time that it asked for, and checks that nothing is due before.
  auto wakes_after(std::chrono::milliseconds time) {
    return [=, this] {
      const auto wake = service.wake();
      REQUIRE(wake.has_value());
      CHECK(*wake - now == time);
      service.woken(*wake - 1ms);
      now = *wake;
      service.woken(now);
    };
  }

  void tell(const std::vector<ShellEvent>& events) {
    for (const ShellEvent& event : events) {
      CAPTURE(event.what);
      told.clear();
      event.happens();
      CHECK(told == event.expected);
    }
  }
  /// The job is known, and ranks 0, 1, ... have joined by call 1 of their connections.
  void join_all() {
    bring('a', 1, 0)();
    opened()();
    for (Rank rank = 1; rank < job.ranks; ++rank) join(static_cast<char>('a' + rank), 1, rank)();
    told.clear();
  }

  // --- the calls of the shell ---

  void open(const Job& of_job, std::uint32_t number, const distrib::CutSettings& cuts,
            const distrib::JobUpdaters& updaters) override {
    CHECK(to_text(of_job) == to_text(job));
    told.push_back("shell open " + std::to_string(number) + " in " + cuts.directory + " " +
                   std::to_string(cuts.keep_every) + " " + std::to_string(cuts.retention.max_to_keep) + ", " +
                   updaters.front().text());
  }
  void copy() override { told.push_back("shell copy"); }
  void save(distrib::SaveCut action) override {
    const Cut cut = std::move(action).finish();
    told.push_back("shell save " + std::to_string(cut.step) + story::text(cut.values) + story::text(cut.tables));
  }
  void save_ranks(distrib::RankFile file) override {
    told.push_back("shell save ranks up to " + std::to_string(file.horizon) + ", entries " +
                   std::to_string(file.entries.size()));
    for (const distrib::ErasedKeys& entry : file.erased)
      told.back() += ", keys " + std::to_string(entry.keys.size()) + " after " + std::to_string(entry.after);
  }
  void load(Step step) override { told.push_back("shell load " + std::to_string(step)); }
  void drop(distrib::DropCut drop) override {
    told.push_back("shell drop " + std::to_string(drop.step) + (drop.unneeded ? " unneeded" : ""));
  }
  void ask_sibling(const std::string& job_hash, Step have) override {
    CHECK(job_hash == hash_of(job));
    told.push_back("shell ask sibling, have " + std::to_string(have));
  }
  void send(distrib::SendState action) override {
    asked = action.peer;
    told.push_back("shell send " + std::to_string(action.step));
  }
  void joined_twice(Rank rank) override { told.push_back("shell rank " + std::to_string(rank) + " joined twice"); }
  void goes_on_without(Rank rank) override { told.push_back("shell goes on without rank " + std::to_string(rank)); }
  void joined_unlike(const std::string& text) override { told.push_back("shell " + text); }
  void asked_for_ranks(const std::string& text) override { told.push_back("shell " + text); }
  void asked_to_erase(const std::string& text) override { told.push_back("shell " + text); }
  void last_export_missing() override { told.push_back("shell last export missing"); }
  void ended(int code, const distrib::Error& why) override {
    const std::string words = why ? ": " + why.code.message() + " (" + why.where + ")" : std::string{};
    told.push_back("shell ended " + std::to_string(code) + words);
  }

  auto of(char who) -> fake::Connection& { return connections[static_cast<std::size_t>(who - 'a')]; }

  Instant now{1'000h};
  Texts told;
  distrib::Peer asked = 0;  ///< The peer that is to be sent a state.
  Job job;
  std::array<fake::Connection, 7> connections{
      {{"a", told}, {"b", told}, {"c", told}, {"d", told}, {"e", told}, {"f", told}, {"g", told}}};
  distrib::ShardService<fake::Connection*> service;
};

}  // namespace

TEST_CASE("ShardService: asks for the job's text, then waits until the cuts are found", "[ps]") {
  ServiceBench bench{job_of(2, 9, 3)};
  CHECK_FALSE(bench.service.job());
  bench.tell({
      {"the hash is new", bench.join('a', 1, 0), {"a1 text wanted", "a1 end"}},
      {"not joined", bench.pull('a', 2, 0), {"a2 failed: a call before Join: call Join first on every new connection"}},
      {"the text", bench.bring('a', 3, 0), {"shell open 0 in the directory 7 3, sgd learning_rate=1"}},
      {"the cuts are not read yet",
       bench.pull('a', 4, 0),
       {"a4 failed: a call before Join: call Join first on every new connection"}},
      {"the hash is known", bench.join('b', 1, 1), {}},
      {"so is the text", bench.bring('c', 1, 1), {}},
      {"cancelled meanwhile", bench.cancel('c', 1), {}},
      {"all that still wait", bench.opened(), {"a3 joined k=0 cuts=0", "b1 joined k=0 cuts=0"}},
      {"late", bench.join('c', 2, 1), {"shell rank 1 joined twice", "c2 joined k=0 cuts=0"}},
  });
  CHECK(bench.service.job()->total_steps == 9);
  CHECK_FALSE(bench.service.over());
}

TEST_CASE("ShardService: continues from its newest cut", "[ps]") {
  ServiceBench bench{job_of(1, 9, 3)};
  bench.tell({
      {"the text", bench.bring('a', 1, 0), {"shell open 0 in the directory 7 3, sgd learning_rate=1"}},
      {"opened", bench.opened_from(6, -4, {3, 6}), {"a1 joined k=6 cuts=0,3,6"}},
      {"its values", bench.pull('a', 2, 6), {"a2 values counted=6 w=-4 k=6 cuts=0,3,6"}},
      {"counted", bench.push('a', 3, 7, 0, 1), {"a3 pushed k=7 cuts=0,3,6"}},
  });
}

TEST_CASE("ShardService: refuses a job that it cannot serve, with the reason", "[ps]") {
  struct Row {
    ShardIdentity identity;
    std::function<void(Job&)> change;
    std::string refused;
  };
  const std::string other =
      "this belongs to another job: use the same program and flags, or another directory (the job has ";
  const Row rows[] = {
      {{.tasks = 2}, [](Job&) {}, other + "1 parameter servers, this cluster 2)"},
      {{.ranks = 3}, [](Job&) {}, other + "2 workers, this cluster 3)"},
      {{.shard = 1}, [](Job&) {}, other + "1 shards of a task, but number 1 (counted from 0) was asked for)"},
      {{},
       [](Job& job) { job.updater = "adagrad"; },
       "the parameter server does not have this updater: start the servers with updaters<...> (adagrad)"},
      {{},
       [](Job& job) { job.consistency = distrib::BulkSynchronousParallel{.replicas_to_aggregate = 3}; },
       "this server cannot use the job description: run one version of the program on all tasks (line 10, 'ranks 2')"},
      {{},
       [](Job& job) { job.updater = "momentum learning_rate=1 momentum=0.5 use_nesterov=false"; },
       "the job needs more memory than this parameter server may take: use more servers, or raise the limit (256 bytes "
       "needed, allowed are 200)"},
  };
  for (const Row& row : rows) {
    Job job = job_of(2, 9, 3);
    row.change(job);
    ServiceBench bench{job, row.identity, {.memory_budget_bytes = 200}};  // enough for a job without slots
    bench.tell({{row.refused.c_str(), bench.bring('a', 1, 0), {"a1 failed: " + row.refused}}});
    CHECK_FALSE(bench.service.job());
    bench.tell({{"it still has no job", bench.join('b', 1, 0), {"b1 text wanted", "b1 end"}}});
  }
}

TEST_CASE("ShardService: refuses a text that does not match its hash, and a second job", "[ps]") {
  const Job job = job_of(1, 9, 3);
  Job other = job;
  other.total_steps = 10;
  ServiceBench bench{job};
  const std::string differs =
      "failed: this belongs to another job: use the same program and flags, or another directory (it has 'total_steps "
      "9', this job has 'total_steps 10')";
  const distrib::JoinRequest forged{0, hash_of(other), to_text(job), {}};
  const std::string bad =
      " failed: this server cannot use the job description: run one version of the program on all tasks (its text does "
      "not match its hash)";
  bench.tell({
      {"forged", bench.call<distrib::Join>('a', 1, forged), {"a1" + bad}},
      {"the first", bench.bring('a', 2, 0), {"shell open 0 in the directory 7 3, sgd learning_rate=1"}},
      {"another hash", bench.join('a', 3, 0), {"a2 end"}},
      {"the cuts of the first job", bench.opened(), {"a3 joined k=0 cuts=0"}},
      {"another text", bench.bring('b', 1, 0, other), {"b1 " + differs}},
      {"its hash alone", bench.call<distrib::Join>('b', 2, {0, hash_of(other), {}, {}}), {"b2 text wanted", "b2 end"}},
      {"forged", bench.call<distrib::Join>('b', 3, forged), {"b3" + bad}},
      {"a worker that had joined no longer is", bench.bring('a', 4, 0, other), {"a3 end", "a4 " + differs}},
      {"not joined", bench.pull('a', 5, 0), {"a5 failed: a call before Join: call Join first on every new connection"}},
  });
}

namespace {

TEST_CASE("ShardService: asks four workers for the job's text, and the others wait for it", "[ps]") {
  ServiceBench bench{job_of(7, 9, 3)};
  for (const char who : {'a', 'b', 'c', 'd'}) {
    const std::string call{who, '1'};
    bench.tell({{"asked", bench.join(who, 1, static_cast<Rank>(who - 'a')), {call + " text wanted", call + " end"}}});
  }
  const distrib::JoinRequest forged{2, hash_of(job_of(7, 10, 3)), to_text(bench.job), {}};
  bench.tell({
      {"one that was asked asks again", bench.join('a', 2, 0), {"a2 text wanted", "a2 end"}},
      {"the fifth waits", bench.join('e', 1, 4), {}},
      {"the sixth", bench.join('f', 1, 5), {}},
      {"which joins again", bench.join('f', 2, 5), {"f1 end"}},
      {"the seventh", bench.join('g', 1, 6), {}},
      {"one that was asked is lost", bench.closed('b'), {"e1 text wanted", "e1 end"}},
      {"one that waits leaves", bench.cancel('f', 2), {}},
      {"a text is refused",
       bench.call<distrib::Join>('c', 2, forged),
       {"c2 failed: this server cannot use the job description: run one version of the program on all tasks (its text "
        "does not match its hash)",
        "g1 text wanted", "g1 end"}},
      {"the sixth waits again", bench.join('f', 3, 5), {}},
      {"the text", bench.bring('d', 2, 3), {"shell open 0 in the directory 7 3, sgd learning_rate=1"}},
      {"the cuts", bench.opened(), {"d2 joined k=0 cuts=0", "f3 joined k=0 cuts=0"}},
      {"its hash is enough now", bench.join('g', 2, 6), {"g2 joined k=0 cuts=0"}},
  });
}

TEST_CASE("ShardService: a worker that waits for the job's text is asked itself if it has another job", "[ps]") {
  ServiceBench bench{job_of(7, 9, 3)};
  for (const char who : {'a', 'b', 'c', 'd'}) bench.join(who, 1, static_cast<Rank>(who - 'a'))();
  const Job other = job_of(7, 10, 3);
  bench.tell({
      {"waits", bench.call<distrib::Join>('e', 1, {4, hash_of(other), {}, {}}), {}},
      {"lost while it waits", bench.join('f', 1, 5), {}},
      {"", bench.closed('f'), {}},
      {"the text",
       bench.bring('a', 2, 0),
       {"shell open 0 in the directory 7 3, sgd learning_rate=1", "e1 text wanted", "e1 end"}},
  });
}

TEST_CASE("ShardService: workers that wait for the job's text are told that the shard is over", "[ps]") {
  ServiceBench bench{job_of(7, 9, 3)};
  for (const char who : {'a', 'b', 'c', 'd'}) bench.join(who, 1, static_cast<Rank>(who - 'a'))();
  bench.join('e', 1, 4)();
  bench.tell({{"stops", bench.stop(), {"e1 failed: the connection is closed: connect again", "shell ended 1"}}});
}

// Joins of ranks whose models describe their arithmetic. The first rank brings the job.
struct Described {
  ServiceBench& bench;

  auto bring(char who, std::uint64_t number, Rank rank, const std::string& arithmetic) const {
    return bench.call<distrib::Join>(
        who, number,
        {rank, hash_of(bench.job), to_text(bench.job), {"the directory", 7, {.max_to_keep = 3}}, arithmetic});
  }
  auto join(char who, std::uint64_t number, Rank rank, const std::string& arithmetic) const {
    return bench.call<distrib::Join>(who, number, {rank, hash_of(bench.job), {}, {}, arithmetic});
  }
};

}  // namespace

TEST_CASE("ShardService: refuses ranks of a synchronous job that do not compute as the rank that brought it", "[ps]") {
  ServiceBench bench{job_of(3, 9, 3)};
  const Described as{bench};
  const std::string unlike =
      " failed: all workers of a synchronous job must compute alike: start them with the same "
      "build and settings (rank ";
  const std::string nothing = "nothing (its model has no describe(), or its version of this library knows none)";
  bench.tell({
      {"the first", as.bring('a', 1, 0, "torch 1"), {"shell open 0 in the directory 7 3, sgd learning_rate=1"}},
      {"before the cuts are found",
       as.join('b', 1, 1, "torch 2"),
       {"b1" + unlike + "1 says that it computes with 'torch 2', the worker that brought the job with 'torch 1')"}},
      {"the cuts", bench.opened(), {"a1 joined k=0 cuts=0"}},
      {"a worker that says nothing",
       bench.join('b', 2, 1),
       {"b2" + unlike + "1 says that it computes with " + nothing +
        ", the worker that brought the job with 'torch 1')"}},
      {"with the text too",
       as.bring('b', 3, 1, "torch 2"),
       {"b3" + unlike + "1 says that it computes with 'torch 2', the worker that brought the job with 'torch 1')"}},
      {"not joined", bench.pull('b', 4, 0), {"b4 failed: a call before Join: call Join first on every new connection"}},
      {"a like one", as.join('b', 5, 1, "torch 1"), {"b5 joined k=0 cuts=0"}},
      {"the first again, changed",
       as.join('a', 2, 0, "torch 2"),
       {"a1 end",
        "a2" + unlike + "0 says that it computes with 'torch 2', the worker that brought the job with 'torch 1')"}},
      {"the first again", as.join('a', 3, 0, "torch 1"), {"a3 joined k=0 cuts=0"}},
  });
  CHECK(bench.service.job()->arithmetic == "torch 1");
}

TEST_CASE("ShardService: a job without arithmetic refuses a rank that describes it", "[ps]") {
  ServiceBench bench{job_of(2, 9, 3)};
  bench.bring('a', 1, 0)();
  bench.opened()();
  bench.told.clear();
  Described{bench}.join('b', 1, 1, "torch 2")();
  REQUIRE(bench.told.size() == 1);
  CHECK_THAT(bench.told[0],
             ContainsSubstring("(rank 1 says that it computes with 'torch 2', the worker that brought the "
                               "job with nothing (its model has no describe(), "));
}

TEST_CASE("ShardService: an asynchronous job reports a rank that computes in another way, and goes on", "[ps]") {
  ServiceBench bench{job_of(2, 9, 3, asynchronous)};
  const Described as{bench};
  as.bring('a', 1, 0, "torch 1")();
  bench.opened()();
  bench.tell({
      {"another",
       as.join('b', 1, 1, "torch 2"),
       {"shell rank 1 says that it computes with 'torch 2', the worker that brought the job with 'torch 1'",
        "b1 joined k=0 cuts=0"}},
      {"like the first", as.join('b', 2, 1, "torch 1"), {"b1 end", "b2 joined k=0 cuts=0"}},
  });
}

TEST_CASE("ShardService: names the replica that a service of a later task serves", "[ps]") {
  Job job = story::job(6, 1, 9, 3);
  job.tasks = 3;
  job.shards_per_task = 2;
  job.updater = "sgd learning_rate=1";
  job.consistency = synchronous;
  ServiceBench bench{job, {.task = 2, .shard = 1, .tasks = 3}};
  bench.tell({{"number", bench.bring('a', 1, 0), {"shell open 5 in the directory 7 3, sgd learning_rate=1"}}});
}

TEST_CASE("ShardService: a replica asks the other replica for its state before any worker may join", "[ps]") {
  ServiceBench bench{replicated(), {.tasks = 2}};
  bench.tell({
      {"the text", bench.bring('a', 1, 0), {"shell open 0 in the directory 7 3, sgd learning_rate=1"}},
      {"opened", bench.opened_from(3, -1, {3}), {"shell ask sibling, have 3"}},
      {"waits", bench.join('b', 1, 1), {}},
      {"not joined", bench.pull('b', 2, 3), {"b2 failed: a call before Join: call Join first on every new connection"}},
      {"the other replica is ahead",
       bench.state_came(6, -4),
       {"shell save 6 w=-4", "a1 joined k=6 cuts=0,3", "b1 joined k=6 cuts=0,3"}},
      {"continues from there", bench.pull('a', 2, 6), {"a2 values counted=6 w=-4 k=6 cuts=0,3"}},
      {"durable", bench.saved(6), {"a1 notice k=6 cuts=0,3,6", "b1 notice k=6 cuts=0,3,6"}},
  });
}

TEST_CASE("ShardService: a replica that lacks what workers no longer have asks the other replica", "[ps]") {
  ServiceBench bench{replicated(), {.tasks = 2}};
  bench.tell({
      {"the text", bench.bring('a', 1, 0), {"shell open 0 in the directory 7 3, sgd learning_rate=1"}},
      {"opened", bench.opened(), {"shell ask sibling, have 0"}},
      {"nothing newer", bench.state_came(0, 0), {"a1 joined k=0 cuts=0"}},
      {"behind", bench.call<distrib::CatchUp>('a', 2, {0}), {"a2 ok", "shell ask sibling, have 0"}},
      {"it has asked already", bench.call<distrib::CatchUp>('a', 3, {0}), {"a3 ok"}},
      {"it accepts contributions meanwhile", bench.push('a', 4, 5, 0, 2), {"a4 pushed k=0 cuts=0"}},
      {"the state arrives", bench.state_came(4, -3), {"shell save 4 w=-3", "a1 joined k=4 cuts=0"}},
      {"it has advanced since", bench.call<distrib::CatchUp>('a', 5, {0}), {"a5 ok", "a1 joined k=4 cuts=0"}},
      {"asks again", bench.call<distrib::CatchUp>('a', 6, {4}), {"a6 ok", "shell ask sibling, have 4"}},
      {"nothing newer", bench.state_came(0, 0), {"a1 joined k=4 cuts=0"}},
  });
}

TEST_CASE("ShardService: a replica that all workers have left asks the other replica for what it lacks", "[ps]") {
  const distrib::ShardOptions options{.lease = 1s, .restart_window = 4s, .save_again_after = 2s, .linger = 3s};
  for (const bool is_there : {true, false}) {
    ServiceBench bench{replicated(), {.tasks = 2}, options};
    bench.tell({
        {"the text", bench.bring('a', 1, 0), {"shell open 0 in the directory 7 3, sgd learning_rate=1"}},
        {"opened", bench.opened_from(3, -1, {3}), {"shell ask sibling, have 3"}},
        {"nothing newer", bench.state_came(0, 0), {"a1 joined k=3 cuts=0,3"}},
        {"", bench.join('b', 1, 1), {"b1 joined k=3 cuts=0,3"}},
        {"lost", bench.closed('a'), {}},
        {"lost", bench.closed('b'), {}},
        {"at once", [&] { bench.service.woken(bench.now); }, {"shell ask sibling, have 3"}},
        {"nothing newer", bench.state_came(0, 0), {}},
        {"again", bench.wakes_after(2s), {"shell ask sibling, have 3"}},
    });
    if (is_there)
      bench.tell({
          {"the end", bench.state_came(9, -9), {"shell save 9 w=-9"}},
          {"durable", bench.saved(9), {}},
          {"no worker connects", bench.wakes_after(3s), {"shell ended 0"}},
      });
    else
      bench.tell({
          {"nothing newer", bench.state_came(0, 0), {}},
          {"again", bench.wakes_after(2s), {"shell ask sibling, have 3"}},
          {"nothing newer", bench.state_came(0, 0), {}},
          {"no worker connects",
           bench.wakes_after(1s),
           {"shell ended 70: a worker is lost permanently: find out why, then start the job again (rank 0; the "
            "other replica sent no newer state than step 3)"}},
      });
  }
}

TEST_CASE("ShardService: sends the other replica the newest cut, or a cut that is made for it", "[ps]") {
  ServiceBench bench{replicated(), {.tasks = 2}};
  const auto other_job = bench.call<distrib::State>('c', 2, {"another", 0, 0});
  bench.tell({
      {"it knows no job yet",
       bench.ask_state('c', 1, 0),
       {"c1 failed: a call before Join: call Join first on every new connection"}},
      {"the text", bench.bring('a', 1, 0), {"shell open 0 in the directory 7 3, sgd learning_rate=1"}},
      {"waits", bench.ask_state('b', 1, 0), {}},
      {"the cuts could not be read",
       [&] { bench.service.not_opened({distrib::ps_errc::job_mismatch, "cut-3"}); },
       {"b1 no state",
        "a1 failed: this belongs to another job: use the same program and flags, or another directory (cut-3)"}},
      {"again", bench.bring('a', 1, 0), {"shell open 0 in the directory 7 3, sgd learning_rate=1"}},
      {"another job", other_job, {"c2 failed: a call before Join: call Join first on every new connection"}},
      {"its cuts are being read", bench.ask_state('c', 3, 0), {}},
      {"opened", bench.opened_from(3, -1, {3}), {"shell send 3", "shell ask sibling, have 3"}},
      {"read", bench.state_read(3, -1), {"c3 state 3 of 64 bytes w=-1"}},
      {"one more piece", bench.ask_state('c', 4, 0, 32), {"c4 state 3 more"}},
      {"the other replica is not ahead", bench.state_came(0, 0), {"a1 joined k=3 cuts=0,3"}},
      {"", bench.join('b', 1, 1), {"b1 joined k=3 cuts=0,3"}},
      {"nothing newer", bench.ask_state('c', 5, 3), {"c5 no state"}},
      {"4", bench.push('a', 5, 4, 0, 1), {"a5 pushed k=3 cuts=0,3"}},
      {"4", bench.push('b', 5, 4, 1, 1), {"b5 pushed k=4 cuts=0,3"}},
      {"a cut is made", bench.ask_state('c', 6, 3), {"shell save 4 w=-2"}},
      {"durable", bench.saved(4), {"a1 notice k=4 cuts=0,3,4", "b1 notice k=4 cuts=0,3,4", "shell send 4"}},
      {"it could not be read", bench.state_read(0, 0), {"c6 no state"}},
      {"a connection that has joined belongs to a worker",
       bench.ask_state('a', 6, 0),
       {"a6 failed: a call before Join: call Join first on every new connection"}},
  });
  bench.tell({
      {"5", bench.push('a', 7, 5, 0, 1), {"a7 pushed k=4 cuts=0,3,4"}},
      {"5", bench.push('b', 7, 5, 1, 1), {"b7 pushed k=5 cuts=0,3,4"}},
      {"waits", bench.ask_state('c', 7, 4), {"shell save 5 w=-3"}},
      {"its connection is lost", bench.closed('c'), {"c7 failed: the call was cancelled"}},
      {"durable", bench.saved(5), {"a1 notice k=5 cuts=0,3,4,5", "b1 notice k=5 cuts=0,3,4,5"}},
  });
}

TEST_CASE("ShardService: a replica that is behind when the job is done elsewhere ends when no worker is joined",
          "[ps]") {
  ServiceBench bench{replicated(), {.tasks = 2}};
  bench.bring('a', 1, 0)();
  bench.opened()();
  bench.state_came(0, 0)();
  bench.tell({
      {"there is a checkpoint of an earlier run", [&] { bench.service.found_finished(8, bench.now); }, {}},
      {"", [&] { CHECK(bench.service.wake()); }, {}},
      {"there is a checkpoint of the last step", [&] { bench.service.found_finished(9, bench.now); }, {}},
      {"a worker is still joined", [&] { CHECK_FALSE(bench.service.wake()); }, {}},
      {"lost", bench.closed('a'), {}},
      {"", bench.wakes_after(30s), {"shell ended 0"}},
  });
}

TEST_CASE("ShardService: a replica that is over serves neither a worker that joins nor the other replica", "[ps]") {
  const std::string closed = " failed: the connection is closed: connect again";
  const std::string over =
      " failed: the job is done, and this shard serves no worker any more: the last checkpoint has the result";
  ServiceBench bench{replicated(), {.tasks = 2}};
  bench.bring('a', 1, 0)();
  bench.opened_from(9, -1, {6, 9})();
  bench.state_came(0, 0)();
  bench.join('b', 1, 1)();
  bench.tell({
      {"goodbye", bench.call<distrib::Goodbye>('a', 2), {"a2 ok", "a1 end"}},
      {"before the end a new worker of this rank is served", bench.join('c', 1, 0), {"c1 joined k=9 cuts=0,6,9"}},
      {"the last goodbye", bench.call<distrib::Goodbye>('b', 2), {"b2 ok", "b1 end", "c1 end", "shell ended 0"}},
      {"a new worker", bench.join('d', 1, 0), {"d1" + over}},
      {"a new worker with the text", bench.bring('e', 1, 1), {"e1" + over}},
      {"a worker that had joined", bench.join('c', 2, 0), {"c2" + over}},
      {"it sends nothing back", bench.call<distrib::Restore>('c', 3, {6}), {"c3" + closed}},
      {"the other replica", bench.ask_state('f', 1, 6), {"f1" + closed}},
  });
}

TEST_CASE("ShardService: refuses the workers if the cuts could not be read", "[ps]") {
  ServiceBench bench{job_of(2, 9, 3)};
  const auto not_opened = [&] { bench.service.not_opened({distrib::ps_errc::job_mismatch, "cut-3"}); };
  bench.tell({
      {"the text", bench.bring('a', 1, 0), {"shell open 0 in the directory 7 3, sgd learning_rate=1"}},
      {"another worker", bench.join('b', 1, 1), {}},
      {"both are refused",
       not_opened,
       {"a1 failed: this belongs to another job: use the same program and flags, or another directory (cut-3)",
        "b1 failed: this belongs to another job: use the same program and flags, or another directory (cut-3)"}},
      {"it knows no job", bench.join('a', 2, 0), {"a2 text wanted", "a2 end"}},
      {"again", bench.bring('a', 3, 0), {"shell open 0 in the directory 7 3, sgd learning_rate=1"}},
      {"opened", bench.opened(), {"a3 joined k=0 cuts=0"}},
  });
}

TEST_CASE("ShardService: refuses calls before Join", "[ps]") {
  ServiceBench bench{job_of(1, 9, 3)};
  const std::string refused = " failed: a call before Join: call Join first on every new connection";
  for (int i = 0; i < 2; ++i) {  // without a job, and with a job
    bench.tell({
        {"pull", bench.pull('b', 1, 0), {"b1" + refused}},
        {"push", bench.push('b', 2, 1, 0, 1), {"b2" + refused}},
        {"restore", bench.call<distrib::Restore>('b', 3), {"b3" + refused}},
        {"save", bench.call<distrib::Save>('b', 4), {"b4" + refused}},
        {"leave", bench.call<distrib::Leave>('b', 5), {"b5" + refused}},
        {"goodbye", bench.call<distrib::Goodbye>('b', 6), {"b6" + refused}},
        {"no item is owed", bench.credit('b', 9), {}},
        {"nothing to cancel", bench.cancel('b', 7), {}},
        {"an unknown connection", bench.closed('c'), {}},
    });
    bench.join_all();
  }
  CHECK(bench.service.job());
}

TEST_CASE("ShardService: refuses a rank that the job does not have", "[ps]") {
  ServiceBench bench{job_of(1, 9, 3)};
  const std::string refused =
      " failed: the job has no such rank: start as many workers as the job has (step 0 of rank 1)";
  bench.tell({
      {"it waits", bench.bring('a', 1, 1), {"shell open 0 in the directory 7 3, sgd learning_rate=1"}},
      {"and is refused", bench.opened(), {"a1" + refused}},
      {"at once", bench.join('a', 2, 1), {"a2" + refused}},
      {"it is not joined",
       bench.pull('a', 3, 0),
       {"a3 failed: a call before Join: call Join first on every new connection"}},
      {"its connection is lost", bench.closed('a'), {}},
  });
}

TEST_CASE("ShardService: pulls wait for their step, answers to pushes say how far the shard is", "[ps]") {
  ServiceBench bench{job_of(2, 9, 3)};
  bench.join_all();
  bench.tell({
      {"at once", bench.pull('a', 2, 0), {"a2 values counted=0 w=0 k=0 cuts=0"}},
      {"parked", bench.pull('a', 3, 1), {}},
      {"parked", bench.pull('b', 3, 2), {}},
      {"parked", bench.pull('b', 4, 1), {}},
      {"a second pull", bench.pull('a', 5, 1), {}},
      {"stored, not counted", bench.push('a', 6, 1, 0, 2), {"a6 pushed k=0 cuts=0"}},
      {"in the order of arrival",
       bench.push('b', 6, 1, 1, 4),
       {"a3 values counted=1 w=-3 k=1 cuts=0", "b4 values counted=1 w=-3 k=1 cuts=0",
        "a5 values counted=1 w=-3 k=1 cuts=0", "b6 pushed k=1 cuts=0"}},
      {"stored", bench.push('a', 7, 2, 0, 0), {"a7 pushed k=1 cuts=0"}},
      {"2", bench.push('b', 7, 2, 1, 0), {"b3 values counted=2 w=-3 k=2 cuts=0", "b7 pushed k=2 cuts=0"}},
      {"gone", bench.pull('a', 8, 0), {"a8 gone k=2 cuts=0"}},
      {"stored", bench.push('a', 11, 3, 0, 1), {"a11 pushed k=2 cuts=0"}},
      {"the same bytes", bench.push('a', 12, 3, 0, 1), {"a12 pushed k=2 cuts=0"}},
      {"with other bytes", bench.push('a', 13, 3, 0, 2), {"a13 pushed k=2 cuts=0 not repeatable"}},
      {"reported once", bench.push('a', 14, 3, 0, 1), {"a14 pushed k=2 cuts=0"}},
  });
  CHECK(bench.of('a').open() == 1);  // the stream
}

TEST_CASE("ShardService: the answer to a push is sent with that to the following pull, if the worker asks for this",
          "[ps]") {
  ServiceBench bench{job_of(2, 9, 3)};
  bench.join_all();
  const auto push = [&bench](char who, std::uint64_t number, Step step, Rank rank) {
    return bench.call<distrib::Push>(who, number, {step, rank, 0, block(1), true});
  };
  bench.tell({
      {"stored", push('a', 2, 1, 0), {"a2 pushed k=0 cuts=0 with the next"}},
      {"counted", push('b', 2, 1, 1), {"b2 pushed k=1 cuts=0 with the next"}},
      {"from a worker that does not ask for this", bench.push('a', 3, 2, 0, 1), {"a3 pushed k=1 cuts=0"}},
  });
}

TEST_CASE("ShardService: the shell saves, loads and drops cuts", "[ps]") {
  ServiceBench bench{job_of(1, 9, 1)};
  bench.join_all();
  const auto push = [&](std::uint64_t number, Step step, Step common) {
    return bench.call<distrib::Push>('a', number, {step, 0, common, block(1)});
  };
  bench.tell({
      {"due", push(2, 1, 0), {"shell save 1 w=-1", "a2 pushed k=1 cuts=0"}},
      {"durable", bench.saved(1), {"a1 notice k=1 cuts=0,1"}},
      {"due", push(3, 2, 1), {"shell save 2 w=-2", "a3 pushed k=2 cuts=0,1"}},
      {"durable", bench.saved(2), {"a1 notice k=2 cuts=0,1,2"}},
      {"3", push(4, 3, 2), {"shell save 3 w=-3", "a4 pushed k=3 cuts=0,1,2"}},
      {"durable", bench.saved(3), {"a1 notice k=3 cuts=0,1,2,3"}},
      {"the common cut", push(5, 3, 3), {"shell drop 1", "a5 pushed k=3 cuts=0,2,3"}},
      {"back", bench.call<distrib::Restore>('a', 6, {0}), {"shell load 0", "a6 ok"}},
      {"loaded", [&] { bench.service.cut_loaded({0, block(0), {}, {}}, bench.now); }, {"a1 joined k=0 cuts=0,2,3"}},
      {"1", push(7, 1, 0), {"shell save 1 w=-1", "a7 pushed k=1 cuts=0,2,3"}},
      {"this cut is being written", bench.call<distrib::Save>('a', 8), {"a8 ok"}},
  });
}

TEST_CASE("ShardService: loads the newest cut if a cut is damaged or missing; any other error ends it", "[ps]") {
  ServiceBench bench{job_of(1, 9, 1)};
  bench.join_all();
  const auto push = [&](std::uint64_t number, Step step) {
    return bench.call<distrib::Push>('a', number, {step, 0, 0, block(1)});
  };
  const auto fails = [&](distrib::checkpoint_errc why) {
    return [&bench, why] { bench.service.load_failed({why, "cut"}, bench.now); };
  };
  for (Step step = 1; step <= 5; ++step) {
    push(step + 1, step)();
    bench.saved(step)();
  }
  const Cut of_four{4, block(-4), {}, {}, {}, story::only_lineage(bench.job)};
  bench.tell({
      {"back", bench.call<distrib::Restore>('a', 7, {3}), {"shell load 3", "a7 ok"}},
      {"missing", fails(distrib::checkpoint_errc::not_found), {"shell load 5"}},
      {"damaged", fails(distrib::checkpoint_errc::corrupt_data), {"shell load 4"}},
      {"loaded", [&] { bench.service.cut_loaded(of_four, bench.now); }, {"a1 joined k=4 cuts=0,1,2,4"}},
      {"back", bench.call<distrib::Restore>('a', 8, {0}), {"shell load 0", "a8 ok"}},
      {"there is no earlier one",
       fails(distrib::checkpoint_errc::not_found),
       {"a1 end",
        "shell ended 74: not found in checkpoint: distrib checkpoint list prints the names that it has (cut)"}},
  });

  ServiceBench other{job_of(1, 9, 1)};
  other.join_all();
  other.call<distrib::Push>('a', 2, {1, 0, 0, block(1)})();
  other.saved(1)();
  for (Step step = 2; step <= 4; ++step) other.call<distrib::Push>('a', step + 1, {step, 0, 0, block(1)})();
  other.tell({
      {"back", other.call<distrib::Restore>('a', 9, {1}), {"shell load 1", "a9 ok"}},
      {"a disk error",
       [&] { other.service.load_failed({distrib::checkpoint_errc::cannot_read, "cut"}, other.now); },
       {"a1 end", "shell ended 74: cannot read the file: remove the cause in brackets (cut)"}},
  });
}

TEST_CASE("ShardService: in an asynchronous job a gap is answered on the stream, and the call too", "[ps]") {
  ServiceBench bench{job_of(2, 3, 0, asynchronous)};
  bench.join_all();
  bench.tell({
      {"counted at once", bench.push('a', 2, 1, 0, 1), {"a2 pushed k=1 cuts=0"}},
      {"a gap", bench.push('b', 2, 2, 1, 1), {"b1 joined k=0 cuts=0", "b2 pushed k=0 cuts=0"}},
      {"all contributions together", bench.pull('b', 3, 0), {"b3 values counted=1 w=-1 k=0 cuts=0"}},
      {"nothing to restore", bench.call<distrib::Restore>('a', 3, {0}), {"a3 ok"}},
      {"asked", bench.call<distrib::Save>('a', 4), {"a4 ok", "shell save 1 w=-1"}},
      {"durable", bench.saved(1), {"a1 notice k=1 cuts=1", "b1 notice k=0 cuts=0"}},
      {"nothing newer", bench.call<distrib::Save>('a', 5), {"a5 ok", "a1 notice k=1 cuts=1", "b1 notice k=0 cuts=0"}},
      {"the end", bench.pull('a', 6, distrib::end_of_job), {}},
      {"the last of b", bench.push('b', 4, 1, 1, 1), {"b4 pushed k=1 cuts=0"}},
      {"the last of a", bench.push('a', 7, 2, 0, 1), {"shell save 3 w=-3", "a7 pushed k=2 cuts=1"}},
      {"durable",
       bench.saved(3),
       {"a1 notice k=2 cuts=2", "b1 notice k=1 cuts=1", "a6 values counted=3 w=-3 k=2 cuts=2"}},
      {"disconnected", bench.closed('a'), {}},
      {"disconnected", bench.closed('b'), {}},
      {"complete", bench.wakes_after(30s), {"shell ended 0"}},
  });
}

TEST_CASE("ShardService: a notice without credit is sent later, with the progress of that time", "[ps]") {
  ServiceBench bench{job_of(1, 9, 1)};
  bench.join_all();
  bench.tell({
      {"no credit", bench.credit('a', 0), {}},
      {"due", bench.push('a', 2, 1, 0, 1), {"shell save 1 w=-1", "a2 pushed k=1 cuts=0"}},
      {"without credit", bench.saved(1), {}},
      {"due", bench.push('a', 3, 2, 0, 1), {"shell save 2 w=-2", "a3 pushed k=2 cuts=0,1"}},
      {"without credit", bench.saved(2), {}},
      {"one notice, with the present progress", bench.credit('a', 9), {"a1 notice k=2 cuts=0,1,2"}},
      {"nothing else is owed", bench.credit('a', 0), {}},
      {"joined again, without credit", bench.join('a', 4, 0), {"a1 end"}},
      {"the present progress", bench.credit('a', 1), {"a4 joined k=2 cuts=0,1,2"}},
  });
}

TEST_CASE("ShardService: a Join ends the stream and the pulls of the earlier one", "[ps]") {
  ServiceBench bench{job_of(2, 9, 3)};
  bench.join_all();
  bench.tell({
      {"parked", bench.pull('a', 2, 1), {}},
      {"again", bench.join('a', 3, 0), {"a2 failed: the call was cancelled", "a1 end", "a3 joined k=0 cuts=0"}},
      {"as another rank", bench.join('a', 4, 1), {"a3 end", "shell rank 1 joined twice", "a4 joined k=0 cuts=0"}},
      {"the earlier stream is over", bench.cancel('a', 3), {}},
      {"the new one is joined", bench.pull('a', 5, 0), {"a5 values counted=0 w=0 k=0 cuts=0"}},
      {"two connections of one rank", bench.pull('b', 5, 0), {"b5 values counted=0 w=0 k=0 cuts=0"}},
  });
}

TEST_CASE("ShardService: calls that are cancelled, connections that are lost", "[ps]") {
  ServiceBench bench{job_of(2, 9, 3)};
  bench.join_all();
  bench.tell({
      {"parked", bench.pull('a', 2, 1), {}},
      {"parked", bench.pull('a', 3, 1), {}},
      {"cancelled", bench.cancel('a', 2), {}},
      {"stored", bench.push('a', 4, 1, 0, 1), {"a4 pushed k=0 cuts=0"}},
      {"the other pull is answered",
       bench.push('b', 2, 1, 1, 1),
       {"a3 values counted=1 w=-1 k=1 cuts=0", "b2 pushed k=1 cuts=0"}},
      {"parked", bench.pull('a', 5, 2), {}},
      {"Join cancelled: not joined", bench.cancel('a', 1), {"a5 failed: the call was cancelled"}},
      {"not joined", bench.pull('a', 6, 1), {"a6 failed: a call before Join: call Join first on every new connection"}},
      {"joined", bench.join('a', 7, 0), {"a7 joined k=1 cuts=0"}},
      {"lost", bench.closed('b'), {}},
      {"the same connection is a new peer",
       bench.pull('b', 7, 1),
       {"b7 failed: a call before Join: call Join first on every new connection"}},
      {"and may join", bench.join('b', 8, 1), {"b8 joined k=1 cuts=0"}},
  });
}

TEST_CASE("ShardService: any connection may ask for its status", "[ps]") {
  using RankStatus = distrib::ShardStatus::RankStatus;
  ServiceBench bench{job_of(2, 9, 2), {.task = 0, .tasks = 1}};
  const auto status = [&](std::uint64_t call) {
    bench.call<distrib::Status>('c', call)();
    CHECK(bench.told.back() == "c" + std::to_string(call) + " status");
    return bench.of('c').status;
  };
  distrib::ShardStatus expected;
  expected.tasks = 1;
  expected.ranks = 2;
  bench.now += 1500ms;
  expected.uptime = 1500ms;
  CHECK(status(1) == expected);

  bench.bring('a', 1, 0)();
  expected.job_hash = hash_of(bench.job);
  expected.consistency = "bulk_synchronous_parallel";
  expected.total_steps = 9;
  expected.shards = 1;
  CHECK(status(2) == expected);  // its cuts are being read

  bench.opened()();
  bench.pull('a', 2, 0)();
  bench.pull('a', 3, 2)();
  bench.push('a', 4, 1, 0, 1)();
  bench.push('a', 5, 2, 0, 1)();
  bench.push('a', 6, 1'000'000, 0, 1)();  // beyond the window
  const std::size_t size = block(1)->size();
  expected.open = true;
  expected.value_bytes = size;
  expected.variables = 1;
  expected.of_variables = {{bench.job.variables[0].name, bench.service.status(bench.now).of_variables.at(0).bytes}};
  expected.of_ranks = {{0, true, 2}, {1, false, 0}};
  expected.vacant = 1;
  expected.waiting_bytes = expected.most_waiting_bytes = 2 * size;
  expected.staleness = 2;
  expected.pushes = 3;
  expected.pushed_bytes = 3 * size;
  expected.pulls = 1;
  expected.pulled_bytes = size;
  expected.parked = 1;
  CHECK(status(3) == expected);

  bench.join('b', 1, 1)();
  bench.push('b', 2, 1, 1, 1)();
  bench.push('b', 3, 2, 1, 1)();
  bench.saved(2)();
  expected.step = 2;
  expected.contributions = 4;
  expected.newest_cut = 2;
  expected.of_ranks = {{0, true, 2}, {1, true, 2, 0, false, 1}};  // of step 2 the meter knows one contribution
  expected.vacant = 0;
  expected.completions = 2;
  expected.waiting_bytes = 0;
  expected.most_waiting_bytes = 3 * size;
  expected.staleness = 0;
  expected.pushes = 5;
  expected.pushed_bytes = 5 * size;
  expected.pulls = 2;
  expected.pulled_bytes = 2 * size;
  expected.parked = 0;
  CHECK(status(4) == expected);

  bench.push('a', 7, 3, 0, 1)();
  bench.closed('a')();
  CHECK(status(5).of_ranks == std::vector<RankStatus>{{0, false, 3}, {1, true, 2, 0, false, 1}});
  bench.call<distrib::Restore>('b', 4, {0})();
  CHECK(status(6).of_ranks == std::vector<RankStatus>{{0, false, 0}, {1, true, 0, 0, false, 1}});
  bench.tell({
      {"asking does not join",
       bench.pull('c', 7, 0),
       {"c7 failed: a call before Join: call Join first on every new connection"}},
      {"and the connection does not count", bench.closed('c'), {}},
  });
}

TEST_CASE("ShardService: with 16-bit floats a push and a pull have half the bytes", "[ps]") {
  for (const bool with_tables : {false, true}) {
    const auto bytes = [&](distrib::FloatFormat format) {
      Job job = job_of(1, 9, 9);
      job.wire_format = format;
      job.variables[0].shape = {256};
      job.parts[0].slice = distrib::Slice::whole({256});
      distrib::KeyLists keys;
      if (with_tables) {
        job = story::with_tables(job);
        keys = {{2, 3, 5, 7, 11, 13, 17, 19}, {0, 2}};  // rows of 16
      }
      ServiceBench bench{job};
      bench.join_all();
      const distrib::ShardLayout layout{job, 0};
      const distrib::ContributionLayout places{layout, keys};
      const auto contribution = std::make_shared<distrib::AlignedBuffer>(places.size_bytes());
      places.write_keys(contribution->bytes());
      if (with_tables) bench.pull('a', 2, 0, keys)();
      else bench.pull('a', 2, 0)();
      bench.push('a', 3, 1, 0, contribution)();
      CHECK(bench.told.size() == 2);
      CHECK(bench.told.back() == "a3 pushed k=1 cuts=0");
      const distrib::ShardStatus status = bench.service.status(bench.now);
      CHECK(status.pushes == 1);
      CHECK(status.pulls == 1);
      return std::pair{status.pushed_bytes, status.pulled_bytes};
    };
    const std::size_t tables = with_tables ? 10 * 16 * sizeof(float) : 0;
    const std::size_t keys = with_tables ? 64 : 0;
    const std::size_t elements = 256 * sizeof(float) + tables;
    CHECK(bytes(distrib::FloatFormat::float32) == std::pair<std::uint64_t, std::uint64_t>{elements + keys, elements});
    for (const auto format : {distrib::FloatFormat::bfloat16, distrib::FloatFormat::float16})
      CHECK(bytes(format) == std::pair<std::uint64_t, std::uint64_t>{elements / 2 + keys, elements / 2});
  }
}

TEST_CASE("ShardService: the status of an asynchronous shard", "[ps]") {
  ServiceBench bench{job_of(2, 9, 0, asynchronous)};
  bench.join_all();
  bench.push('a', 2, 1, 0, 1)();
  bench.push('a', 3, 2, 0, 1)();
  bench.push('b', 2, 1, 1, 1)();
  bench.push('b', 3, 3, 1, 1)();  // a gap
  bench.call<distrib::Save>('a', 4)();
  bench.saved(3)();
  bench.push('b', 4, 2, 1, 1)();
  const distrib::ShardStatus status = bench.service.status(bench.now);
  CHECK(status.step == 4);
  CHECK(status.contributions == 4);
  CHECK(status.newest_cut == 3);
  CHECK(status.staleness == 0);
  CHECK(status.of_ranks == std::vector<distrib::ShardStatus::RankStatus>{{0, true, 2}, {1, true, 2}});
}

TEST_CASE("ShardService: a rank that leaves may come back, and is lost permanently if it does not", "[ps]") {
  ServiceBench bench{job_of(2, 9, 3), {}, {.lease = 1s, .restart_window = 2s}};
  bench.join_all();
  CHECK_FALSE(bench.service.wake());
  bench.tell({
      {"parked", bench.pull('a', 2, 1), {}},
      {"it leaves", bench.call<distrib::Leave>('a', 3), {"a3 ok", "a2 failed: the call was cancelled", "a1 end"}},
      {"it is not joined",
       bench.call<distrib::Leave>('a', 4),
       {"a4 failed: a call before Join: call Join first on every new connection"}},
      {"it may come back", bench.join('a', 5, 0), {"a5 joined k=0 cuts=0"}},
      {"it leaves", bench.call<distrib::Leave>('a', 6), {"a6 ok", "a5 end"}},
      {"it does not come back",
       bench.wakes_after(3s),
       {"b1 lost rank 0", "b1 end",
        "shell ended 70: a worker is lost permanently: find out why, then start the job again (rank 0)"}},
  });
}

TEST_CASE("ShardService: is over when all ranks said goodbye and the last cut is durable", "[ps]") {
  ServiceBench bench{job_of(2, 1, 0)};
  bench.join_all();
  bench.tell({
      {"1", bench.push('a', 2, 1, 0, 1), {"a2 pushed k=0 cuts=0"}},
      {"the last step", bench.push('b', 2, 1, 1, 1), {"shell save 1 w=-1", "b2 pushed k=1 cuts=0"}},
      {"goodbye", bench.call<distrib::Goodbye>('a', 3), {"a3 ok", "a1 end"}},
      {"this rank is not missed", [&] { CHECK_FALSE(bench.service.wake()); }, {}},
      {"durable", bench.saved(1), {"b1 notice k=1 cuts=0,1"}},
      {"parked", bench.pull('b', 3, 2), {}},
      {"the last goodbye",
       bench.call<distrib::Goodbye>('b', 4),
       {"b4 ok", "b3 failed: the connection is closed: connect again", "b1 end", "shell ended 0"}},
      {"a Join after the end",
       bench.join('a', 5, 0),
       {"a5 failed: the job is done, and this shard serves no worker any more: the last checkpoint has the result"}},
      {"other calls after the end", bench.pull('a', 6, 1), {"a6 failed: the connection is closed: connect again"}},
      {"a cut does not matter any more", bench.saved(1), {}},
      {"nor does a lost connection", bench.closed('a'), {}},
      {"nor a signal", bench.stop(), {}},
      {"nor a disk error", [&] { bench.service.save_failed({distrib::ps_errc::bad_job, "cut"}, bench.now); }, {}},
      {"nor time", [&] { bench.service.woken(bench.now + 1000h); }, {}},
  });
  CHECK(bench.service.over());
  CHECK_FALSE(bench.service.wake());
}

TEST_CASE("ShardService: exports what Join and Push say, and is over when the last export is written", "[ps]") {
  ServiceBench bench{job_of(1, 3, 0)};
  const support::TempDirectory directory;
  distrib::CutSettings cuts{"the directory", 7, {.max_to_keep = 3}};
  cuts.exports = {directory / "log", 0, 500ms};
  bench.call<distrib::Join>('a', 1, {0, hash_of(bench.job), to_text(bench.job), cuts})();
  CHECK(bench.service.exports() == nullptr);
  bench.opened()();
  REQUIRE(bench.service.exports() != nullptr);
  const auto work = [&] {
    std::optional<distrib::ExportWork> next = bench.service.exports()->next(bench.now);
    if (!next) next = bench.service.exports()->next_beside();
    if (!next) return false;
    distrib::DirectoryLog log{directory / "log"};
    perform_export(log, *bench.service.exports()->writer(), *next);
    bench.service.exported(std::move(*next), bench.now);
    return bench.service.exports() != nullptr;
  };
  while (work()) {
  }
  distrib::PushRequest named{1, 0, 0, block(1)};
  named.export_number = 1;
  bench.call<distrib::Push>('a', 2, named)();
  bench.push('a', 3, 2, 0, 1)();
  while (work()) {
  }
  const distrib::ShardStatus status = bench.service.status(bench.now);
  REQUIRE(status.exported);
  CHECK(status.exported->position == 1);
  CHECK(status.exported->step == 1);
  bench.push('a', 4, 3, 0, 1)();
  bench.tell({
      {"done, but its last export is not written", bench.call<distrib::Goodbye>('a', 5), {"a5 ok", "a1 end"}},
      {"the last cut", bench.saved(3), {}},
  });
  CHECK_FALSE(bench.service.over());
  bench.told.clear();
  while (work()) {
  }
  CHECK(bench.told == Texts{"shell ended 0"});
  distrib::DirectoryLog log{directory / "log"};
  distrib::Error error;
  const auto positions = list_log(log, 9, error);
  REQUIRE(positions.size() == 2);
  CHECK(positions[0].manifest.step == 3);
  CHECK(positions[1].manifest.step == 1);
}

TEST_CASE("ShardService: an asynchronous job, and the second replica of a shard, export nothing", "[ps]") {
  distrib::CutSettings cuts{"the directory", 7, {.max_to_keep = 3}};
  cuts.exports = {"log", 5, {}};
  ServiceBench loose{job_of(1, 3, 0, asynchronous)};
  loose.call<distrib::Join>('a', 1, {0, hash_of(loose.job), to_text(loose.job), cuts})();
  loose.opened()();
  CHECK(loose.service.exports() == nullptr);
  for (const std::uint32_t shard : {0U, 1U}) {
    ServiceBench bench{replicated(), {.task = 0, .shard = shard, .tasks = 2}};
    bench.call<distrib::Join>('a', 1, {0, hash_of(bench.job), to_text(bench.job), cuts})();
    bench.opened()();
    CHECK((bench.service.exports() != nullptr) == (shard == 0));
  }
}

TEST_CASE("ShardService: the last cut may become durable after the goodbyes, even after a stop", "[ps]") {
  for (const bool stopped : {false, true}) {
    ServiceBench bench{job_of(1, 1, 0)};
    bench.join_all();
    bench.push('a', 2, 1, 0, 1)();
    bench.call<distrib::Goodbye>('a', 3)();
    bench.tell({
        {"a signal",
         [&] {
           if (stopped) bench.service.stop();
         },
         {}},
        {"done, so it is not to be started again", bench.saved(1), {"shell ended 0"}},
    });
  }
}

TEST_CASE("ShardService: a rank that is lost permanently ends it", "[ps]") {
  ServiceBench bench{job_of(3, 9, 3), {}, {.lease = 1s, .restart_window = 2s}};
  bench.join_all();
  bench.tell({
      {"no rank is away", [&] { CHECK_FALSE(bench.service.wake()); }, {}},
      {"lost", bench.closed('b'), {}},
      {"time", [&] { bench.now += 2s; }, {}},
      {"back", bench.join('b', 1, 1), {"b1 joined k=0 cuts=0"}},
      {"lost", bench.closed('b'), {}},
      {"without credit", bench.credit('c', 0), {}},
      {"parked", bench.pull('a', 2, 1), {}},
      {"the other ranks are informed",
       bench.wakes_after(3s),
       {"a1 lost rank 1", "c1 failed: a worker is lost permanently: find out why, then start the job again (rank 1)",
        "a2 failed: the connection is closed: connect again", "a1 end",
        "shell ended 70: a worker is lost permanently: find out why, then start the job again (rank 1)"}},
  });
  CHECK(bench.service.over());
  CHECK(bench.of('a').open() == 0);
}

namespace {

auto with_backups(Rank ranks, std::uint32_t needed, Step total) -> Job {
  return job_of(ranks, total, 0, distrib::BulkSynchronousParallel{.replicas_to_aggregate = needed});
}

}  // namespace

TEST_CASE("ShardService: with backup workers it goes on without a rank that is lost, and ends without its goodbye",
          "[ps]") {
  ServiceBench bench{with_backups(3, 2, 2), {}, {.lease = 1s, .restart_window = 2s}};
  bench.join_all();
  bench.tell({
      {"lost", bench.closed('b'), {}},
      {"for good", bench.wakes_after(3s), {"shell goes on without rank 1"}},
      {"no rank is missed", [&] { CHECK_FALSE(bench.service.wake()); }, {}},
      {"1", bench.push('a', 2, 1, 0, 1), {"a2 pushed k=0 cuts=0"}},
      {"1", bench.push('c', 2, 1, 2, 3), {"c2 pushed k=1 cuts=0"}},
      {"2", bench.push('a', 3, 2, 0, 1), {"a3 pushed k=1 cuts=0"}},
      {"2", bench.push('c', 3, 2, 2, 3), {"shell save 2 w=-4", "c3 pushed k=2 cuts=0"}},
      {"durable", bench.saved(2), {"a1 notice k=2 cuts=0,2", "c1 notice k=2 cuts=0,2"}},
      {"goodbye", bench.call<distrib::Goodbye>('a', 4), {"a4 ok", "a1 end"}},
      {"the last goodbye", bench.call<distrib::Goodbye>('c', 4), {"c4 ok", "c1 end", "shell ended 0"}},
  });
}

TEST_CASE("ShardService: with backup workers a rank that was lost is taken again when it comes back", "[ps]") {
  ServiceBench bench{with_backups(3, 1, 1), {}, {.lease = 1s, .restart_window = 2s}};
  bench.join_all();
  bench.tell({
      {"lost", bench.closed('b'), {}},
      {"and another one", bench.closed('c'), {}},
      {"both at once", bench.wakes_after(3s), {"shell goes on without rank 1", "shell goes on without rank 2"}},
      {"it comes back", bench.join('b', 1, 1), {"b1 joined k=0 cuts=0"}},
      {"its contribution counts", bench.push('b', 2, 1, 1, 5), {"shell save 1 w=-5", "b2 pushed k=1 cuts=0"}},
      {"durable", bench.saved(1), {"a1 notice k=1 cuts=0,1", "b1 notice k=1 cuts=0,1"}},
      {"goodbye", bench.call<distrib::Goodbye>('a', 2), {"a2 ok", "a1 end"}},
      {"it is waited for again", bench.call<distrib::Goodbye>('b', 3), {"b3 ok", "b1 end", "shell ended 0"}},
  });
}

TEST_CASE(
    "ShardService: with backup workers the job ends if fewer ranks are left than a step needs, or the chief is lost",
    "[ps]") {
  const std::string lost = ": a worker is lost permanently: find out why, then start the job again (rank ";
  ServiceBench few{with_backups(4, 3, 9), {}, {.lease = 1s, .restart_window = 2s}};
  few.join_all();
  few.tell({
      {"lost", few.closed('d'), {}},
      {"for good", few.wakes_after(3s), {"shell goes on without rank 3"}},
      {"one more", few.closed('b'), {}},
      {"two are left, three are needed",
       few.wakes_after(3s),
       {"a1 lost rank 1", "c1 lost rank 1", "a1 end", "c1 end", "shell ended 70" + lost + "1)"}},
  });
  ServiceBench chief{with_backups(3, 1, 9), {}, {.lease = 1s, .restart_window = 2s}};
  chief.join_all();
  chief.tell({
      {"the chief", chief.closed('a'), {}},
      {"is needed",
       chief.wakes_after(3s),
       {"b1 lost rank 0", "c1 lost rank 0", "b1 end", "c1 end", "shell ended 70" + lost + "0)"}},
  });
}

TEST_CASE("ShardService: a rank that is lost after the last cut is not waited for longer than the linger time",
          "[ps]") {
  ServiceBench bench{with_backups(2, 1, 1), {}, {.lease = 1s, .restart_window = 2s, .linger = 500ms}};
  bench.join_all();
  bench.push('a', 2, 1, 0, 1)();
  bench.saved(1)();
  bench.tell({
      {"lost", bench.closed('b'), {}},
      {"the chief is here", [&] { CHECK_FALSE(bench.service.wake()); }, {}},
      {"goodbye", bench.call<distrib::Goodbye>('a', 3), {"a3 ok", "a1 end"}},
      {"done", bench.wakes_after(500ms), {"shell ended 0"}},
  });
}

TEST_CASE("ShardService: with backup workers also a job that is not replayable goes on without a rank", "[ps]") {
  Job job = with_backups(2, 1, 9);
  job.replayable = false;
  ServiceBench bench{job, {}, {.lease = 1s, .restart_window = 2s}};
  bench.join_all();
  bench.tell({
      {"lost", bench.closed('b'), {}},
      {"for good", bench.wakes_after(3s), {"shell goes on without rank 1"}},
      {"goes on", bench.push('a', 2, 1, 0, 1), {"a2 pushed k=1 cuts=0"}},
  });
}

TEST_CASE("ShardService: deals ranks to processes, which need not have joined", "[ps]") {
  const Job job = job_of(4, 9, 3);
  ServiceBench bench{job, ShardIdentity{.processes = 2}};
  const auto ask = [&](char who, std::uint64_t number, std::uint32_t index, std::vector<Rank> serves = {}) {
    return bench.call<distrib::AskRanks>(who, number,
                                         {index + 100, index, index == 0, false, job.ranks, std::move(serves)});
  };
  bench.tell({
      {"the first process asks", ask('a', 1, 0), {}},
      {"the second one", ask('b', 1, 1), {"b1 ranks 2 3", "a1 ranks 0 1"}},
      {"nothing new", ask('a', 2, 0, {0, 1}), {}},
      {"the answer comes all the same", bench.wakes_after(500ms), {"a2 ranks 0 1"}},
      {"nothing new", ask('b', 2, 1, {2, 3}), {}},
      {"its connection is lost", bench.closed('b'), {}},
      {"no other answer is due", bench.wakes_after(14'500ms), {}},  // process 0 has not asked for 15 s
  });
  bench.tell({
      {"one asks again", ask('c', 1, 1), {"c1 ranks 0 1 2 3"}},
      {"it leaves", bench.call<distrib::AskRanks>('c', 2, {101, 1, false, true, job.ranks, {}}), {"c2 ranks"}},
  });
}

TEST_CASE("ShardService: a question about ranks is refused by a server that does not deal them", "[ps]") {
  const Job job = job_of(4, 9, 3);
  const std::string other = "the tasks do not agree on --ranks: start all with the same --ranks, and with one version";
  const auto ask = [](ServiceBench& bench, Rank ranks) {
    return bench.call<distrib::AskRanks>('a', 1, {100, 0, true, false, ranks, {}});
  };
  ServiceBench plain{job};
  plain.tell({{"started without --ranks",
               ask(plain, 4),
               {"a1 failed: " + other + " (this parameter server was started without --ranks, the worker with it)"}}});
  ServiceBench another{job, ShardIdentity{.processes = 2}};
  another.tell({{"another number",
                 ask(another, 5),
                 {"a1 failed: " + other + " (this parameter server was started with --ranks 4, the worker with 5)"}}});
  ServiceBench second{job, ShardIdentity{.shard = 1, .processes = 2}};
  second.tell({{"another shard",
                ask(second, 4),
                {"a1 failed: " + other + " (only the first shard of /job:ps/task:0 deals ranks)"}}});
}

TEST_CASE("ShardService: a worker of one rank cannot join if ranks are dealt, nor the other way round", "[ps]") {
  const Job job = job_of(2, 9, 3);
  const std::string other = "the tasks do not agree on --ranks: start all with the same --ranks, and with one version";
  ServiceBench dealt{job, ShardIdentity{.processes = 2}};
  dealt.tell({{"an older version",
               dealt.bring('a', 1, 1),
               {"a1 failed: " + other +
                " (this parameter server was started with --ranks 2, the worker of rank 1 "
                "without it, or it is of an older version)"}}});
  distrib::JoinRequest join{0, hash_of(job), to_text(job), {"the directory", 7, {.max_to_keep = 3}}};
  join.process = 5;
  ServiceBench plain{job};
  plain.tell({{"with --ranks",
               plain.call<distrib::Join>('a', 1, join),
               {"a1 failed: " + other + " (this parameter server was started without --ranks, the worker with it)"}}});
}

TEST_CASE("ShardService: a worker joins with a block of ranks, and pushes their sum", "[ps]") {
  Job job = job_of(4, 9, 3);
  job.reduction = distrib::ReductionOrder::tree;
  ServiceBench bench{job, ShardIdentity{.processes = 2}};
  distrib::JoinRequest join{2, hash_of(job), to_text(job), {"the directory", 7, {.max_to_keep = 3}}};
  join.process = 8;
  join.level = 1;
  bench.call<distrib::Join>('a', 1, join)();
  bench.opened()();
  bench.call<distrib::Status>('b', 1)();
  for (const Rank rank : {0U, 1U, 2U, 3U}) CHECK(bench.of('b').status.of_ranks[rank].here == (rank >= 2));
  CHECK(bench.of('b').status.of_ranks[3].process == 8);
  distrib::JoinRequest single{0, hash_of(job), {}, {}};
  single.process = 1;
  bench.call<distrib::Join>('c', 1, single)();
  single.rank = 1;
  bench.call<distrib::Join>('d', 1, single)();
  bench.told.clear();
  bench.tell({
      {"the sum of 2 and 3", bench.call<distrib::PushSum>('a', 2, {{1, 2, 0, block(6)}, 1}), {"a2 pushed k=0 cuts=0"}},
      {"rank 0", bench.push('c', 2, 1, 0, 1), {"c2 pushed k=0 cuts=0"}},
      {"rank 1: the mean is 8 / 4", bench.push('d', 2, 1, 1, 1), {"d2 pushed k=1 cuts=0"}},
      {"", bench.pull('c', 3, 1), {"c3 values counted=1 w=-2 k=1 cuts=0"}},
      {"once more, with other bytes",
       bench.call<distrib::PushSum>('a', 3, {{1, 2, 0, block(7)}, 1}),
       {"a3 pushed k=1 cuts=0 not repeatable"}},
  });
  bench.call<distrib::Status>('b', 2)();
  CHECK(bench.of('b').status.of_ranks[3].last == 1);
}

TEST_CASE("ShardService: a worker with a block of ranks is refused where contributions are added in rank order",
          "[ps]") {
  const Job job = job_of(4, 9, 3);
  ServiceBench bench{job, ShardIdentity{.processes = 2}};
  distrib::JoinRequest join{2, hash_of(job), to_text(job), {"the directory", 7, {.max_to_keep = 3}}};
  join.process = 8;
  join.level = 1;
  bench.call<distrib::Join>('a', 1, join)();
  bench.told.clear();
  bench.tell(
      {{"its cuts are read",
        bench.opened(),
        {"a1 failed: the parameter server takes no sums of ranks: start all tasks with one version, or set "
         "ClusterMode::sum_ranks to false (it continues a job that was begun in rank order, or is asynchronous)"}}});
  join.level = 0;
  bench.call<distrib::Join>('b', 1, join)();
  bench.told.clear();
  bench.tell({{"a sum without having said so",
               bench.call<distrib::PushSum>('b', 2, {{1, 2, 0, block(6)}, 1}),
               {"b2 failed: the parameter server takes no sums of ranks: start all tasks with one version, or set "
                "ClusterMode::sum_ranks to false"}}});
}

TEST_CASE("ShardService: with dealt ranks a rank may stay away, and status says which process serves it", "[ps]") {
  const Job job = job_of(2, 9, 3);
  ServiceBench bench{job, ShardIdentity{.processes = 2}};
  distrib::JoinRequest join{1, hash_of(job), to_text(job), {"the directory", 7, {.max_to_keep = 3}}};
  join.process = 8;
  bench.call<distrib::Join>('a', 1, join)();
  bench.opened()();
  bench.call<distrib::Status>('b', 1)();
  CHECK_FALSE(bench.of('b').status.of_ranks[0].here);
  CHECK(bench.of('b').status.of_ranks[0].process == 0);
  CHECK(bench.of('b').status.of_ranks[1].here);
  CHECK(bench.of('b').status.of_ranks[1].process == 8);
  CHECK_FALSE(bench.service.wake().has_value());  // rank 0 is not lost while a worker is joined
  bench.call<distrib::Join>('c', 1, join)();  // rank 1 moves
  bench.tell({
      {"one ends", bench.closed('a'), {"c1 joined k=0 cuts=0"}},
      {"the other one, too", bench.closed('c'), {}},
      {"nobody is left",
       bench.wakes_after(660s),
       {"shell ended 70: a worker is lost permanently: find out why, then start the job again (rank 0)"}},
  });
}

TEST_CASE("ShardService: a job that is not replayable ends with code 1 when a worker is lost", "[ps]") {
  Job job = job_of(2, 9, 3);
  job.replayable = false;
  const std::string ended =
      "shell ended 1: contributions of batches of the program's own are lost: start all tasks again, they continue "
      "from "
      "the newest cut (rank ";
  const auto begun = [&](ServiceBench& bench, char who, std::uint64_t number, Rank rank) {
    return bench.call<distrib::Join>(who, number, {rank, hash_of(job), {}, {}, {}, true});
  };
  const ShardOptions options{.lease = 1s, .restart_window = 2s};

  SECTION("its process was started again") {
    ServiceBench bench{job, {}, options};
    bench.join_all();
    bench.tell({
        {"nothing has come from it", bench.closed('a'), {}},
        {"so a new process is as good", bench.join('a', 1, 0), {"a1 joined k=0 cuts=0"}},
        {"", bench.push('a', 2, 1, 0, 1), {"a2 pushed k=0 cuts=0"}},
        {"", bench.push('b', 2, 1, 1, 1), {"b2 pushed k=1 cuts=0"}},
        {"its connection is lost", bench.closed('a'), {}},
        {"the same process", begun(bench, 'a', 3, 0), {"a3 joined k=1 cuts=0"}},
        {"a new process", bench.closed('a'), {}},
        {"its contribution is lost: all hear of it, and it saves",
         bench.join('a', 1, 0),
         {"b1 lost rank 0", "a1 lost rank 0", "shell save 1 w=-1"}},
        {"no contribution counts any more",
         bench.push('b', 3, 2, 1, 1),
         {"b3 failed: the connection is closed: connect again"}},
        {"durable", bench.saved(1), {"b1 notice k=1 cuts=0,1", "b1 end", "a1 end", ended + "0)"}},
    });
  }
  SECTION("it leaves") {
    ServiceBench bench{job, {}, options};
    bench.join_all();
    bench.tell(
        {{"", bench.call<distrib::Leave>('b', 2), {"b2 ok", "b1 end", "a1 lost rank 1", "a1 end", ended + "1)"}}});
  }
  SECTION("it does not come back") {
    ServiceBench bench{job, {}, options};
    bench.join_all();
    bench.tell({
        {"", bench.closed('b'), {}},
        {"", bench.wakes_after(3s), {"a1 lost rank 1", "a1 end", ended + "1)"}},
    });
  }
  SECTION("the shard was started again, and a worker too") {
    ServiceBench bench{job, {}, options};
    bench.tell({
        {"", bench.bring('a', 1, 0), {"shell open 0 in the directory 7 3, sgd learning_rate=1"}},
        {"", bench.opened(), {"a1 joined k=0 cuts=0"}},
        {"this one has contributed before",
         begun(bench, 'b', 1, 1),
         {"a1 lost rank 1", "b1 lost rank 1", "a1 end", "b1 end", ended + "1)"}},
    });
  }
  SECTION("only the shard was started again") {
    ServiceBench bench{job, {}, options};
    bench.tell({
        {"", bench.bring('c', 1, 0), {"shell open 0 in the directory 7 3, sgd learning_rate=1"}},
        {"", bench.closed('c'), {}},
        {"", begun(bench, 'a', 1, 0), {}},
        {"", bench.opened(), {"a1 joined k=0 cuts=0"}},
        {"", begun(bench, 'b', 1, 1), {"b1 joined k=0 cuts=0"}},
        {"they send again", bench.push('a', 2, 1, 0, 1), {"a2 pushed k=0 cuts=0"}},
    });
  }
  SECTION("all steps are done") {
    ServiceBench bench{[&] {
      job.total_steps = 1;
      return job;
    }()};
    bench.join_all();
    bench.tell({
        {"", bench.push('a', 2, 1, 0, 1), {"a2 pushed k=0 cuts=0"}},
        {"", bench.push('b', 2, 1, 1, 1), {"shell save 1 w=-1", "b2 pushed k=1 cuts=0"}},
        {"", bench.closed('a'), {}},
        {"nothing is lost", bench.join('a', 3, 0), {"a3 joined k=1 cuts=0"}},
    });
  }
}

TEST_CASE("ShardService: ranks that never join are lost, counted from when the job was known", "[ps]") {
  ServiceBench bench{job_of(2, 9, 3), {}, {.lease = 1s, .restart_window = 2s}};
  const auto time = [&] {
    CHECK_FALSE(bench.service.wake());
    bench.now += 5s;
    bench.service.woken(bench.now);
  };
  bench.now += 2s;
  bench.tell({
      {"the text", bench.bring('a', 1, 0), {"shell open 0 in the directory 7 3, sgd learning_rate=1"}},
      {"reading cuts may take long", time, {}},
      {"opened", bench.opened(), {"a1 joined k=0 cuts=0"}},
      {"rank 1",
       bench.wakes_after(3s),
       {"a1 lost rank 1", "a1 end",
        "shell ended 70: a worker is lost permanently: find out why, then start the job again (rank 1)"}},
  });
}

TEST_CASE("ShardService: ends if no worker connects", "[ps]") {
  const ShardOptions options{.lease = 1s, .restart_window = 2s, .linger = 500ms};
  ServiceBench bench{job_of(1, 9, 3), {.task = 4, .shard = 2}, options};
  bench.tell({{"no worker connected",
               bench.wakes_after(3s),
               {"shell ended 1: no worker connected in time: look at the workers' logs, then start this task again "
                "(/job:ps/task:4)"}}});
  ServiceBench finished{job_of(1, 9, 3), {.finished = true}, options};
  finished.tell({{"the job was done before", finished.wakes_after(500ms), {"shell ended 0"}}});
  ServiceBench meanwhile{job_of(1, 9, 3), {}, options};
  meanwhile.tell({{"too early", [&] { meanwhile.service.found_finished(4, meanwhile.now); }, {}},
                  {"others have ended the job", meanwhile.wakes_after(500ms), {"shell ended 0"}}});
}

TEST_CASE("ShardService: without goodbyes it is done after the linger time", "[ps]") {
  ServiceBench bench{job_of(2, 3, 3), {}, {.linger = 500ms}};
  bench.bring('a', 1, 0)();
  bench.opened_from(3, -1, {3})();
  bench.tell({
      {"a worker is joined", [&] { CHECK_FALSE(bench.service.wake()); }, {}},
      {"lost", bench.closed('a'), {}},
      {"done", bench.wakes_after(500ms), {"shell ended 0"}},
  });
  ServiceBench late{job_of(1, 1, 0), {}, {.linger = 500ms}};
  late.join_all();
  late.push('a', 2, 1, 0, 1)();
  late.closed('a')();
  late.now += 1h;
  late.tell({
      {"the last cut became durable late", late.saved(1), {}},
      {"but workers still have the linger time", late.wakes_after(500ms), {"shell ended 0"}},
  });
}

TEST_CASE("ShardService: asked to stop, it saves, and is to be started again", "[ps]") {
  ServiceBench bench{job_of(1, 9, 5)};
  bench.join_all();
  bench.tell({
      {"1", bench.push('a', 2, 1, 0, 1), {"a2 pushed k=1 cuts=0"}},
      {"parked", bench.pull('a', 3, 2), {}},
      {"it saves", bench.stop(), {"shell save 1 w=-1"}},
      {"only once", bench.stop(), {}},
      {"a contribution that the cut does not contain is refused",
       bench.push('a', 4, 2, 0, 1),
       {"a4 failed: the connection is closed: connect again"}},
      {"saved",
       bench.saved(1),
       {"a1 notice k=1 cuts=0,1", "a3 failed: the connection is closed: connect again", "a1 end", "shell ended 1"}},
  });
  ServiceBench tables{story::with_tables(job_of(1, 9, 0)), {}, {.copy_bytes = 1}};
  tables.join_all();
  tables.push('a', 2, 1, 0, block(1, {{5, 1}}))();
  tables.told.clear();
  tables.tell({{"it copies", tables.stop(), {"shell copy"}},
               {"piece by piece", tables.copied(), {"shell copy"}},
               {"piece by piece", tables.copied(), {"shell copy"}},
               {"piece by piece", tables.copied(), {"shell copy"}},
               {"saves", tables.copied(), {"shell save 1 w=-1 keys=5;0,1,2"}},
               {"and ends", tables.saved(1), {"a1 notice k=1 cuts=0,1", "a1 end", "shell ended 1"}}});
  ServiceBench saved{job_of(1, 9, 5)};
  saved.join_all();
  saved.tell({{"nothing to save", saved.stop(), {"a1 end", "shell ended 1"}}});
  ServiceBench unopened{job_of(1, 9, 5)};
  unopened.bring('a', 1, 0)();
  unopened.tell({
      {"its cuts are being read", unopened.stop(), {"a1 end", "shell ended 1"}},
      {"too late", unopened.opened(), {}},
      {"it is over", unopened.pull('a', 2, 0), {"a2 failed: the connection is closed: connect again"}},
  });
  ServiceBench without{job_of(1, 9, 5)};
  without.tell({{"no job", without.stop(), {"shell ended 1"}}});
}

TEST_CASE("ShardService: asked to stop while a cut is being written, it makes the newest cut after that", "[ps]") {
  ServiceBench bench{job_of(1, 9, 1)};
  bench.join_all();
  bench.push('a', 2, 1, 0, 1)();
  bench.push('a', 3, 2, 0, 1)();
  bench.tell({
      {"being written", bench.stop(), {}},
      {"the newest", bench.saved(1), {"shell save 2 w=-2", "a1 notice k=2 cuts=0,1"}},
      {"saved", bench.saved(2), {"a1 notice k=2 cuts=0,1,2", "a1 end", "shell ended 1"}},
  });
}

TEST_CASE("ShardService: a cut that cannot be saved ends it", "[ps]") {
  ServiceBench bench{job_of(1, 9, 5)};
  bench.join_all();
  const distrib::Error full{std::make_error_code(std::errc::io_error), "cut-1"};
  const auto failed = [&] { bench.service.save_failed(full, bench.now); };
  bench.tell({
      {"a disk error", failed, {"a1 end", "shell ended 74: Input/output error (cut-1)"}},
      {"only once", failed, {}},
      {"cuts do not matter any more", [&] { bench.service.cut_loaded({}, bench.now); }, {}},
  });
}

TEST_CASE("ShardService: without disk space a cut is tried again after a pause, and training continues", "[ps]") {
  const distrib::Error full{distrib::checkpoint_errc::no_room, "cut-1"};
  ServiceBench bench{job_of(1, 2, 1)};
  const auto failed = [&] { bench.service.save_failed(full, bench.now); };
  bench.join_all();
  bench.tell({
      {"due", bench.push('a', 2, 1, 0, 1), {"shell save 1 w=-1", "a2 pushed k=1 cuts=0"}},
      {"no disk space", failed, {"a1 notice k=1 cuts=0 no room"}},
      {"it continues", bench.push('a', 3, 2, 0, 1), {"a3 pushed k=2 cuts=0 no room"}},
      {"the newest cut", bench.wakes_after(5s), {"shell save 2 w=-2"}},
      {"no disk space", failed, {"a1 notice k=2 cuts=0 no room"}},
      {"which the status says", [&] { CHECK(bench.service.status(bench.now).no_room); }, {}},
      {"the last cut again", bench.wakes_after(5s), {"shell save 2 w=-2"}},
      {"saved", bench.saved(2), {"a1 notice k=2 cuts=0,2"}},
      {"", [&] { CHECK_FALSE(bench.service.status(bench.now).no_room); }, {}},
  });

  ServiceBench asked{job_of(1, 9, 1)};
  asked.join_all();
  asked.push('a', 2, 1, 0, 1)();
  asked.service.save_failed(full, asked.now);
  asked.tell({
      {"asked to stop, it tries at once", asked.stop(), {"shell save 1 w=-1"}},
      {"and ends without the cut",
       [&] { asked.service.save_failed(full, asked.now); },
       {"a1 end", "shell ended 1: no room on the disk: make room (cut-1)"}},
  });
}

TEST_CASE("ShardService: measures pushes and pulls until their answers, with the wait for their step", "[ps]") {
  ServiceBench bench{job_of(2, 9, 5)};
  bench.join_all();
  const auto at = [&](std::chrono::milliseconds time, const auto& happens) {
    bench.service.meter().arrived(bench.now + time);
    happens();
    if (bench.service.meter().has_answered()) bench.service.meter().answered(bench.now + time + 1ms);
  };
  at(0ms, bench.push('a', 2, 1, 0, 1));
  at(10ms, bench.pull('a', 3, 1));
  at(20ms, bench.pull('b', 2, 1));
  distrib::ShardStatus status = bench.service.status(bench.now);
  CHECK(status.push_times.count() == 1);
  CHECK(status.push_times.sum() == 1ms);
  CHECK(status.pull_times.count() == 0);
  at(50ms, bench.push('b', 3, 1, 1, 1));  // this answers both pulls
  at(60ms, bench.pull('a', 4, 1));
  status = bench.service.status(bench.now);
  CHECK(status.push_times.sum() == 2ms);
  CHECK(status.pull_times.count() == 3);
  CHECK(status.pull_times.max() == 41ms);
  CHECK(status.pull_times.sum() == 41ms + 31ms + 1ms);
  CHECK(status.completions == 1);
  CHECK(status.completion_time == 1ms);
  CHECK(status.of_ranks.at(1).was_last == 1);
  CHECK(status.of_ranks.at(1).waited == 50ms);
}

TEST_CASE("ShardService: no step of an asynchronous job waits for a rank", "[ps]") {
  ServiceBench bench{job_of(2, 9, 0, asynchronous)};
  bench.join_all();
  for (const Step step : {1U, 2U}) {
    bench.service.meter().arrived(bench.now + 1s * step);
    bench.push('a', 2 + step, step, 0, 1)();
    bench.push('b', 2 + step, step, 1, 1)();
  }
  const distrib::ShardStatus status = bench.service.status(bench.now);
  CHECK(status.completions == 0);
  CHECK(status.waits_for == 0s);
  CHECK(status.waiting_bytes == 0);
  for (const auto& rank : status.of_ranks) CHECK(rank.was_last == 0);
}

TEST_CASE("ShardService: the first shard of a task lists ten thousand ranks, others a thousand", "[ps]") {
  for (const std::uint32_t shard : {0U, 1U}) {
    Job job = job_of(12'000, 9, 5);
    job.shards_per_task = 2;
    job.variables.push_back(job.variables.front());
    job.variables.back().name = "other";
    job.parts.push_back({1, job.parts.front().slice, 1});
    ServiceBench bench{job, {.shard = shard}};
    bench.bring('a', 1, 11'999)();
    bench.opened()();
    const distrib::ShardStatus status = bench.service.status(bench.now);
    CHECK(status.of_ranks.size() ==
          (shard == 0 ? distrib::ShardStatus::most_ranks_listed : distrib::ShardStatus::most_listed));
    CHECK(status.vacant == 11'999);  // also of those that are not listed
  }
}

TEST_CASE("ShardService: refuses a method that does not exist and a message that does not decode", "[ps]") {
  ServiceBench bench{job_of(1, 9, 5)};
  ServerEvent event = bench.of('a').begin<distrib::Pull>(1, {});
  event.method = 7;
  bench.service.happened(&bench.of('a'), event, bench.now);
  ServerEvent damaged = bench.of('a').begin<distrib::Pull>(2, {});
  damaged.head = distrib::as_bytes("\x0a");
  bench.service.happened(&bench.of('a'), damaged, bench.now);
  ServerEvent greeted;
  greeted.kind = ServerEvent::Kind::greeted;
  bench.service.happened(&bench.of('a'), greeted, bench.now);
  CHECK(bench.told ==
        Texts{"a1 failed: the server has no such method: build both ends from the same release",
              "a2 failed: the message cannot be decoded: build both ends from the same release (distrib.ps.Pull)"});
}

TEST_CASE("ShardService: rows are sent with values, and a parked pull keeps its rows", "[ps]") {
  ServiceBench bench{story::with_tables(job_of(2, 9, 2))};
  bench.join_all();
  bench.tell({
      {"initial rows", bench.pull('a', 2, 0, {{5, 7}, {0}}), {"a2 values counted=0 w=0 rows=8,8,8 k=0 cuts=0"}},
      {"parked", bench.pull('a', 3, 1, {{5}, {}}), {}},
      {"parked with other rows", bench.pull('a', 4, 1, {{7}, {}}), {}},
      {"parked without rows", bench.pull('a', 5, 1), {}},
      {"the first one is cancelled", bench.cancel('a', 3), {}},
      {"stored", bench.push('a', 6, 1, 0, block(1, {{5, 1}})), {"a6 pushed k=0 cuts=0"}},
      {"each gets its own rows",
       bench.push('b', 2, 1, 1, block(1, {{7, 2}}, {{0, 3}})),
       {"a4 values counted=1 w=-1 rows=6 k=1 cuts=0", "a5 values counted=1 w=-1 k=1 cuts=0", "b2 pushed k=1 cuts=0"}},
      {"rows of the step before",
       bench.pull('b', 3, 0, {{5, 7}, {0}}),
       {"b3 values counted=0 w=0 rows=8,8,8 k=1 cuts=0"}},
      {"rows of the present step",
       bench.pull('b', 4, 1, {{5, 7}, {0}}),
       {"b4 values counted=1 w=-1 rows=7,6,5 k=1 cuts=0"}},
      {"2", bench.push('a', 7, 2, 0, block(0, {})), {"a7 pushed k=1 cuts=0"}},
      {"a cut has the rows", bench.push('b', 5, 2, 1, block(0, {})), {"shell copy", "b5 pushed k=2 cuts=0"}},
      {"when they are copied", bench.copied(), {"shell save 2 w=-1 keys=5,7;0,1,2"}},
  });
}

TEST_CASE("ShardService: a wrong request of a rank changes nothing, and ends the job for every worker", "[ps]") {
  const auto body = [](std::initializer_list<unsigned char> bytes) -> distrib::SharedBuffer {
    auto made = std::make_shared<distrib::AlignedBuffer>(bytes.size());
    std::ranges::transform(bytes, made->data(), [](unsigned char byte) { return std::byte{byte}; });
    return made;
  };
  auto unsorted = std::make_shared<distrib::AlignedBuffer>(block(1, {{5, 1}, {7, 1}})->size());
  std::ranges::copy(block(1, {{5, 1}, {7, 1}})->bytes(), unsorted->data());
  unsorted->data()[64 + 8 + 2] = std::byte{0};  // the second key becomes 5 too
  auto longer = std::make_shared<distrib::AlignedBuffer>(block(1, {{5, 1}})->size() + 64);
  std::ranges::copy(block(1, {{5, 1}})->bytes(), longer->data());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  using Request = std::variant<distrib::PullRequest, distrib::PushRequest>;
  const auto raw_pull = [](Step step, distrib::SharedBuffer keys) -> Request {
    return distrib::PullRequest{step, std::move(keys)};
  };
  const auto pull = [&](Step step, distrib::KeyLists keys) { return raw_pull(step, story::wanted(keys).keys); };
  const auto push = [](Rank rank, distrib::SharedBuffer gradient) -> Request {
    return distrib::PushRequest{1, rank, 0, std::move(gradient)};
  };

  struct Row {
    const char* what;
    Request request;
    std::string where;
    std::string refused;
  };
  const std::string unsorted_keys = "the keys of a pull, a gradient or a cut must ascend, and each key may occur once";
  const std::string no_such_row = "the table has no such row: look up only keys of the table";
  const std::string wrong_size =
      "the size does not match the job's variables and tables: run the same model on every worker";
  const std::string not_finite =
      "a gradient is not finite: NaN or infinity; look for a logarithm, a root, a division, or too high a learning "
      "rate";
  const Row rows[] = {
      {"too many rows", pull(0, {{5, 6, 7, 8}, {0}}), "step 0 of rank 0, 320 bytes, allowed are 256",
       "a pull asks for more rows than one answer may hold: ask for fewer keys at once, or raise max_pull_bytes"},
      {"the same key twice", raw_pull(0, body({2, 5, 0, 0, 0})), "step 0 of rank 0, the keys of a pull", unsorted_keys},
      {"one list is missing", raw_pull(3, body({1, 5, 0})), "step 3 of rank 0, the keys of a pull", unsorted_keys},
      {"no keys at all", raw_pull(0, body({255})), "step 0 of rank 0, the keys of a pull", unsorted_keys},
      {"a key that the table does not have", pull(0, {{}, {3}}), "step 0 of rank 0", no_such_row},
      {"the same at a later step", pull(1, {{}, {3}}), "step 1 of rank 0", no_such_row},
      {"the same in a contribution", push(0, block(1, {{5, 1}}, {{3, 1}})), "step 1 of rank 0", no_such_row},
      {"the same key twice", push(0, unsorted), "step 1 of rank 0", unsorted_keys},
      {"without a body", push(0, nullptr), "step 1 of rank 0", wrong_size},
      {"no keys", push(0, block(1)), "step 1 of rank 0", wrong_size},
      {"longer than its keys say", push(0, longer), "step 1 of rank 0", wrong_size},
      {"a rank that the job does not have", push(2, block(1, {})), "step 1 of rank 2",
       "the job has no such rank: start as many workers as the job has"},
      {"NaN in a dense value", push(0, block(nan, {})), "step 1 of rank 0, v0", not_finite},
      {"NaN in a row", push(0, block(1, {{5, nan}})), "step 1 of rank 0, words", not_finite},
      {"no memory for a row", push(0, block(1, {{5, 1}})), "step 1 of rank 0",
       "a table needs more memory than its budget has: give it max_rows, raise the budget, or use more servers"},
  };
  for (const distrib::Consistency consistency : {synchronous, asynchronous})
    for (const Row& row : rows) {
      CAPTURE(consistency.mode(), row.what);
      // Dense values and the items' rows take 128 bytes and 4 KiB; the rest is enough for an index of keys, but for no
      // row of words.
      Job job = story::with_tables(job_of(2, 9, 9, consistency));
      job.check_numerics = true;
      ServiceBench bench{job, {}, {.memory_budget_bytes = 64 << 10, .max_pull_bytes = 4 * 64}};
      bench.join_all();
      const bool is_pull = std::holds_alternative<distrib::PullRequest>(row.request);
      const bool completes = row.refused.starts_with("a table needs") && consistency == synchronous;
      if (completes) bench.push('b', 2, 1, 1, block(1, {}))();
      bench.pull('b', 3, 0, {{5, 6, 7}, {0}})();  // as much as is allowed
      CHECK(bench.told.back() == "b3 values counted=0 w=0 rows=8,8,8,8 k=0 cuts=0");
      const distrib::ShardStatus before = bench.service.status(bench.now);
      const std::string why = row.refused + " (" + row.where + ")";
      Texts told{"a1 failed: " + why, "b1 failed: " + why};
      if (is_pull) told.push_back("a9 failed: " + row.refused);
      else told.insert(told.begin(), "a9 failed: " + why);
      told.push_back("shell ended 65: " + why);
      bench.tell({
          {row.what,
           is_pull ? bench.call<distrib::Pull>('a', 9, std::get<distrib::PullRequest>(row.request))
                   : bench.call<distrib::Push>('a', 9, std::get<distrib::PushRequest>(row.request)),
           told},
          {"a worker that joins later gets the reason", bench.join('b', 4, 1), {"b4 failed: " + why}},
      });
      CHECK(bench.service.over());
      const distrib::ShardStatus after = bench.service.status(bench.now);
      CHECK(after.step == before.step);
      CHECK(after.contributions == before.contributions);
      CHECK(after.newest_cut == before.newest_cut);
      if (!row.refused.starts_with("a table needs")) CHECK(after.variables == before.variables);
      CHECK(bench.of('a').open() == 0);
      CHECK(bench.of('b').open() == 0);
    }
}

TEST_CASE("ShardService: calls that wait fail with the reason for which the job ends", "[ps]") {
  ServiceBench bench{job_of(2, 9, 3)};
  bench.join_all();
  const std::string refused = " failed: the job has no such rank: start as many workers as the job has";
  bench.tell({
      {"parked", bench.pull('b', 2, 1), {}},
      {"without credit", bench.credit('b', 0), {}},
      {"refused",
       bench.push('a', 2, 3, 2, 1),
       {"a2" + refused + " (step 3 of rank 2)", "a1" + refused + " (step 3 of rank 2)",
        "b1" + refused + " (step 3 of rank 2)", "b2" + refused,
        "shell ended 65: the job has no such rank: start as many workers as the job has (step 3 of rank 2)"}},
      {"it is over", bench.saved(3), {}},
  });
}

// --- onlookers ---

TEST_CASE("ShardService: an onlooker is answered with the newest values, a step, or that the step is gone", "[ps]") {
  ServiceBench bench{job_of(1, 9, 3)};
  bench.tell({
      {"no job",
       bench.look_newest('d', 1),
       {"d1 failed: no worker connected in time: look at the workers' logs, then start this task again (the shard "
        "knows "
        "no job yet)"}},
      {"the text", bench.bring('a', 1, 0), {"shell open 0 in the directory 7 3, sgd learning_rate=1"}},
      {"the cuts are not read yet", bench.look_newest('d', 2), {}},
      {"they are", bench.opened(), {"d2 values counted=0 w=0 k=0 cuts=0", "a1 joined k=0 cuts=0"}},
      {"another job",
       bench.call<distrib::Look>('d', 3, {"abc", 0, true}),
       {"d3 failed: this belongs to another job: use the same program and flags, or another directory (the hash of an "
        "onlooker's job)"}},
      {"in the future", bench.look('d', 4, 1), {}},
      {"reached", bench.push('a', 2, 1, 0, 1), {"d4 values counted=1 w=-1 k=1 cuts=0", "a2 pushed k=1 cuts=0"}},
      {"the step before", bench.look('d', 5, 0), {"d5 values counted=0 w=0 k=1 cuts=0"}},
      {"one more", bench.push('a', 3, 2, 0, 1), {"a3 pushed k=2 cuts=0"}},
      {"not kept", bench.look('d', 6, 0), {"d6 gone k=2 cuts=0"}},
      {"the newest", bench.look_newest('d', 7), {"d7 values counted=2 w=-2 k=2 cuts=0"}},
  });
}

TEST_CASE("ShardService: an onlooker is no rank: it is not joined, and the job ends without it", "[ps]") {
  ServiceBench bench{job_of(1, 1, 1)};
  bench.join_all();
  bench.tell({
      {"a look", bench.look_newest('d', 1), {"d1 values counted=0 w=0 k=0 cuts=0"}},
      {"no push from it",
       bench.push('d', 2, 1, 0, 1),
       {"d2 failed: a call before Join: call Join first on every new connection"}},
      {"no pull", bench.pull('d', 3, 0), {"d3 failed: a call before Join: call Join first on every new connection"}},
      {"the end", bench.look('d', 4, distrib::end_of_job), {}},
      {"a step that never comes", bench.look('e', 1, 1), {}},
      {"the status", bench.call<distrib::Status>('b', 1), {"b1 status"}},
  });
  REQUIRE(bench.of('b').status.of_ranks.size() == 1);
  CHECK(bench.of('b').status.parked == 0);
  CHECK(bench.of('b').status.pulls == 0);
  bench.tell({
      {"the rank leaves", bench.closed('a'), {}},
      {"the status", bench.call<distrib::Status>('b', 2), {"b2 status"}},
  });
  CHECK_FALSE(bench.of('b').status.of_ranks[0].here);
  bench.tell({
      {"it comes back", bench.join('a', 5, 0), {"a5 joined k=0 cuts=0"}},
      {"the last step: the end is there",
       bench.push('a', 6, 1, 0, 1),
       {"shell save 1 w=-1", "e1 values counted=1 w=-1 k=1 cuts=0", "a6 pushed k=1 cuts=0",
        "d4 values counted=1 w=-1 k=1 cuts=0"}},
      {"they wait for nothing", bench.look('e', 2, 2), {"e2 values counted=1 w=-1 k=1 cuts=0"}},
      {"saved", bench.saved(1), {"a5 notice k=1 cuts=0,1"}},
      {"done, although onlookers are here", bench.call<distrib::Goodbye>('a', 7), {"a7 ok", "a5 end", "shell ended 0"}},
      {"late",
       bench.look_newest('d', 5),
       {"d5 failed: the job is done, and this shard serves no worker any more: the last checkpoint has the result"}},
  });
}

TEST_CASE("ShardService: an onlooker hears that the job is done, whether it looks or not", "[ps]") {
  ServiceBench bench{job_of(1, 1, 1)};
  bench.tell({{"no job",
               bench.await_end('d', 1),
               {"d1 failed: no worker connected in time: look at the workers' logs, then start this task again (the "
                "shard knows no job yet)"}}});
  bench.join_all();
  bench.tell({
      {"another job",
       bench.call<distrib::AwaitEnd>('d', 2, {"abc"}),
       {"d2 failed: this belongs to another job: use the same program and flags, or another directory (the hash of an "
        "onlooker's job)"}},
      {"it waits", bench.await_end('d', 3), {}},
      {"it looks meanwhile", bench.look_newest('d', 4), {"d4 values counted=0 w=0 k=0 cuts=0"}},
      {"another one", bench.await_end('e', 1), {}},
      {"goes", bench.closed('e'), {}},
      {"one does not wait any more", bench.await_end('f', 1), {}},
      {"cancelled", bench.cancel('f', 1), {}},
      {"the last step", bench.push('a', 2, 1, 0, 1), {"shell save 1 w=-1", "a2 pushed k=1 cuts=0"}},
      {"its cut", bench.saved(1), {"a1 notice k=1 cuts=0,1"}},
      {"done", bench.call<distrib::Goodbye>('a', 3), {"a3 ok", "a1 end", "d3 ok", "shell ended 0"}},
      {"late", bench.await_end('g', 1), {"g1 ok"}},
  });
}

TEST_CASE("ShardService: looks that wait end with the shard", "[ps]") {
  ServiceBench bench{job_of(1, 9, 9)};
  bench.join_all();
  bench.tell({
      {"a look", bench.look('d', 1, 5), {}},
      {"the end of the job", bench.look('e', 1, distrib::end_of_job), {}},
      {"the word that it is done", bench.await_end('d', 2), {}},
      {"it is asked to end",
       bench.stop(),
       {"a1 end", "d1 failed: the connection is closed: connect again",
        "e1 failed: the connection is closed: connect again", "d2 failed: the connection is closed: connect again",
        "shell ended 1"}},
  });
}

TEST_CASE("ShardService: an onlooker that leaves, or cancels, leaves nothing behind", "[ps]") {
  ServiceBench bench{job_of(1, 9, 9)};
  bench.join_all();
  bench.tell({
      {"a look", bench.look('d', 1, 1), {}},
      {"cancelled", bench.cancel('d', 1), {}},
      {"another one at once", bench.look('d', 2, 2), {}},
      {"a second onlooker", bench.look('e', 1, 1), {}},
      {"gone", bench.closed('e'), {}},
      {"step 1", bench.push('a', 2, 1, 0, 1), {"a2 pushed k=1 cuts=0"}},
      {"step 2", bench.push('a', 3, 2, 0, 1), {"d2 values counted=2 w=-2 k=2 cuts=0", "a3 pushed k=2 cuts=0"}},
  });
}

TEST_CASE("ShardService: a look that asks for too much is refused, and the job goes on", "[ps]") {
  ServiceBench tables{story::with_tables(job_of(1, 9, 9)), {}, {.max_pull_bytes = 100}};
  tables.join_all();
  const auto with_rows = [&](std::uint64_t number, const distrib::KeyLists& keys) {
    return tables.call<distrib::Look>('d', number, {hash_of(tables.job), 0, true, story::wanted(keys).keys});
  };
  tables.tell({
      {"two rows",
       with_rows(1, {{1, 2}, {}}),
       {"d1 failed: a pull asks for more rows than one answer may hold: ask for fewer keys at once, or raise "
        "max_pull_bytes (128 bytes, allowed are 100)"}},
      {"no such row",
       with_rows(2, {{}, {3}}),
       {"d2 failed: the table has no such row: look up only keys of the table (a look)"}},
      {"a row", with_rows(3, {{1}, {}}), {"d3 values counted=0 w=0 rows=8 k=0 cuts=0"}},
      {"nothing has happened to the job", tables.pull('a', 2, 0), {"a2 values counted=0 w=0 k=0 cuts=0"}},
  });
}

TEST_CASE("ShardService: in an asynchronous job a look is answered at once, and the end when it is durable", "[ps]") {
  ServiceBench bench{job_of(2, 2, 2, asynchronous)};
  bench.join_all();
  bench.tell({
      {"a look", bench.look_newest('d', 1), {"d1 values counted=0 w=0 k=0 cuts="}},
      {"the end", bench.look('e', 1, distrib::end_of_job), {}},
      {"rank 0", bench.push('a', 2, 1, 0, 1), {"a2 pushed k=1 cuts=0"}},
      {"a look", bench.look_newest('d', 2), {"d2 values counted=1 w=-1 k=1 cuts="}},
      {"rank 1", bench.push('b', 2, 1, 1, 1), {"shell save 2 w=-2", "b2 pushed k=1 cuts=0"}},
      {"not durable yet", bench.look_newest('d', 3), {"d3 values counted=2 w=-2 k=2 cuts="}},
      {"durable",
       bench.saved(2),
       {"a1 notice k=1 cuts=1", "b1 notice k=1 cuts=1", "e1 values counted=2 w=-2 k=2 cuts="}},
  });
}

namespace {

/// A job that begins with ranks 0 and 1, and may have ranks 0 to 3. Its horizon is kept two steps ahead.
auto scaled_bench() -> ServiceBench {
  Job job = job_of(2, 9, 3);
  job.most_ranks = 4;
  ShardOptions options;
  options.rank_steps_ahead = 2;
  return ServiceBench{job, {}, options};
}

auto asked_for(Step from, std::uint64_t number, std::vector<Rank> ranks) -> distrib::ScaleRequest {
  return {std::make_shared<const distrib::RankEntry>(distrib::RankEntry{from, number, std::move(ranks)})};
}

}  // namespace

TEST_CASE("ShardService: other ranks are asked for, saved, and make their steps", "[ps]") {
  ServiceBench bench = scaled_bench();
  const auto first = std::make_shared<const distrib::RankEntry>(distrib::RankEntry{1, 0, {0, 1}});
  auto more = asked_for(4, 9, {0, 2, 3});
  more.who = "ann@host";
  const std::string fixed =
      "g1 failed: the ranks of this job cannot change, or it has not begun: start it with most_ranks";
  const std::string soon = "that step may be under way already: ask for other ranks from a step after the horizon";
  const std::string bad =
      "these ranks cannot make steps of the job: name rank 0, each rank once, and all below most_ranks";
  const std::string place = "/job:ps/task:0, shard 0, horizon 3, step 0";
  const std::string at = " (" + place + ")";
  const auto push = [&](char who, std::uint64_t number, Step step, Rank rank, distrib::SharedRankEntry entry) {
    distrib::PushRequest request{step, rank, 0, block(2)};
    request.entry = std::move(entry);
    return bench.call<distrib::Push>(who, number, request);
  };
  bench.tell({
      {"no job yet", bench.call<distrib::Scale>('g', 1), {fixed + " (/job:ps/task:0, shard 0: it knows no job yet)"}},
      {"", bench.bring('a', 1, 0), {"shell open 0 in the directory 7 3, sgd learning_rate=1"}},
      {"no cuts yet",
       bench.call<distrib::Scale>('g', 1),
       {fixed + " (/job:ps/task:0, shard 0: it still reads its cuts)"}},
      {"the file of the log", bench.opened(), {"shell save ranks up to 3, entries 0", "a1 joined k=0 cuts=0"}},
      {"a rank that makes no step yet", bench.join('c', 1, 2), {"c1 joined k=0 cuts=0"}},
      {"E1: nothing may be told", bench.pull('a', 2, 0), {}},
      {"the horizon", bench.call<distrib::Scale>('g', 2), {"g2 horizon 0 step 0"}},
      {"durable", bench.ranks_saved(), {"a2 values counted=0 w=0 k=0 cuts=0"}},
      {"E2: too late",
       bench.call<distrib::Scale>('g', 3, asked_for(3, 9, {0})),
       {"g3 failed: " + soon + at,
        "shell a client asks for ranks 0 (1) from step 3: refused by " + place + ": " + soon}},
      {"in time", bench.call<distrib::Scale>('g', 4, more), {"shell save ranks up to 3, entries 1"}},
      {"E3: durable",
       bench.ranks_saved(),
       {"g4 taken, horizon 3 step 0",
        "shell a client (ann@host) asks for ranks 0, 2-3 (3) from step 4: taken by /job:ps/task:0, shard 0, which is "
        "at "
        "step 0"}},
      {"a rank that the job cannot have",
       bench.call<distrib::Scale>('g', 5, asked_for(40, 9, {0, 4})),
       {"g5 failed: " + bad + at,
        "shell a client asks for ranks 0, 4 (2) from step 40: refused by " + place + ": " + bad}},
      {"no rank 0",
       bench.call<distrib::Scale>('g', 7, asked_for(40, 9, {1, 2})),
       {"g7 failed: " + bad + at,
        "shell a client asks for ranks 1-2 (2) from step 40: refused by " + place + ": " + bad}},
      {"no rank",
       bench.call<distrib::Scale>('g', 6, asked_for(40, 9, {})),
       {"g6 failed: " + bad + at, "shell a client asks for ranks (0) from step 1: refused by " + place + ": " + bad}},
      {"", push('a', 3, 1, 0, first), {"a3 pushed k=0 cuts=0"}},
      {"", push('c', 2, 1, 1, first), {"c2 pushed k=1 cuts=0"}},
      {"", push('a', 4, 2, 0, first), {"a4 pushed k=1 cuts=0"}},
      {"half of the way is left",
       push('c', 3, 2, 1, first),
       {"c3 pushed k=2 cuts=0", "shell save ranks up to 5, entries 1"}},
  });
}

TEST_CASE("ShardService: a shard whose log of the ranks cannot be saved ends, and calls for other ranks with it",
          "[ps]") {
  ServiceBench bench = scaled_bench();
  bench.bring('a', 1, 0)();
  bench.opened()();
  bench.call<distrib::Scale>('g', 1, asked_for(40, 9, {0}))();
  bench.told.clear();
  bench.service.ranks_not_saved({make_error_code(std::errc::io_error), "a file"}, bench.now);
  CHECK(std::ranges::find(bench.told, "g1 failed: the connection is closed: connect again") != bench.told.end());
  CHECK_THAT(bench.told.back(), ContainsSubstring("shell ended 74"));
}

TEST_CASE("ShardService: while the disk is full, the log of the ranks is saved again after a pause", "[ps]") {
  ServiceBench bench = scaled_bench();
  bench.bring('a', 1, 0)();
  const auto fails = [&] { bench.service.ranks_not_saved({distrib::checkpoint_errc::no_room, "a file"}, bench.now); };
  bench.tell({
      {"the file of the log", bench.opened(), {"shell save ranks up to 3, entries 0", "a1 joined k=0 cuts=0"}},
      {"", bench.pull('a', 2, 0), {}},
      {"no room", fails, {}},
      {"asked meanwhile", bench.call<distrib::Scale>('g', 1, asked_for(4, 9, {0})), {}},
      {"again", bench.wakes_after(ShardOptions{}.save_again_after), {"shell save ranks up to 3, entries 0"}},
      {"durable", bench.ranks_saved(), {"a2 values counted=0 w=0 k=0 cuts=0", "shell save ranks up to 3, entries 1"}},
  });
}

TEST_CASE("ShardService: keys are erased when that is saved, and the report has none of them", "[ps]") {
  Job job = story::with_tables(job_of(1, 9, 9));
  job.erases_keys = true;
  ShardOptions options;
  options.rank_steps_ahead = 2;
  ServiceBench bench{job, {}, options};
  const std::string cannot =
      "these keys cannot be erased: the table must have any keys, and the job with_erasable_keys";
  const std::string place = "/job:ps/task:0, shard 0";
  const auto erase = [&](std::uint64_t number, const std::string& table, std::vector<std::uint64_t> keys) {
    return bench.call<distrib::Erase>('g', number, {table, std::move(keys), "ann@host"});
  };
  const std::string says = "shell a client (ann@host) asks to erase ";
  bench.tell({
      {"no job yet",
       erase(1, "words", {5}),
       {says + "1 keys of table words: refused by " + place + ": it knows no job yet: " + cannot,
        "g1 failed: " + cannot + " (" + place + ": it knows no job yet)"}},
      {"", bench.bring('a', 1, 0), {"shell open 0 in the directory 7 3, sgd learning_rate=1"}},
      {"the file of the log", bench.opened(), {"shell save ranks up to 3, entries 0", "a1 joined k=0 cuts=0"}},
      {"asked meanwhile", erase(2, "words", {7, 5}), {}},
      {"X1: nothing may be told", bench.pull('a', 2, 0), {}},
      {"durable; then the keys are saved",
       bench.ranks_saved(),
       {"a2 values counted=0 w=0 k=0 cuts=0", "shell save ranks up to 3, entries 0, keys 2 after 1"}},
      {"the step waits", bench.push('a', 3, 1, 0, story::block(1, {{5, 1}, {6, 1}})), {"a3 pushed k=0 cuts=0"}},
      {"durable",
       bench.ranks_saved(),
       {"g2 2 keys after 1 step 1", says + "2 keys of table words: 2 go from " + place + " after step 1"}},
      {"5 is gone", bench.pull('a', 4, 1, {{5, 6}, {}}), {"a4 values counted=1 w=-1 rows=8,7 k=1 cuts=0"}},
      {"numbered keys",
       erase(3, "items", {1}),
       {"g3 failed: " + cannot + " (" + place + ", step 1)",
        says + "1 keys of table items: refused by " + place + ", step 1: " + cannot}},
      {"no such table",
       erase(4, "a\nb", {1}),
       {"g4 failed: the job has no such table: use the name of one of its tables (" + place + ", step 1)",
        says + "1 keys of table a?b: refused by " + place +
            ", step 1: the job has no such table: use the name of one of its tables"}},
  });
}

TEST_CASE("ShardService: a job without a log of erased keys erases none", "[ps]") {
  ServiceBench bench{story::with_tables(job_of(1, 9, 9))};
  bench.join_all();
  const std::string why = "/job:ps/task:0, shard 0: its job was started without with_erasable_keys";
  const std::string cannot =
      "these keys cannot be erased: the table must have any keys, and the job with_erasable_keys";
  bench.tell({{"",
               bench.call<distrib::Erase>('g', 1, {"words", {5}}),
               {"shell a client asks to erase 1 keys of table words: refused by " + why + ": " + cannot,
                "g1 failed: " + cannot + " (" + why + ")"}}});
}

TEST_CASE("ShardService: the status of a job whose ranks change has the horizon and the vacant ranks", "[ps]") {
  ServiceBench bench = scaled_bench();
  bench.bring('a', 1, 0)();
  bench.opened()();
  CHECK(bench.service.status(bench.now).horizon == 0);  // the file is not durable yet
  bench.ranks_saved()();
  const distrib::ShardStatus status = bench.service.status(bench.now);
  CHECK(status.horizon == bench.service.rank_log()->horizon());
  CHECK(status.horizon != 0);
  CHECK(status.vacant == 1);  // rank 1; the ranks 2 and 3 look on
  CHECK(ServiceBench{job_of(1, 9, 5)}.service.status(bench.now).horizon == 0);
}

TEST_CASE("ShardService: nobody waits for a rank that looks on", "[ps]") {
  ServiceBench bench = scaled_bench();
  bench.bring('a', 1, 0)();
  bench.opened()();
  bench.ranks_saved()();
  bench.join('b', 1, 3)();
  bench.call<distrib::Scale>('g', 1, asked_for(4, 9, {0, 3}))();
  bench.ranks_saved()();
  const auto looks_on = [&] {
    std::vector<bool> each;
    for (const auto& rank : bench.service.status(bench.now).of_ranks) each.push_back(rank.looks_on);
    return each;
  };
  CHECK(looks_on() == std::vector<bool>{false, false, true, true});
  const auto first = std::make_shared<const distrib::RankEntry>(distrib::RankEntry{1, 0, {0, 1}});
  for (Step step = 1; step <= 3; ++step) {
    for (const Rank rank : {0U, 1U}) {
      distrib::PushRequest request{step, rank, 0, block(2)};
      request.entry = first;
      bench.call<distrib::Push>('a', 10 * step + rank, request)();
    }
    bench.ranks_saved()();
  }
  CHECK(bench.service.step() == 3);
  CHECK(looks_on() == std::vector<bool>{false, true, true, false});
  const auto status = bench.service.status(bench.now);
  CHECK(status.contributions == 6);
  CHECK(status.staleness == 0);
}

TEST_CASE("ShardService: the ranks of other jobs cannot change", "[ps]") {
  ServiceBench bench{job_of(1, 9, 3)};
  bench.join_all();
  const std::string fixed = "the ranks of this job cannot change, or it has not begun: start it with most_ranks";
  const std::string place = "/job:ps/task:0, shard 0: the ranks of its job are fixed";
  bench.tell({{"",
               bench.call<distrib::Scale>('g', 1, asked_for(40, 9, {0})),
               {"shell a client asks for ranks 0 (1) from step 40: refused by " + place + ": " + fixed,
                "g1 failed: " + fixed + " (" + place + ")"}},
              {"a question is not reported",
               bench.call<distrib::Scale>('g', 2),
               {"g2 failed: " + fixed + " (" + place + ")"}}});
}

TEST_CASE("ShardService: a change of the learning rate is reported, and shown when it is in force", "[ps]") {
  ServiceBench bench = scaled_bench();
  bench.bring('a', 1, 0)();
  bench.opened()();
  bench.ranks_saved()();
  distrib::RankEntry entry{4, 9, {0, 1}, {1, 3, 2}};
  const auto asks = [&] { return distrib::ScaleRequest{std::make_shared<const distrib::RankEntry>(entry)}; };
  const std::string says = "shell a client asks for ranks 0-1 (2) from step 4, rate 1 to 3 within 2: ";
  const std::string bad =
      "the learning rate of this job cannot be changed so: give a factor from 1e-4 to 1e4, or none with local steps "
      "and "
      "updaters without scales_rate";
  bench.tell({
      {"", bench.call<distrib::Scale>('g', 1, asks()), {"shell save ranks up to 3, entries 1"}},
      {"",
       bench.ranks_saved(),
       {"g1 taken, horizon 3 step 0", says + "taken by /job:ps/task:0, shard 0, which is at step 0"}},
  });
  CHECK(bench.service.status(bench.now).rate_factor == 1.0);
  const auto good = std::make_shared<const distrib::RankEntry>(entry);
  entry.rate.to = 0;
  const std::string place = "/job:ps/task:0, shard 0, horizon 3, step 0";
  bench.tell({{"",
               bench.call<distrib::Scale>('g', 2, asks()),
               {"g2 failed: " + bad + " (" + place + ")",
                "shell a client asks for ranks 0-1 (2) from step 4, rate 1 to 0 within 2: refused by " + place + ": " +
                    bad}}});
  const auto first = std::make_shared<const distrib::RankEntry>(distrib::RankEntry{1, 0, {0, 1}});
  for (Step step = 1; step <= 4; ++step) {
    for (const Rank rank : {0U, 1U}) {
      distrib::PushRequest request{step, rank, 0, block(2)};
      request.entry = step < 4 ? first : good;
      bench.call<distrib::Push>('a', 10 * step + rank, request)();
    }
    bench.ranks_saved()();
  }
  CHECK(bench.service.step() == 4);
  CHECK(bench.service.status(bench.now).rate_factor == 2.0);  // of step 5
}

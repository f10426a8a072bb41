// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/job/make_ranks_job.hpp>

#include <distrib/optimizer/updater_list.hpp>
#include <distrib/ps/server/server.hpp>
#include <distrib/ps/worker/ask_status.hpp>
#include <distrib/ps/worker/scale_ranks.hpp>
#include <distrib/train/job/make_local_job.hpp>

#include "ps/loopback_job.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace distrib;

namespace {

auto six_ranks(Step steps) -> Job {
  Job job = loopback_job::make(2, 6, steps);
  job.reduction = ReductionOrder::tree;
  return job;
}

/// Two parameter servers for six ranks and this number of processes.
struct DealtServers {
  explicit DealtServers(std::size_t processes, Rank ranks = 6) {
    const ClusterSpec cluster{{"ps", {"127.0.0.1:0", "127.0.0.1:0"}},
                              {"worker", std::vector<std::string>(processes, "127.0.0.1:1")}};
    for (std::uint32_t task = 0; task < 2; ++task) {
      ServerOptions options;
      options.ranks = ranks;
      options.shard.dealing.adopt_after = std::chrono::milliseconds{1'500};
      options.shard.rank_steps_ahead = 4;
      servers.push_back(std::make_unique<Server>(pool, cluster, "ps", task, StandardUpdaters{}, std::move(options)));
      addresses.push_back({"127.0.0.1", servers.back()->port()});
    }
  }
  IoPool pool{2};
  std::vector<std::unique_ptr<Server>> servers;
  std::vector<Address> addresses;
};

/// One process, and what it was told.
struct ServingRanks {
  ServingRanks(const Job& job, const DealtServers& to, std::uint32_t index, bool sums = true)
      : running{make_ranks_job(job, {index, index == 0, sums}, to.addresses, {}, {}, callbacks())} {}

  auto callbacks() -> RanksJobCallbacks {
    RanksJobCallbacks callbacks;
    callbacks.contribute = [this](Rank rank, Step step, std::span<const SharedBuffer> values,
                                  std::span<const std::shared_ptr<AlignedBuffer>> gradients) {
      if (at_step) at_step(step);
      if (std::ranges::find(ranks, rank) == ranks.end()) ranks.push_back(rank);
      newest = std::max(newest.load(), step);
      const auto blocks = loopback_job::contribution(step, rank, {values.begin(), values.end()});
      for (std::size_t i = 0; i < blocks.size(); ++i)
        std::ranges::copy(blocks[i]->bytes(), gradients[i]->bytes().begin());
      return static_cast<float>(step * 100 + rank);
    };
    callbacks.prepare = [](Rank, Step) {};
    callbacks.numbered = [this](Rank, Step, const RankEntry&, std::uint64_t number) { numbers.push_back(number); };
    callbacks.started = [this](Step first) { story += " started " + std::to_string(first); };
    callbacks.step_done = [this](Step step, float loss, const std::vector<SharedBuffer>&) {
      story += " " + std::to_string(step);
      losses.push_back(loss);
    };
    callbacks.saved = [this](Step step) { saved = step; };
    callbacks.told = [](const Event&) {};
    callbacks.serves = [this](std::size_t number) { served.push_back(number); };
    return callbacks;
  }
  auto run() -> WorkerEnd {
    while (running->next()) running->make();
    return running->end();
  }

  std::string story = {};
  std::vector<float> losses = {};
  std::vector<Rank> ranks = {};  // that it has made a contribution for
  std::vector<std::size_t> served = {};  // how many it served, each time that the number has changed
  std::vector<std::uint64_t> numbers = {};  // of its contributions, if ranks change
  std::atomic<Step> newest = 0;
  Step saved = 0;
  std::function<void(Step)> at_step = {};
  std::unique_ptr<ClusterJob> running;
};

/// Returns the hash of the values at the end, when each rank is a worker of its own.
auto hash_of_single_ranks(const Job& job) -> std::string {
  IoPool pool{2};
  const ClusterSpec cluster{{"ps", {"127.0.0.1:0", "127.0.0.1:0"}},
                            {"worker", std::vector<std::string>(job.ranks, "127.0.0.1:1")}};
  Server first{pool, cluster, "ps", 0};
  Server second{pool, cluster, "ps", 1};
  asio::io_context context{1};
  std::deque<loopback_job::Worker> workers;
  for (Rank rank = 0; rank < job.ranks; ++rank)
    workers.emplace_back(context, job, rank,
                         std::vector<Address>{{"127.0.0.1", first.port()}, {"127.0.0.1", second.port()}});
  support::run_until(context, [&] { return std::ranges::all_of(workers, &loopback_job::Worker::is_over); });
  return loopback_job::hash_of(workers.front().end.result);
}

}  // namespace

TEST_CASE("make_ranks_job: one process and two give the bits of six workers", "[train]") {
  const Job job = six_ranks(6);
  const std::string expected = hash_of_single_ranks(job);
  {
    DealtServers to{1};
    ServingRanks all{job, to, 0};
    const WorkerEnd end = all.run();
    CHECK(end.code == 0);
    CHECK(loopback_job::hash_of(end.result) == expected);
    CHECK(all.story == " started 0 1 2 3 4 5 6");
    CHECK(all.losses == std::vector<float>{100, 200, 300, 400, 500, 600});
    CHECK(all.saved == 6);
    CHECK(all.served == std::vector<std::size_t>{1, 6});  // rank 0 from the start
    for (const auto& server : to.servers) CHECK(server->join() == 0);
  }
  DealtServers to{2};
  ServingRanks chief{job, to, 0};
  ServingRanks other{job, to, 1};
  WorkerEnd other_end;
  std::thread runs{[&] { other_end = other.run(); }};
  const WorkerEnd end = chief.run();
  runs.join();
  CHECK(end.code == 0);
  CHECK(other_end.code == 0);
  CHECK(loopback_job::hash_of(end.result) == expected);
  CHECK(chief.ranks.size() + other.ranks.size() >= 6);
  CHECK(other.ranks.size() <= 3);
  CHECK(other.served == std::vector<std::size_t>{3});
}

TEST_CASE("make_ranks_job: a process that leaves and one that comes change no bit", "[train]") {
  const Job job = six_ranks(60);
  const std::string expected = hash_of_single_ranks(job);
  DealtServers to{3};
  ServingRanks chief{job, to, 0};
  ServingRanks leaves{job, to, 1};
  ServingRanks comes{job, to, 2};
  WorkerEnd left;
  WorkerEnd came;
  std::atomic<bool> has_left = false;
  // The chief waits in step 20 until the second process has left; then the third one comes.
  chief.at_step = [&](Step step) {
    while (step == 20 && !has_left) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  };
  leaves.at_step = [&](Step step) {
    if (step == 10) leaves.running->stop();
  };
  std::thread first{[&] {
    left = leaves.run();
    has_left = true;
  }};
  std::thread second{[&] {
    while (!has_left) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    came = comes.run();
  }};
  const WorkerEnd end = chief.run();
  first.join();
  second.join();
  CHECK(end.code == 0);
  CHECK(left.code == 1);
  CHECK(came.code == 0);
  CHECK(leaves.newest >= 10);
  CHECK(loopback_job::hash_of(end.result) == expected);
}

TEST_CASE("make_ranks_job: a process pushes the sum of its ranks, or each rank alone", "[train]") {
  const Job job = six_ranks(20);
  const std::string expected = hash_of_single_ranks(job);
  for (const bool sums : {true, false}) {
    CAPTURE(sums);
    DealtServers to{1};
    ServingRanks all{job, to, 0, sums};
    std::uint64_t pushes = 0;
    all.at_step = [&](Step step) {
      if (step == 20 && pushes == 0) pushes = ask_status(to.addresses[0]).front().pushes;
    };
    const WorkerEnd end = all.run();
    CHECK(end.code == 0);
    CHECK(loopback_job::hash_of(end.result) == expected);
    if (sums) CHECK(pushes < 40);  // 19, and a few of rank 0 alone, before the other ranks are dealt
    else CHECK(pushes >= 19 * 6);
  }
}

TEST_CASE("make_ranks_job: another number of ranks is refused with the reason", "[train]") {
  DealtServers to{1, 7};
  ServingRanks process{six_ranks(6), to, 0};
  const WorkerEnd end = process.run();
  CHECK(end.code == 65);
  CHECK(end.why.code == ps_errc::other_ranks);
}

TEST_CASE("make_ranks_job: an exception from a callback is thrown by next or make", "[train]") {
  DealtServers to{1};
  ServingRanks process{six_ranks(6), to, 0};
  process.at_step = [](Step) { throw std::runtime_error("no gradients today"); };
  CHECK_THROWS_WITH(process.run(), "no gradients today");
}

namespace {

/// Returns the hash of the values at the end of a job in one process that has these changes.
auto hash_of_changed_ranks(const Job& job, const std::vector<RankEntry>& changes) -> std::string {
  std::unique_ptr<LocalJob> local;
  LocalJobCallbacks callbacks;
  callbacks.numbered = [](Rank, Step, const RankEntry&, std::uint64_t) {};
  callbacks.step_done = [](Step, float) {};
  callbacks.cut_due = [&](Step step, const std::vector<Cut>&) {
    local->in_background([] {}, [&local, step] { local->cut_saved(step); });
  };
  Error error;
  const ShardKind kind = shard_kinds(StandardUpdaters{})(job, error);
  local = make_local_job(
      job, kind, {},
      [](Rank rank, Step step, std::span<const SharedBuffer> values,
         std::span<const std::shared_ptr<AlignedBuffer>> gradients) {
        const auto blocks = loopback_job::contribution(step, rank, {values.begin(), values.end()});
        for (std::size_t i = 0; i < blocks.size(); ++i)
          std::ranges::copy(blocks[i]->bytes(), gradients[i]->bytes().begin());
        return 0.0F;
      },
      std::move(callbacks), nullptr, {}, ComputeOn::pool, changes);
  while (local->next()) local->make();
  return loopback_job::hash_of(local->values({}));
}

}  // namespace

TEST_CASE("make_ranks_job: ranks that change give the bits of one process that has the same log", "[train]") {
  Job job = loopback_job::make(2, 2, 40);
  job.reduction = ReductionOrder::tree;
  job.most_ranks = 6;
  const std::vector<RankEntry> changes{{12, 1, {0, 1, 3, 5}, {1, 2, 8}}, {24, 2, {0, 4}, {2, 0.75, 5}}};
  const std::string expected = hash_of_changed_ranks(job, changes);
  CHECK(expected != hash_of_changed_ranks(job, {}));
  CHECK(expected != hash_of_changed_ranks(job, {{12, 1, {0, 1, 3, 5}}, {24, 2, {0, 4}}}));  // the rate counts

  DealtServers to{2, 2};
  ServingRanks chief{job, to, 0};
  ServingRanks other{job, to, 1};
  std::vector<ScaledRanks> asked;
  chief.at_step = [&](Step step) {
    if (step != 3 || !asked.empty()) return;
    for (const RankEntry& change : changes) asked.push_back(scale_ranks(to.addresses, change));
  };
  WorkerEnd other_end;
  std::thread runs{[&] { other_end = other.run(); }};
  const WorkerEnd end = chief.run();
  runs.join();
  CHECK(end.code == 0);
  CHECK(other_end.code == 0);
  REQUIRE(asked.size() == 2);
  CHECK(asked[0].taken == 2);
  CHECK(asked[1].taken == 2);
  CHECK(loopback_job::hash_of(end.result) == expected);
  std::vector<std::uint64_t> numbers = chief.numbers;
  numbers.insert(numbers.end(), other.numbers.begin(), other.numbers.end());
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());  // a rank may be made by both
  const std::uint64_t contributions = 11 * 2 + 12 * 4 + 17 * 2;
  CHECK(numbers.size() == contributions);
  CHECK(numbers.back() == contributions - 1);
}

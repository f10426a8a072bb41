// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/server/shard_meter.hpp>

#include "support/catch.hpp"

#include <distrib/optimizer/updater_list.hpp>
#include <distrib/ps/job/reduction_order.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using distrib::Instant;
using distrib::Job;
using distrib::ShardIdentity;
using distrib::ShardMeter;
using distrib::ShardStatus;

namespace {

/// Variables "v0", "v1", ... of 16 elements, each in two parts, all on one shard.
auto metered_job(std::size_t variables, distrib::Rank ranks) -> Job {
  Job job;
  job.ranks = ranks;
  job.total_steps = 100;
  job.cut_interval = 4;
  job.updater = "sgd learning_rate=1";
  job.updaters_of = {{"v1", "momentum learning_rate=1 momentum=0.5 use_nesterov=false"}};
  job.consistency = distrib::BulkSynchronousParallel{};
  job.arithmetic = "my library 1";
  for (std::size_t v = 0; v < variables; ++v) {
    job.variables.push_back({"v" + std::to_string(v), distrib::DType::float32, {16}, distrib::ZerosInitializer{}});
    job.parts.push_back({v, distrib::Slice::along({16}, 0, 0, 8), 0});
    job.parts.push_back({v, distrib::Slice::along({16}, 0, 8, 8), 0});
  }
  return job;
}

/// Ignores the actions of a core.
struct Nobody final : distrib::ShardSink {
  void operator()(distrib::JoinedReply) override {}
  void operator()(distrib::NoticeReply) override {}
  void operator()(distrib::ValuesReply) override {}
  void operator()(distrib::GoneReply) override {}
  void operator()(distrib::PushedReply) override {}
  void operator()(distrib::RefusedReply) override {}
  void operator()(distrib::CopyCut) override {}
  void operator()(distrib::SaveCut) override {}
  void operator()(distrib::LoadCut) override {}
  void operator()(distrib::DropCut) override {}
  void operator()(distrib::SendState) override {}
  void operator()(distrib::ShardDone) override {}
};

struct MeterBench {
  explicit MeterBench(Job of) : job{std::move(of)} {
    distrib::Error error;
    kind = distrib::shard_kinds(distrib::StandardUpdaters{})(*job, error);
    REQUIRE_FALSE(error);
    core = distrib::make_shard(*job, 0, kind, {}, nullptr);
    meter.opened(*job);
  }
  [[nodiscard]] auto status() const -> ShardStatus { return meter.describe({}, job, kind, core.get(), began + 2s); }

  Instant began{1h};
  std::optional<Job> job;
  distrib::ShardKind kind;
  std::unique_ptr<distrib::AnyShard> core;
  ShardMeter meter{began};
};

}  // namespace

TEST_CASE("ShardMeter: describes a shard without a job, and one whose cuts are being read", "[ps]") {
  const Instant began{1h};
  const ShardMeter meter{began};
  const ShardIdentity identity{.task = 3, .shard = 1, .tasks = 4, .ranks = 5};
  ShardStatus expected;
  expected.task = 3;
  expected.shard = 1;
  expected.tasks = 4;
  expected.ranks = 5;
  CHECK(meter.describe(identity, {}, {}, nullptr, began - 1s) == expected);  // a time before the start counts as 0
  expected.uptime = 1s;
  CHECK(meter.describe(identity, {}, {}, nullptr, began + 1s + 999us) == expected);
  const ShardStatus known = meter.describe(identity, metered_job(1, 5), {}, nullptr, began);
  CHECK(known.shards == 1);
  CHECK(known.total_steps == 100);
  CHECK(known.arithmetic == "my library 1");
  CHECK_FALSE(known.open);
  CHECK(known.of_ranks.empty());
}

TEST_CASE("ShardMeter: reports the bytes of values and slots, and variables with several parts", "[ps]") {
  const MeterBench bench{metered_job(2, 1)};
  const ShardStatus status = bench.status();
  CHECK(status.open);
  CHECK(status.uptime == 2s);
  CHECK(status.value_bytes == 256);  // four parts, each at a multiple of 64
  CHECK(status.slot_bytes == 128);  // momentum has one slot
  CHECK(status.variables == 2);
  CHECK(status.of_variables == std::vector<distrib::ShardStatus::VariableStatus>{{"v0", 64}, {"v1", 64}});
}

TEST_CASE("ShardMeter: the list of variables is bounded, counts are not, and all ranks are described", "[ps]") {
  constexpr auto most = ShardStatus::most_listed;
  const MeterBench bench{metered_job(most + 2, static_cast<distrib::Rank>(most + 1))};
  const ShardStatus status = bench.status();
  CHECK(status.variables == most + 2);
  CHECK(status.of_variables.size() == most);
  CHECK(status.of_ranks.size() == most + 1);
}

TEST_CASE("ShardMeter: reports how far each rank is", "[ps]") {
  MeterBench bench{metered_job(1, 3)};  // the window is 8 steps
  bench.meter.pushed(0, 3, 0, 100);
  bench.meter.pushed(0, 2, 0, 10);  // arrived late
  bench.meter.pushed(1, 8, 0, 1);
  bench.meter.pushed(1, 9, 0, 1);  // beyond the window
  bench.meter.pushed(9, 1, 0, 1);  // an unknown rank
  bench.meter.pulled(1000, {});
  ShardStatus status = bench.status();
  CHECK(status.of_ranks == std::vector<distrib::ShardStatus::RankStatus>{{0, false, 3}, {1, false, 8}, {2, false, 0}});
  CHECK(status.staleness == 8);
  CHECK(status.pushes == 5);
  CHECK(status.pushed_bytes == 113);
  CHECK(status.pulls == 1);
  CHECK(status.pulled_bytes == 1000);
  CHECK_FALSE(bench.meter.has_answered());  // no times were reported
  CHECK(status.push_times.count() == 0);
  bench.meter.opened(*bench.job);
  status = bench.status();
  CHECK(status.staleness == 0);
  CHECK(status.pushes == 5);
}

TEST_CASE("ShardMeter: measures from the arrival of a call to the end of the event that answered it", "[ps]") {
  MeterBench bench{metered_job(1, 2)};
  ShardMeter& meter = bench.meter;
  const Instant came = bench.began + 1s;
  meter.arrived(came);
  const Instant pull_came = meter.arrived();  // kept by the caller while the pull waits
  CHECK_FALSE(meter.has_answered());
  meter.arrived(came + 5ms);
  meter.pushed(0, 1, 0, 100);
  CHECK(meter.has_answered());
  meter.answered(came + 7ms);
  CHECK_FALSE(meter.has_answered());
  meter.arrived(came + 10ms);
  meter.pushed(1, 1, 0, 100);
  meter.pulled(8, pull_came);
  meter.pulled(8, meter.arrived());
  meter.answered(came + 20ms);
  const ShardStatus status = bench.status();
  CHECK(status.push_times.count() == 2);
  CHECK(status.push_times.sum() == 12ms);
  CHECK(status.push_times.max() == 10ms);
  CHECK(status.pull_times.count() == 2);
  CHECK(status.pull_times.sum() == 30ms);
  CHECK(status.pull_times.max() == 20ms);
  meter.answered(came + 1h);  // nothing was answered
  CHECK(bench.status() == status);
}

TEST_CASE("ShardMeter: counts which rank was the last, and how long a step waited for it alone", "[ps]") {
  MeterBench bench{metered_job(1, 3)};
  ShardMeter& meter = bench.meter;
  const auto rank = [&bench](distrib::Rank number) { return bench.status().of_ranks.at(number); };
  const auto push = [&](distrib::RankBlock ranks, distrib::Step step, std::chrono::milliseconds at) {
    meter.arrived(bench.began + at);
    meter.pushed(ranks, step, step - 1, 1);
  };
  push(0, 1, 100ms);
  push(2, 1, 110ms);
  push(0, 1, 150ms);  // came again: it does not count
  push(1, 1, 510ms);
  meter.completed(1, 1);
  meter.answered(bench.began + 530ms);
  CHECK(rank(1).was_last == 1);
  CHECK(rank(1).waited == 400ms);
  CHECK(rank(0).was_last + rank(2).was_last == 0);
  ShardStatus status = bench.status();
  CHECK(status.completions == 1);
  CHECK(status.completion_time == 20ms);

  push({0, 1}, 2, 600ms);  // the sum of the ranks 0 and 1
  push(2, 2, 605ms);
  meter.completed(2, 2);
  push(2, 3, 700ms);
  push({0, 1}, 3, 1700ms);  // counts as its first rank
  meter.completed({0, 1}, 3);
  CHECK(rank(2).waited == 5ms);
  CHECK(rank(0).was_last == 1);
  CHECK(rank(0).waited == 1s);
  CHECK(rank(1).was_last == 1);

  meter.opened(*bench.job);  // the shard goes back: what was counted stays
  CHECK(rank(0).waited == 1s);
  CHECK(rank(1).last == 0);
  push(1, 1, 1800ms);
  meter.pushed(1, 2, 0, 1);  // is sent again, for a later step: nothing is known of who waited for it
  push(0, 1, 1900ms);
  push(2, 1, 2000ms);
  meter.completed(2, 1);
  CHECK(rank(2).waited == 105ms);
  push(2, 2, 9s);
  meter.completed(2, 2);
  CHECK(rank(2).waited == 105ms);
  CHECK(bench.status().completions == 5);
}

TEST_CASE("ShardMeter: one rank waits for nobody, and without times only the last rank is known", "[ps]") {
  MeterBench alone{metered_job(1, 1)};
  alone.meter.pushed(0, 1, 0, 1);
  alone.meter.completed(0, 1);
  CHECK(alone.status().of_ranks.at(0).was_last == 0);
  MeterBench two{metered_job(1, 2)};
  two.meter.pushed(0, 1, 0, 1);
  two.meter.pushed(1, 1, 0, 1);
  two.meter.completed(1, 1);
  CHECK(two.status().of_ranks.at(1).was_last == 1);
  CHECK(two.status().of_ranks.at(1).waited == 0s);
  CHECK(two.status().waits_for == 0s);
}

TEST_CASE("ShardMeter: reports how long nothing has come for a step that was begun", "[ps]") {
  MeterBench bench{metered_job(1, 3)};
  CHECK(bench.status().waits_for == 0s);
  bench.meter.arrived(bench.began + 500ms);
  bench.meter.pushed(1, 1, 0, 1);
  CHECK(bench.status().waits_for == 1500ms);  // the status is of 2 s after the start
  bench.meter.opened(*bench.job);
  CHECK(bench.status().waits_for == 0s);
}

TEST_CASE("ShardMeter: reports the bytes that wait, and the most that have waited", "[ps]") {
  for (const bool tree : {false, true}) {
    Job job = metered_job(1, 8);
    if (tree) job.reduction = distrib::ReductionOrder::tree;
    const MeterBench bench{job};
    Nobody nobody;
    const std::size_t size = 2 * 64;
    const auto push = [&](distrib::Rank rank) {
      bench.core->push(1, {1, rank, std::make_shared<distrib::AlignedBuffer>(size)}, nobody);
    };
    for (const distrib::Rank rank : {0U, 1U, 2U, 4U}) push(rank);
    CHECK(bench.status().waiting_bytes == (tree ? 3 : 4) * size);  // 0 + 1, 2, 4
    for (const distrib::Rank rank : {3U, 5U, 6U, 7U}) push(rank);
    CHECK(bench.status().step == 1);
    CHECK(bench.status().waiting_bytes == 0);
    CHECK(bench.status().most_waiting_bytes == (tree ? 3 : 8) * size);
  }
}

TEST_CASE("ShardMeter: reports whether the shard waits for custom initial values", "[ps]") {
  Job job = metered_job(1, 1);
  CHECK_FALSE(MeterBench{job}.status().no_values);
  const distrib::AlignedBuffer values{2 * 8 * sizeof(float)};
  job.variables[0].initializer = distrib::CustomInitializer{distrib::sha256(values.bytes())};
  job.initial_blocks = {distrib::sha256(values.bytes())};
  const distrib::Consistency modes[] = {distrib::BulkSynchronousParallel{}, distrib::AsynchronousParallel{}};
  for (const distrib::Consistency mode : modes) {
    job.consistency = mode;
    const ShardStatus status = MeterBench{job}.status();
    CHECK(status.open);
    CHECK(status.no_values);
  }
}

TEST_CASE("ShardMeter: with backup workers it reports what counted and what arrived too late", "[ps]") {
  Job job = metered_job(1, 3);
  job.consistency = distrib::BulkSynchronousParallel{.replicas_to_aggregate = 2};
  MeterBench bench{job};
  Nobody nobody;
  for (const distrib::Rank rank : {2U, 0U, 1U})
    bench.core->push(rank, {1, rank, std::make_shared<distrib::AlignedBuffer>(128)}, nobody);
  const ShardStatus status = bench.status();
  CHECK(status.step == 1);
  CHECK(status.contributions == 2);
  CHECK(status.stale == 1);
}

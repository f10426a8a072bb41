// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/job/make_local_job.hpp>

#include <distrib/optimizer/reduce.hpp>
#include <distrib/ps/store/dense_store.hpp>

#include "support/catch.hpp"
#include "train/small_job.hpp"

#include <future>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace {
// Trains the same job in a plain loop. Every other way to run it must end with the same bits.
auto by_hand(const distrib::Job& whole_job) -> small_job::Whole {
  distrib::Job job = whole_job;
  const distrib::ShardLayout layout{job, 0};
  distrib::DenseStore store{layout, {small_job::updater()}, distrib::initial_values(job, layout)};
  const auto contribute = small_job::contribute(job);
  distrib::AlignedBuffer mean{layout.block_bytes()};
  for (distrib::Step step = 1; step <= job.total_steps; ++step) {
    std::vector<std::shared_ptr<distrib::AlignedBuffer>> blocks;
    std::vector<std::span<const float>> spans;
    for (distrib::Rank rank = 0; rank < job.ranks; ++rank) {
      blocks.push_back(std::make_shared<distrib::AlignedBuffer>(layout.block_bytes()));
      const distrib::SharedBuffer values = store.values();
      contribute(rank, step, std::span{&values, 1}, std::span{&blocks.back(), 1});
      spans.push_back(blocks.back()->as<float>());
    }
    distrib::reduce_mean(spans, mean.as<float>());
    const distrib::ByteView contribution = mean.bytes();
    store.apply(step, std::span{&contribution, 1});
  }
  const distrib::SharedBuffer values = store.values();
  return small_job::whole(job, std::span{&values, 1});
}
}  // namespace

TEST_CASE("LocalJob: with any number of shards, parts and threads the result has the bits of a plain loop", "[train]") {
  const auto expected = by_hand(small_job::make({}));
  distrib::IoPool pool{2};
  for (const std::uint32_t shards : {1U, 2U, 3U})
    for (const std::int64_t parts : {1, 2, 3})
      for (distrib::IoPool* threads : {static_cast<distrib::IoPool*>(nullptr), &pool}) {
        CAPTURE(shards, parts, threads != nullptr);
        small_job::Told told;
        const auto job = small_job::make({.shards = shards, .parts = parts});
        CHECK(small_job::run(job, threads, told) == expected);
        std::vector<distrib::Step> steps(20);
        std::iota(steps.begin(), steps.end(), 1U);
        CHECK(told.steps == steps);
        CHECK(told.cuts.size() == 4);
        CHECK(told.cuts.rbegin()->first == 20);
      }
}

TEST_CASE("LocalJob: stopped and continued from its cut, it ends with the same bits", "[train]") {
  const auto job = small_job::make({.shards = 2, .parts = 2});
  const auto expected = by_hand(small_job::make({}));
  distrib::IoPool pool{2};
  for (distrib::Step stop = 1; stop < 20; ++stop) {
    CAPTURE(stop);
    small_job::Told first, second;
    small_job::run(job, &pool, first, {}, stop);
    const distrib::Step reached = first.steps.back();
    REQUIRE(reached >= stop);
    REQUIRE(first.cuts.contains(reached));
    CHECK(small_job::run(job, &pool, second, first.cuts.at(reached)) == expected);
  }
}

TEST_CASE("LocalJob: a job that is already complete ends at once", "[train]") {
  const auto job = small_job::make({});
  small_job::Told first, second;
  const auto expected = small_job::run(job, nullptr, first);
  CHECK(small_job::run(job, nullptr, second, first.cuts.at(20)) == expected);
  CHECK(second.steps.empty());
}

TEST_CASE("LocalJob: asynchronous: every contribution counts once, and each is a step", "[train]") {
  distrib::IoPool pool{3};
  for (const std::uint32_t shards : {1U, 2U}) {
    const distrib::Consistency modes[] = {distrib::AsynchronousParallel{},
                                          distrib::StaleSynchronousParallel{.staleness = 0}};
    for (const distrib::Consistency mode : modes) {
      CAPTURE(shards, mode.mode());
      const auto job = small_job::make({.shards = shards, .steps = 50, .interval = 10, .consistency = mode});
      small_job::Told told;
      small_job::run(job, &pool, told);
      CHECK(told.steps.size() == 50);
      CHECK(told.steps.back() == 50);
      REQUIRE(told.cuts.contains(50));
      for (const distrib::Cut& cut : told.cuts.at(50)) CHECK(cut.applied == std::vector<distrib::Step>{17, 17, 16});
    }
  }
}

TEST_CASE("LocalJob: asynchronous: stopped and continued, no contribution counts twice", "[train]") {
  distrib::IoPool pool{3};
  const auto job =
      small_job::make({.shards = 2, .steps = 60, .interval = 7, .consistency = distrib::AsynchronousParallel{}});
  small_job::Told first, second;
  small_job::run(job, &pool, first, {}, 20);
  const distrib::Step reached = first.steps.back();
  REQUIRE(first.cuts.contains(reached));
  small_job::run(job, &pool, second, first.cuts.at(reached));
  CHECK(second.steps.front() == reached + 1);
  CHECK(second.steps.back() == 60);
  CHECK(second.steps.size() == 60 - reached);
}

TEST_CASE("LocalJob: an exception from a contribution ends the job and is thrown by run()", "[train]") {
  distrib::IoPool pool{2};
  const auto job = small_job::make({});
  for (distrib::IoPool* threads : {static_cast<distrib::IoPool*>(nullptr), &pool}) {
    const auto local = distrib::make_local_job(
        job, small_job::kind(), {},
        [](distrib::Rank, distrib::Step, auto, auto) -> float { throw std::runtime_error{"record 7 is damaged"}; },
        {.step_done = [](distrib::Step, float) {}, .cut_due = [](distrib::Step, std::vector<distrib::Cut>) {}},
        threads);
    CHECK_THROWS_WITH(small_job::run_to_end(*local), "record 7 is damaged");
  }
}

TEST_CASE("LocalJob: with backup workers no rank waits for a late one, which continues at the step of the others",
          "[train]") {
  auto job = small_job::make({.shards = 2, .ranks = 2, .steps = 200, .interval = 50});
  job.consistency = distrib::BulkSynchronousParallel{.replicas_to_aggregate = 1};
  distrib::IoPool pool{2};
  std::promise<void> release;
  std::vector<distrib::Step> of_late;
  std::vector<distrib::Step> steps;
  std::vector<distrib::Step> cuts;
  std::unique_ptr<distrib::LocalJob> local;
  distrib::LocalJobCallbacks callbacks;
  callbacks.step_done = [&](distrib::Step step, float loss) {
    steps.push_back(step);
    CHECK(loss > 0);
    if (step == 5) release.set_value();
    // The pool gives tasks to its threads in turn. An extra task between two steps keeps the tasks of the other rank
    // away from the thread on which the late rank waits.
    if (step < 5) local->in_background([] {}, [] {});
  };
  callbacks.cut_due = [&](distrib::Step step, const std::vector<distrib::Cut>& of_shards) {
    cuts.push_back(step);
    CHECK(of_shards.size() == 2);
    local->in_background([] {}, [&, step] { local->cut_saved(step); });
  };
  auto contribute = [&, make = small_job::contribute(job)](distrib::Rank rank, distrib::Step step, auto values,
                                                           auto gradients) {
    if (rank == 1) {
      of_late.push_back(step);
      if (step == 1) release.get_future().wait();
    }
    return make(rank, step, values, gradients);
  };
  local = distrib::make_local_job(job, small_job::kind(), {}, contribute, std::move(callbacks), &pool);
  small_job::run_to_end(*local);
  std::vector<distrib::Step> all(200);
  std::iota(all.begin(), all.end(), 1U);
  CHECK(steps == all);
  CHECK(cuts == std::vector<distrib::Step>{50, 100, 150, 200});
  CHECK(of_late.front() == 1);
  CHECK((of_late.size() == 1 || of_late[1] > 5));
  CHECK(std::is_sorted(of_late.begin(), of_late.end()));
}

TEST_CASE("LocalJob: a gradient that is not finite ends the job if the job checks numerics", "[train]") {
  distrib::IoPool pool{2};
  for (const bool strict : {true, false})
    for (distrib::IoPool* threads : {static_cast<distrib::IoPool*>(nullptr), &pool}) {
      CAPTURE(strict, threads != nullptr);
      auto job = small_job::make({.shards = 2});  // "w" is on the first, "b" on the second
      job.check_numerics = strict;
      distrib::Step last = 0;
      std::unique_ptr<distrib::LocalJob> local;
      local = distrib::make_local_job(
          job, small_job::kind(), {},
          [contribute = small_job::contribute(job)](distrib::Rank rank, distrib::Step step, auto values,
                                                    auto gradients) {
            const float loss = contribute(rank, step, values, gradients);
            if (step == 4 && rank == 2) gradients[1]->template as<float>()[3] = -std::numeric_limits<float>::infinity();
            return loss;
          },
          {.step_done = [&](distrib::Step step, float) { last = step; },
           .cut_due =
               [&](distrib::Step step, std::vector<distrib::Cut>) {
                 local->in_background([] {}, [&, step] { local->cut_saved(step); });
               }},
          threads);
      if (!strict) {
        small_job::run_to_end(*local);
        CHECK(last == job.total_steps);
        continue;
      }
      try {
        small_job::run_to_end(*local);
        FAIL("a gradient that is not finite was counted");
      } catch (const std::system_error& error) {
        CHECK(error.code() == distrib::ps_errc::not_finite);
        CHECK_THAT(error.what(), ContainsSubstring("step 4 of rank 2, b: "));
      }
      CHECK(last == 3);
    }
}

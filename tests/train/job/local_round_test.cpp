// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/job/local_round.hpp>

#include <distrib/optimizer/adagrad.hpp>
#include <distrib/optimizer/adamw.hpp>
#include <distrib/optimizer/learning_rate.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/optimizer/updater.hpp>

#include "optimizer/reference.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t round_floats = 15;

auto round_job() -> distrib::Job {
  distrib::Job job;
  job.variables = {{"w", distrib::DType::float32, {5, 3}, {}},
                   {"seen", distrib::DType::int64, {2}, {}},
                   {"total", distrib::DType::float64, {1}, {}},
                   {"none", distrib::DType::float32, {0}, {}}};
  return job;
}

/// Values, a worker's own copy, gradients and a contribution of the job.
struct RoundOf {
  explicit RoundOf(const distrib::AnyUpdater& updater) : round{job, {updater, updater, updater, updater}} {
    const auto begin = reference::numbers(round_floats, 9);
    std::ranges::copy(begin, reinterpret_cast<float*>(values.data(0)));
    *reinterpret_cast<std::int64_t*>(values.data(1)) = std::numeric_limits<std::int64_t>::max();
    *reinterpret_cast<double*>(values.data(2)) = 0.3;
  }

  /// Makes `count` local steps after `before` others, with gradients that depend on their numbers. Returns what it
  /// contributes for w.
  auto run(distrib::Step before, std::uint32_t count) -> std::vector<float> {
    round.begin(before, std::as_const(values), own);
    for (std::uint32_t i = 1; i <= count; ++i) {
      gradients.zero();
      std::ranges::copy(gradient(before + i), reinterpret_cast<float*>(gradients.data(0)));
      *reinterpret_cast<std::int64_t*>(gradients.data(1)) = 2;
      *reinterpret_cast<double*>(gradients.data(2)) = 0.1;
      round.step(gradients, own);
    }
    round.end(std::as_const(values), std::as_const(own), gradients);
    const auto* w = reinterpret_cast<const float*>(gradients.data(0));
    return {w, w + round_floats};
  }

  static auto gradient(distrib::Step number) -> std::vector<float> {
    return reference::numbers(round_floats, static_cast<std::uint32_t>(number));
  }

  distrib::Job job = round_job();
  distrib::RuntimeValues values{distrib::RuntimeVariables{job.variables, {}}};
  distrib::RuntimeValues own{distrib::RuntimeVariables{job.variables, {}}};
  distrib::RuntimeGradients gradients{distrib::RuntimeVariables{job.variables, {}}};
  distrib::LocalRound round;
};

/// The same for w, as a plain loop: an updater of known type, slots made anew.
template <class U> auto plain_round(const U& updater, distrib::Step before, std::uint32_t count) -> std::vector<float> {
  const std::vector<float> from = reference::numbers(round_floats, 9);
  std::vector<float> to = from;
  std::vector<std::vector<float>> slots;
  std::vector<std::span<float>> blocks;
  for (const distrib::Slot& slot : updater.slots()) slots.emplace_back(round_floats, slot.initial);
  for (auto& slot : slots) blocks.emplace_back(slot);
  for (std::uint32_t i = 1; i <= count; ++i)
    updater.apply({.count = before + i, .before_slots = before}, RoundOf::gradient(before + i), to, to, blocks);
  std::vector<float> change;
  for (std::size_t i = 0; i < round_floats; ++i) change.push_back(reference::minus(from[i], to[i]));
  return change;
}

template <class U> void check_rounds(const U& updater) {
  CAPTURE(updater.describe());
  RoundOf of{updater};
  const auto first = of.run(0, 4);
  CHECK(first == plain_round(updater, 0, 4));
  // A later round begins with new slots, and goes on with the schedule.
  const auto third = of.run(8, 4);
  CHECK(third == plain_round(updater, 8, 4));
  CHECK(RoundOf{updater}.run(8, 4) == third);
  CHECK(of.run(0, 4) == first);
  CHECK(of.run(8, 1) == plain_round(updater, 8, 1));
}

}  // namespace

TEST_CASE("LocalRound: a contribution is what a plain loop of the updater changes, whatever was made before it",
          "[train]") {
  const distrib::LearningRate falls = distrib::Linear{.first = 0.1F, .last = 0.01F, .steps = 10};
  check_rounds(distrib::Momentum{.learning_rate = falls, .momentum = 0.9F});
  check_rounds(distrib::Momentum{.learning_rate = 0.1F, .momentum = 0.9F, .dampening = 0.5F});
  check_rounds(distrib::AdamW{.learning_rate = falls});
  check_rounds(distrib::Adagrad{.learning_rate = 0.1F});  // its slot begins with 0.1
}

TEST_CASE("LocalRound: counters get their amounts at each local step, and contribute the sum", "[train]") {
  RoundOf of{distrib::Sgd{}};
  of.run(0, 3);
  of.run(3, 3);
  CHECK(*reinterpret_cast<const std::int64_t*>(of.gradients.data(1)) == 6);
  CHECK(*reinterpret_cast<const double*>(of.gradients.data(2)) == 0.1 + 0.1 + 0.1);
  // modulo 2^64
  CHECK(*reinterpret_cast<const std::int64_t*>(std::as_const(of.own).data(1)) ==
        std::numeric_limits<std::int64_t>::min() + 5);
  CHECK(*reinterpret_cast<const double*>(std::as_const(of.own).data(2)) == 0.3 + 0.1 + 0.1 + 0.1);
  CHECK(*reinterpret_cast<const std::int64_t*>(std::as_const(of.values).data(1)) ==
        std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("LocalRound: each variable has its own updater", "[train]") {
  distrib::Job job;
  job.variables = {{"a", distrib::DType::float32, {2}, {}}, {"b", distrib::DType::float32, {2}, {}}};
  distrib::RuntimeValues values{distrib::RuntimeVariables{job.variables, {}}};
  distrib::RuntimeValues own{distrib::RuntimeVariables{job.variables, {}}};
  distrib::RuntimeGradients gradients{distrib::RuntimeVariables{job.variables, {}}};
  distrib::LocalRound round{job, {distrib::Sgd{.learning_rate = 0.5F}, distrib::Sgd{.learning_rate = 1.0F}}};
  const std::array ones{1.0F, 1.0F};
  round.begin(0, std::as_const(values), own);
  for (int i = 0; i < 2; ++i) {
    for (std::size_t v : {0U, 1U}) std::ranges::copy(ones, reinterpret_cast<float*>(gradients.data(v)));
    round.step(gradients, own);
  }
  round.end(std::as_const(values), std::as_const(own), gradients);
  CHECK(reinterpret_cast<const float*>(gradients.data(0))[1] == 1.0F);
  CHECK(reinterpret_cast<const float*>(gradients.data(1))[0] == 2.0F);
}

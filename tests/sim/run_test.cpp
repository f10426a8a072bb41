// SPDX-License-Identifier: Apache-2.0
#include <distrib/sim/run.hpp>

#include <distrib/core/variables.hpp>
#include <distrib/optimizer/adam.hpp>
#include <distrib/ps/consistency.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"
#include "train/table_model.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

using namespace distrib;

namespace {

#ifdef NDEBUG
constexpr std::uint64_t seeds = 200;
#else
constexpr std::uint64_t seeds = 20;
#endif

/// Counts contributions in a variable of its own. When the weights stand still, so that no timing reaches them, the end
/// of an asynchronous job says whether each was counted once.
struct CountedLine : LineModel {
  using Variables = VariableList<Variable<"weights", float, 1>, Variable<"bias", float, 0>, Variable<"seen", std::int64_t, 1>>;

  auto variables() const -> Variables { return {{{2}, UniformInitializer{-1, 1}}, {{}}, {{1}}}; }
  auto gradients(const Batch<Example>& batch, const Values<Variables>&, Gradients<Variables>& gradients, StepContext) const
      -> float {
    get<"seen">(gradients)(0) += static_cast<std::int64_t>(batch.size());
    return 0;
  }
};

/// Keeps something from one call to the next, and so is no function of its arguments.
struct ForgetfulLine : LineModel {
  auto gradients(const Batch<Example>& batch, const Values<Variables>& values, Gradients<Variables>& gradients,
                 StepContext context) const -> float {
    static int calls = 0;
    const float loss = LineModel::gradients(batch, values, gradients, context);
    get<"bias">(gradients)() *= 1.0F + 0.001F * static_cast<float>(++calls % 50);
    return loss;
  }
};

template <class Builder>
auto local_sha256(const Builder& builder) -> std::string {
  auto trainer = builder.build();
  CHECK(trainer.run() == 0);
  return trainer.result().parameters_sha256;
}

/// What came of all seeds together.
struct Sum {
  unsigned deaths = 0, resets = 0, refused_cuts = 0;
  std::uint64_t again = 0;  // contributions computed again
};

/// Runs seeds until three were wrong. `contributions`: that are to be counted.
template <class Builder>
auto check_seeds(const Builder& builder, const std::string& directory, const std::string& expected,
                 std::uint64_t contributions) -> Sum {
  Sum sum;
  unsigned wrong = 0;
  for (std::uint64_t seed = 0; seed < seeds && wrong < 3; ++seed) {
    const sim::Outcome outcome = sim::run(builder, {.seed = seed, .directory = directory});
    sum.deaths += outcome.deaths;
    sum.resets += outcome.resets;
    sum.refused_cuts += outcome.refused_cuts;
    sum.again += outcome.computed - std::min(outcome.computed, contributions);
    const bool same = expected.empty() || outcome.parameters_sha256 == expected;
    if (outcome.wrong.empty() && same && outcome.contributions == contributions) continue;
    ++wrong;
    CAPTURE(seed);
    CHECK(outcome.wrong == "");
    CHECK(same);
    CHECK(outcome.contributions == contributions);
  }
  CHECK(wrong == 0);
  CHECK(sum.deaths > seeds);
  CHECK(sum.resets > seeds);
  return sum;
}

}  // namespace

TEST_CASE("A trainer ends with the bits of local mode in a simulated cluster, whatever fails", "[sim]") {
  const support::TempDirectory folder;
  const auto builder =
      line_job::builder(line_model::write(folder.path()), {.workers = 3, .shards = 2, .parts = 2, .steps = 20});
  const Sum sum = check_seeds(builder, folder.path().string(), local_sha256(builder), 60);
  CHECK(sum.refused_cuts > 0);
  CHECK(sum.again > 0);
}

TEST_CASE("A trainer with embeddings ends with the bits of local mode in a simulated cluster", "[sim]") {
  const support::TempDirectory folder;
  const auto builder = table_model::builder(table_model::write(folder.path()), 3, 1, 20);
  check_seeds(builder, folder.path().string(), local_sha256(builder), 60);
}

TEST_CASE("A trainer that saves checkpoints ends with the same bits in a simulated cluster", "[sim]") {
  const support::TempDirectory folder;
  const auto plain = line_job::builder(line_model::write(folder.path()), {.workers = 2, .shards = 1, .parts = 1, .steps = 24});
  const auto saves = plain.with_hooks(SaveCheckpoint{.directory = "elsewhere", .every_steps = 4, .max_to_keep = 2});
  check_seeds(saves.with_updater(Adam{}), folder.path().string(), local_sha256(plain.with_updater(Adam{})), 48);
}

TEST_CASE("Every contribution of an asynchronous trainer is counted once in a simulated cluster", "[sim]") {
  const support::TempDirectory folder;
  const auto data = line_model::write(folder.path()).shuffle(3).batch(10);
  const auto builder = [&](Step steps) {
    return train(CountedLine{}).with_data(data).with_hooks(StopAtStep{steps}).with_local_mode({.workers = 3, .shards = 2});
  };
  const auto asynchronous = [&](Step steps) { return builder(steps).with_consistency(AsynchronousParallel{}); };
  const std::string expected = local_sha256(asynchronous(50));
  CHECK(expected != local_sha256(asynchronous(49)));
  check_seeds(asynchronous(50), folder.path().string(), expected, 50);
  check_seeds(builder(50).with_consistency(StaleSynchronousParallel{.staleness = 2}), folder.path().string(), expected, 50);
}

TEST_CASE("A model that is no function of its arguments is found in a simulated cluster", "[sim]") {
  const support::TempDirectory folder;
  const auto builder = train(ForgetfulLine{})
                           .with_data(line_model::write(folder.path()).batch(10))
                           .with_hooks(StopAtStep{20})
                           .with_local_mode({.workers = 3});
  unsigned told = 0, other_bits = 0;
  const std::string expected = local_sha256(builder);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const sim::Outcome outcome = sim::run(builder, {.seed = seed});
    if (!outcome.wrong.empty()) ++told;
    else if (outcome.parameters_sha256 != expected) ++other_bits;
  }
  CHECK(told + other_bits > 5);
}

TEST_CASE("A simulated run is a function of its seed, and can be followed", "[sim]") {
  const support::TempDirectory folder;
  const auto builder = line_job::builder(line_model::write(folder.path()), {.workers = 3, .shards = 2, .parts = 2, .steps = 8});
  const auto trace_of = [&](std::uint64_t seed) {
    std::string text;
    sim::Options options{.seed = seed, .directory = folder.path().string()};
    options.faults = sim::Faults{.resets = 2, .worker_deaths = 2, .ps_deaths = 2, .power_losses = 1};
    options.trace = [&](std::string_view line) { text += std::string{line} + "\n"; };
    CHECK(sim::run(builder, options).wrong == "");
    return text;
  };
  const std::string once = trace_of(7);
  CHECK(trace_of(7) == once);
  CHECK(trace_of(8) != once);
  for (const char* line : {" rank 0 starts\n", " computes step 8\n", " dies\n", " goes on from cut ", " power is lost\n",
                           " is done\n", " ends with code 0\n"}) {
    CAPTURE(once);
    CHECK(once.find(line) != std::string::npos);
  }
}

TEST_CASE("What is wrong in a simulated run is said with its seed", "[sim]") {
  const support::TempDirectory folder;
  const auto builder = line_job::builder(line_model::write(folder.path()));
  const sim::Outcome outcome = sim::run(builder, {.seed = 3, .most_events = 100});
  CHECK(outcome.wrong.starts_with("seed 3: it goes round in circles (after "));
  CHECK(outcome.parameters_sha256.empty());
  CHECK(outcome.steps == 0);
}

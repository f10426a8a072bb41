// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/variables.hpp>
#include <distrib/ps/job/consistency.hpp>

#include "sim/trainers.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"

#include <cstdint>
#include <string>

using namespace distrib;
using trainers::check_seeds;
using trainers::local_sha256;

namespace {

/// Counts the examples in a variable of its own. The weights do not change, so the result does not depend on timing,
/// and the end of an asynchronous job shows if each contribution was counted once.
struct CountedLine : LineModel {
  using Variables =
      VariableList<Variable<"weights", float, 1>, Variable<"bias", float, 0>, Variable<"seen", std::int64_t, 1>>;

  auto variables() const -> Variables { return {{{2}, UniformInitializer{-1, 1}}, {{}}, {{1}}}; }
  auto gradients(const Batch<Example>& batch, const Values<Variables>&, Gradients<Variables>& gradients,
                 StepContext) const -> float {
    get<"seen">(gradients)(0) += static_cast<std::int64_t>(batch.size());
    return 0;
  }
};

}  // namespace

TEST_CASE("Every contribution of an asynchronous trainer is counted once in a simulated cluster", "[sim][trainers]") {
  const support::TempDirectory folder;
  const auto data = line_model::write(folder.path()).shuffle(3).batch(10);
  const auto builder = [&](Step steps) {
    return train(CountedLine{})
        .with_data(data)
        .with_hooks(StopAtStep{steps})
        .with_local_mode({.workers = 3, .shards = 2});
  };
  const auto asynchronous = [&](Step steps) { return builder(steps).with_consistency(AsynchronousParallel{}); };
  const std::string expected = local_sha256(asynchronous(50));
  CHECK(expected != local_sha256(asynchronous(49)));
  check_seeds("asynchronous", asynchronous(50), folder.path().string(), expected, 50);
  check_seeds("stale synchronous", builder(50).with_consistency(StaleSynchronousParallel{.staleness = 2}),
              folder.path().string(), expected, 50);
}

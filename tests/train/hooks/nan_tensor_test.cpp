// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/hooks/nan_tensor.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"

#include <limits>
#include <string>

using distrib::NanTensor;

namespace {

/// Its loss is NaN at step 3 of rank 1.
struct LostLoss : LineModel {
  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext context) const -> float {
    const float loss = LineModel::gradients(batch, values, gradients, context);
    return context.step == 3 && context.rank == 1 ? std::numeric_limits<float>::quiet_NaN() : loss;
  }
};

template <class Data> auto builder(const Data& data, bool fails) {
  return distrib::train(LostLoss{})
      .with_data(data.shuffle(3).batch(10))
      .with_hooks(distrib::StopAtStep{1'000'000}, NanTensor{fails})
      .with_local_mode({.workers = 2});
}

}  // namespace

TEST_CASE("NanTensor: by default a NaN loss ends the job, and the error names step and worker", "[train]") {
  const support::TempDirectory directory;
  auto trainer = builder(line_model::write(directory.path()), true).build();
  CHECK_THROWS_WITH(trainer.run(), ContainsSubstring("step 3 of worker 1: NaN loss during training"));
  CHECK(trainer.result().steps == 2);  // the contribution was not sent
}

TEST_CASE("NanTensor: it can ask to stop instead; then the run ends normally", "[train]") {
  const support::TempDirectory directory;
  auto trainer = builder(line_model::write(directory.path()), false).build();
  CHECK(trainer.run() == 0);
  CHECK(trainer.result().stop_reason == "NaN loss at step 3 of worker 1");
  CHECK(trainer.result().steps < 10);
}

TEST_CASE("NanTensor: an infinite loss is no NaN", "[train]") {
  NanTensor hook;
  CHECK_NOTHROW(hook.on_contribution({.step = 1, .loss = std::numeric_limits<float>::infinity()}));
  CHECK(hook.stop_reason().empty());
}

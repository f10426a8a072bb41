// SPDX-License-Identifier: Apache-2.0
// The code about training in docs/coming-from-tensorflow.md: consistencies, accumulators, optimizers.
#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/optimizer/adagrad.hpp>
#include <distrib/optimizer/adam.hpp>
#include <distrib/optimizer/adamw.hpp>
#include <distrib/optimizer/amsgrad.hpp>
#include <distrib/optimizer/centered_rmsprop.hpp>
#include <distrib/optimizer/ftrl.hpp>
#include <distrib/optimizer/lazy_adam.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/optimizer/rmsprop.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/tf/conditional_accumulator.hpp>
#include <distrib/tf/sparse_conditional_accumulator.hpp>
#include <distrib/tf/sync_replicas.hpp>
#include <distrib/train/save_checkpoint.hpp>
#include <distrib/train/stop_at_step.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace {

using distrib::Rank;
using Floats = std::vector<float>;

/// One update of two values by a gradient of (0.5, -1).
template <class Updater>
auto updated(const Updater& updater, Floats values = {1, 2}) -> Floats {
  const Floats gradient{0.5F, -1};
  std::vector<Floats> blocks;
  for (const distrib::Slot& slot : updater.slots()) blocks.emplace_back(2, slot.initial);
  const std::vector<std::span<float>> slots(blocks.begin(), blocks.end());
  updater.apply({.count = 1}, gradient, values, values, slots);
  return values;
}

auto near(const Floats& expected) {
  return Catch::Predicate<Floats>(
      [expected](const Floats& values) {
        return std::ranges::equal(values, expected, [](float a, float b) { return std::abs(a - b) < 1e-5F; });
      },
      "as TensorFlow computes it");
}

struct Taken {
  distrib::Step step = 0;
  Floats mean;
  void operator()(const distrib::GradientTaken& taken) {
    step = taken.step;
    mean.assign(taken.values.begin(), taken.values.end());
  }
};

struct TakenRows {
  Floats rows;
  void operator()(const distrib::SparseGradientTaken& taken) {
    rows.assign(taken.gradient.rows.begin(), taken.gradient.rows.end());
  }
};

struct Told {
  std::uint64_t updates = 0;
  std::vector<Rank> released;
  void operator()(const distrib::ApplyUpdate&) { ++updates; }
  void operator()(const distrib::TokenGiven& token) { released.push_back(token.worker); }
};

float longest_norm = 0;  // largest norm of a clipped gradient

/// The line model with gradients that are clipped by their norm, on the worker that computes them.
struct Clipped : LineModel {
  LineModel model;
  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext context) const -> float {
    const float loss = model.gradients(batch, values, gradients, context);
    auto weights = distrib::get<"weights">(gradients);
    const float norm = std::hypot(weights(0), weights(1));
    weights *= std::min(1.0F, 0.01F / norm);
    longest_norm = std::max(longest_norm, std::hypot(weights(0), weights(1)));
    return loss;
  }
};

}  // namespace

TEST_CASE("Coming from TensorFlow: P038 asynchronous, P042 backup workers", "[integration]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  auto asynchronous = line_job::builder(data).with_consistency(distrib::AsynchronousParallel{}).build();
  CHECK(asynchronous.run() == 0);
  auto stale = line_job::builder(data).with_consistency(distrib::StaleSynchronousParallel{.staleness = 3}).build();
  CHECK(stale.run() == 0);
  auto backup =
      line_job::builder(data).with_consistency(distrib::BulkSynchronousParallel{.replicas_to_aggregate = 2}).build();
  CHECK(backup.run() == 0);
  auto rows = line_job::builder(data).with_row_mean(distrib::RowMean::of_all).build();
  CHECK(rows.run() == 0);
}

TEST_CASE("Coming from TensorFlow: P040, P043 accumulators", "[integration]") {
  Taken taken;
  distrib::ConditionalAccumulator accumulator{2};
  CHECK(accumulator.apply(0, Floats{1, 2}, taken));
  CHECK(accumulator.apply(0, Floats{3, 6}, taken));
  accumulator.take(7, 2, taken);
  CHECK(taken.mean == Floats{2, 4});
  CHECK(taken.step == 1);
  CHECK_FALSE(accumulator.apply(0, Floats{9, 9}, taken));  // stale
  CHECK(accumulator.dropped() == 1);
}

TEST_CASE("Coming from TensorFlow: P041, P045 the barrier of tokens", "[integration]") {
  Told told;
  distrib::SyncReplicas sync{distrib::SyncReplicasPlan{.replicas_to_aggregate = 2, .total_num_replicas = 3}};
  sync.set_variables({1}, 0);
  sync.begin(0);
  const Floats one{1};
  const std::span<const float> gradients[] = {one};
  for (const Rank worker : {0U, 1U}) {
    CHECK(sync.apply(worker, gradients, told));
    sync.take_token(worker, told);
  }
  CHECK(told.updates == 1);
  CHECK(told.released == std::vector<Rank>{0, 1});
  CHECK_FALSE(sync.apply(2, gradients, told));  // the backup worker came too late
  CHECK(sync.dropped() == 1);
}

TEST_CASE("Coming from TensorFlow: P044 sparse gradients", "[integration]") {
  TakenRows taken;
  distrib::SparseConditionalAccumulator rows{1};
  const std::vector<std::uint64_t> keys{3, 8}, key{8};
  CHECK(rows.apply(0, {keys, Floats{1, 2}}, taken));
  CHECK(rows.apply(0, {key, Floats{4}}, taken));
  rows.take(7, 2, taken);
  CHECK(taken.rows == Floats{1, 3});  // the first row has one gradient, the second has two
}

TEST_CASE("Coming from TensorFlow: P069 to P074 optimizers", "[integration]") {
  CHECK_THAT(updated(distrib::Sgd{.learning_rate = 0.1F}), near({0.95F, 2.1F}));
  CHECK_THAT(updated(distrib::Momentum{.learning_rate = 0.1F, .momentum = 0.9F}), near({0.95F, 2.1F}));
  CHECK_THAT(updated(distrib::Momentum{.learning_rate = 0.1F, .momentum = 0.9F, .use_nesterov = true}),
             near({0.905F, 2.19F}));
  CHECK_THAT(updated(distrib::Adagrad{.learning_rate = 0.1F, .initial_accumulator_value = 0.1F}),
             near({1 - 0.05F / std::sqrt(0.35F), 2 + 0.1F / std::sqrt(1.1F)}));
  // Its accumulator starts with 1.
  CHECK_THAT(updated(distrib::RMSProp{.learning_rate = 0.1F, .decay = 0.9F}),
             near({1 - 0.05F / std::sqrt(0.925F), 2 + 0.1F}));
  CHECK_THAT(updated(distrib::CenteredRMSProp{.learning_rate = 0.1F, .decay = 0.9F}),
             near({1 - 0.05F / std::sqrt(0.9225F), 2 + 0.1F / std::sqrt(0.99F)}));
  CHECK_THAT(updated(distrib::Adam{.learning_rate = 0.1F}), near({0.9F, 2.1F}));
  CHECK_THAT(updated(distrib::LazyAdam{.learning_rate = 0.1F}), near({0.9F, 2.1F}));
  CHECK_THAT(updated(distrib::AMSGrad{.learning_rate = 0.1F}), near({0.9F, 2.1F}));
  CHECK_THAT(updated(distrib::AdamW{.learning_rate = 0.1F, .weight_decay = 0.5F}), near({0.85F, 2.0F}));
  // n = 0.1 + g * g; sigma = (sqrt(n) - sqrt(0.1)) / 0.1; z = g - sigma * w; w = -(z - sign(z) * l1) / (sqrt(n) / 0.1)
  const auto ftrl = [](float g, float w) {
    const float n = 0.1F + g * g;
    const float z = g - (std::sqrt(n) - std::sqrt(0.1F)) / 0.1F * w;
    return std::abs(z) <= 0.01F ? 0.0F : ((z > 0 ? 0.01F : -0.01F) - z) / (std::sqrt(n) / 0.1F);
  };
  CHECK_THAT(updated(distrib::Ftrl{.learning_rate = 0.1F, .l1 = 0.01F}), near({ftrl(0.5F, 1), ftrl(-1, 2)}));
}

TEST_CASE("Coming from TensorFlow: P075 slots and their names", "[integration]") {
  CHECK(distrib::Momentum::slots()[0].name == "Momentum");
  const support::TempDirectory directory;
  auto trainer = line_job::builder(line_model::write(directory.path()))
                     .with_hooks(distrib::SaveCheckpoint{.directory = directory / "out"})
                     .build();
  REQUIRE(trainer.run() == 0);
  const auto saved = distrib::BundleReader::open(directory / "out/model.ckpt-40");
  CHECK(saved.find("weights/Momentum") != nullptr);
}

TEST_CASE("Coming from TensorFlow: P076 gradients are computed and applied separately, P077 clipped in between",
          "[integration]") {
  const support::TempDirectory directory;
  auto trainer = distrib::train(Clipped{})
                     .with_data(line_model::write(directory.path()).shuffle(3).batch(10))
                     .with_updater(distrib::Sgd{.learning_rate = 1.0F})
                     .with_hooks(distrib::StopAtStep{1})
                     .with_local_mode({.workers = 1})
                     .build();
  CHECK(trainer.run() == 0);
  CHECK(trainer.result().steps == 1);
  CHECK(longest_norm <= 0.01F + 1e-6F);
  CHECK(longest_norm > 0);
}

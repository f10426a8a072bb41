// SPDX-License-Identifier: Apache-2.0
// The line model with counters: the number of examples by the value of x0, and the sum of the labels.
#pragma once

#include "train/line_job.hpp"

#include <cstddef>
#include <cstdint>

struct CountingModel {
  using Variables =
      distrib::VariableList<distrib::Variable<"seen", std::int64_t, 1>, distrib::Variable<"weights", float, 1>,
                            distrib::Variable<"sum", double, 0>, distrib::Variable<"bias", float, 0>>;
  using Example = LineModel::Example;

  auto variables() const -> Variables { return {{{3}}, {{2}, distrib::UniformInitializer{-1, 1}}, {{}}, {{}}}; }

  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext) const -> float {
    const auto weights = distrib::get<"weights">(values);
    auto of_weights = distrib::get<"weights">(gradients);
    auto of_bias = distrib::get<"bias">(gradients);
    auto seen = distrib::get<"seen">(gradients);
    auto sum = distrib::get<"sum">(gradients);
    const auto scale = 1.0F / static_cast<float>(batch.size());
    float loss = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Example one = batch[i];
      const float error = weights(0) * one.x[0] + weights(1) * one.x[1] + distrib::get<"bias">(values)() - one.y;
      loss += scale * error * error;
      for (std::size_t j = 0; j < 2; ++j) of_weights(j) += 2 * scale * error * one.x[j];
      of_bias() += 2 * scale * error;
      seen(bucket(one)) += 1;
      sum() += static_cast<double>(one.y);
    }
    return loss;
  }

  static auto bucket(const Example& one) -> std::size_t { return one.x[0] < -0.5F ? 0 : one.x[0] < 0.25F ? 1 : 2; }
};

namespace counting_model {

template <class Data>
auto builder(const Data& data, const line_job::Setup& setup) {
  return distrib::train(CountingModel{})
      .with_data(data.shuffle(3).batch(10))
      .with_partitioner(distrib::FixedShardsPartitioner{setup.parts})
      .with_updater(distrib::Momentum{.learning_rate = 0.1F, .momentum = 0.5F})
      .with_hooks(distrib::StopAtStep{setup.steps})
      .with_seed(11)
      .with_check_numerics()
      .with_local_mode({.workers = setup.workers, .shards = setup.shards});
}

}  // namespace counting_model

// SPDX-License-Identifier: Apache-2.0
// Fits y = 2 x0 - x1 + 0.5 to records of that function: a real model with real files, small enough for many runs.
#pragma once

#include <distrib/data/tfrecords.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/train/model.hpp>

#include <array>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <string>

struct LineModel {
  using Variables = distrib::VariableList<distrib::Variable<"weights", float, 1>, distrib::Variable<"bias", float, 0>>;
  struct Example {
    std::array<float, 2> x{};
    float y = 0;
  };

  auto variables() const -> Variables { return {{{2}, distrib::UniformInitializer{-1, 1}}, {{}}}; }

  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext) const -> float {
    auto weights = distrib::get<"weights">(gradients);
    auto bias = distrib::get<"bias">(gradients);
    const auto scale = 1.0F / static_cast<float>(batch.size());
    float loss = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Example one = batch[i];
      const float error = predict(one, values) - one.y;
      loss += scale * error * error;
      for (std::size_t j = 0; j < 2; ++j) weights(j) += 2 * scale * error * one.x[j];
      bias() += 2 * scale * error;
    }
    return loss;
  }

  auto evaluate(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values) const
      -> distrib::Metrics {
    double squared = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const double error = static_cast<double>(predict(batch[i], values) - batch[i].y);
      squared += error * error;
    }
    return {batch.size(), {{"squared_error", squared / static_cast<double>(batch.size())}}};
  }

 private:
  static auto predict(const Example& one, const distrib::Values<Variables>& values) -> float {
    const auto weights = distrib::get<"weights">(values);
    return weights(0) * one.x[0] + weights(1) * one.x[1] + distrib::get<"bias">(values)();
  }
};

/// Its gradients are not finite at step 3.
struct DivergingModel : LineModel {
  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext context) const -> float {
    const float loss = LineModel::gradients(batch, values, gradients, context);
    if (context.step == 3) distrib::get<"bias">(gradients)() = std::numeric_limits<float>::quiet_NaN();
    return loss;
  }
};

namespace line_model {

inline auto schema() {
  return distrib::schema<LineModel::Example>(distrib::feature("x", &LineModel::Example::x),
                                             distrib::feature("y", &LineModel::Example::y));
}

/// Writes `records` examples into three files of `directory` and returns the dataset that reads them.
inline auto write(const std::filesystem::path& directory, std::size_t records = 300) {
  distrib::ExampleWriter encode{schema()};
  for (std::size_t file = 0; file < 3; ++file) {
    distrib::RecordWriter writer{directory / ("line-" + std::to_string(file))};
    for (std::size_t i = file * records / 3; i < (file + 1) * records / 3; ++i) {
      const auto x0 = static_cast<float>(i * 37 % 100) / 50 - 1, x1 = static_cast<float>(i * 61 % 100) / 50 - 1;
      writer.append(encode.write({{x0, x1}, 2 * x0 - x1 + 0.5F}));
    }
    writer.close();
  }
  return distrib::tfrecords((directory / "line-*").string()).schema(schema());
}

}  // namespace line_model

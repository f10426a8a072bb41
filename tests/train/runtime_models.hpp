// SPDX-License-Identifier: Apache-2.0
// The line model and the table model again, but with lists that are made when the program runs. Names, shapes and
// arithmetic are the same, operation by operation, so the bits must be the same too.
#pragma once

#include <distrib/core/runtime_variables.hpp>

#include "train/line_model.hpp"
#include "train/table_model.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

struct RuntimeLineModel {
  using Variables = distrib::RuntimeVariables;
  using Example = LineModel::Example;
  using View = distrib::RuntimeTensorView<const float>;
  distrib::RuntimeVariables list = distrib::detail::run_time_list(LineModel{}.variables());

  auto variables() const -> Variables { return list; }

  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext) const -> float {
    const View weights = get(values, "weights"), bias = get(values, "bias");
    auto of_weights = get(gradients, "weights");
    auto of_bias = get(gradients, "bias");
    const auto scale = 1.0F / static_cast<float>(batch.size());
    float loss = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Example one = batch[i];
      const float error = weights(0) * one.x[0] + weights(1) * one.x[1] + bias() - one.y;
      loss += scale * error * error;
      for (std::size_t j = 0; j < 2; ++j) of_weights(j) += 2 * scale * error * one.x[j];
      of_bias() += 2 * scale * error;
    }
    return loss;
  }

  auto evaluate(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values) const
      -> distrib::Metrics {
    const View weights = get(values, "weights"), bias = get(values, "bias");
    double squared = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Example one = batch[i];
      const double error = static_cast<double>(weights(0) * one.x[0] + weights(1) * one.x[1] + bias() - one.y);
      squared += error * error;
    }
    return {batch.size(), {{"squared_error", squared / static_cast<double>(batch.size())}}};
  }
};

struct RuntimeTableModel {
  using Variables = distrib::RuntimeVariables;
  using Example = TableModel::Example;
  using View = distrib::RuntimeTensorView<const float>;
  distrib::RuntimeVariables list = distrib::detail::run_time_list(TableModel{}.variables());

  auto variables() const -> Variables { return list; }

  void lookups(const distrib::Batch<Example>& batch, distrib::Lookups<Variables>& lookups) const {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      get(lookups, "users").push_back(static_cast<std::uint64_t>(batch[i].user));
      get(lookups, "items").push_back(static_cast<std::uint64_t>(batch[i].item));
    }
  }

  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext) const -> float {
    const View users = get(values, "users"), items = get(values, "items");
    auto of_users = get(gradients, "users");
    auto of_items = get(gradients, "items");
    const auto user_of = lookup_index(values, "users");
    const auto item_of = lookup_index(values, "items");
    const auto scale = 1.0F / static_cast<float>(batch.size());
    float loss = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const float error = predict(i, values) - batch[i].rating;
      loss += scale * error * error;
      get(gradients, "bias")(0) += 2 * scale * error;
      for (std::size_t j = 0; j < 4; ++j) {
        of_users(user_of[i], j) += 2 * scale * error * items(item_of[i], j);
        of_items(item_of[i], j) += 2 * scale * error * users(user_of[i], j);
      }
    }
    return loss;
  }

  auto evaluate(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values) const
      -> distrib::Metrics {
    double squared = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto error = static_cast<double>(predict(i, values) - batch[i].rating);
      squared += error * error;
    }
    return {batch.size(), {{"squared_error", squared / static_cast<double>(batch.size())}}};
  }

 private:
  static auto predict(std::size_t i, const distrib::Values<Variables>& values) -> float {
    const View users = get(values, "users"), items = get(values, "items");
    float sum = get(values, "bias")(0);
    for (std::size_t j = 0; j < 4; ++j)
      sum += users(lookup_index(values, "users")[i], j) * items(lookup_index(values, "items")[i], j);
    return sum;
  }
};

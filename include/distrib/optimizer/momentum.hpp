// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/detail/kernels.hpp>
#include <distrib/optimizer/hyper_parameters.hpp>
#include <distrib/optimizer/learning_rate.hpp>
#include <distrib/optimizer/updater.hpp>

#include <array>
#include <cassert>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace distrib::inline v0 {

/// Gradient descent with momentum, as TensorFlow's MomentumOptimizer has it (Keras differs when the rate changes):
/// a = momentum * a + g, then w -= learning_rate * a; with `use_nesterov` w -= learning_rate * g + momentum * a *
/// learning_rate. A model of `Updater`.
struct Momentum {
  static constexpr std::string_view name = "momentum";
  static constexpr std::array<Slot, 1> slots{{{.name = "Momentum", .initial = 0.0F}}};

  LearningRate learning_rate = 0.01F;
  float momentum = 0.9F;
  bool use_nesterov = false;

  /// "learning_rate=0.05 momentum=0.9 use_nesterov=false"
  [[nodiscard]] auto describe() const -> std::string {
    return hyper_parameter("learning_rate", learning_rate) + ' ' + hyper_parameter("momentum", momentum) + ' ' +
           hyper_parameter("use_nesterov", use_nesterov);
  }

  /// The opposite of `describe()`; empty for every other text.
  [[nodiscard]] static auto parse(std::string_view text) -> std::optional<Momentum> {
    Momentum read;
    HyperParameters fields{text};
    fields.read("learning_rate", read.learning_rate);
    fields.read("momentum", read.momentum);
    fields.read("use_nesterov", read.use_nesterov);
    return fields.ok() ? std::optional{read} : std::nullopt;
  }

  /// See `Updater`.
  void apply(UpdateStep step, std::span<const float> gradient, std::span<const float> from, std::span<float> to,
             std::span<const std::span<float>> slot_blocks) const noexcept {
    assert(gradient.size() == to.size() && from.size() == to.size());
    assert(slot_blocks.size() == 1 && slot_blocks[0].size() == to.size());
    const auto kernel = use_nesterov ? detail::nesterov_kernel : detail::momentum_kernel;
    kernel(gradient, from, to, slot_blocks[0], learning_rate.at(step.count), momentum);
  }

  [[nodiscard]] auto operator==(const Momentum&) const noexcept -> bool = default;
};

static_assert(Updater<Momentum>);

}  // namespace distrib::inline v0

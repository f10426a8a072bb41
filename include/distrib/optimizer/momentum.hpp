// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/detail/shortest_text.hpp>
#include <distrib/optimizer/detail/kernels.hpp>
#include <distrib/optimizer/learning_rate.hpp>
#include <distrib/optimizer/updater.hpp>

#include <array>
#include <cassert>
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
    return "learning_rate=" + learning_rate.describe() + " momentum=" + detail::shortest_text(momentum) +
           " use_nesterov=" + (use_nesterov ? "true" : "false");
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

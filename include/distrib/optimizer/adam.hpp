// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/detail/kernels.hpp>
#include <distrib/optimizer/hyper_parameters.hpp>
#include <distrib/optimizer/learning_rate.hpp>
#include <distrib/optimizer/updater.hpp>

#include <array>
#include <cassert>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace distrib::inline v0 {

/// Adam (Kingma and Ba, 2015), as TensorFlow's AdamOptimizer has it, epsilon outside the root and not corrected:
/// alpha = learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t); m += (g - m) * (1 - beta1); v += (g * g - v) *
/// (1 - beta2); w -= m * alpha / (sqrt(v) + epsilon), with t the number of the update. A model of `Updater`.
///
/// Elements are computed in float, in this order; alpha and the powers in double, alpha then rounded to float.
/// (TensorFlow keeps the powers as floats that it multiplies once an update; ours have no state and no drift.)
struct Adam {
  static constexpr std::string_view name = "adam";
  static constexpr std::array<Slot, 2> slots{{{.name = "Adam", .initial = 0.0F}, {.name = "Adam_1", .initial = 0.0F}}};

  LearningRate learning_rate = 0.001F;
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float epsilon = 1e-8F;

  /// "learning_rate=0.001 beta1=0.9 beta2=0.999 epsilon=1e-08"
  [[nodiscard]] auto describe() const -> std::string {
    return hyper_parameter("learning_rate", learning_rate) + ' ' + hyper_parameter("beta1", beta1) + ' ' +
           hyper_parameter("beta2", beta2) + ' ' + hyper_parameter("epsilon", epsilon);
  }

  /// The opposite of `describe()`; empty for every other text.
  [[nodiscard]] static auto parse(std::string_view text) -> std::optional<Adam> {
    Adam read;
    HyperParameters fields{text};
    fields.read("learning_rate", read.learning_rate);
    fields.read("beta1", read.beta1);
    fields.read("beta2", read.beta2);
    fields.read("epsilon", read.epsilon);
    return fields.ok() ? std::optional{read} : std::nullopt;
  }

  /// beta1^count: what TensorFlow's variable `beta1_power` holds before update `count`.
  [[nodiscard]] auto beta1_power(std::uint64_t count) const noexcept -> double { return detail::power(beta1, count); }

  /// beta2^count: what TensorFlow's variable `beta2_power` holds before update `count`.
  [[nodiscard]] auto beta2_power(std::uint64_t count) const noexcept -> double { return detail::power(beta2, count); }

  /// See `Updater`.
  void apply(UpdateStep step, std::span<const float> gradient, std::span<const float> from, std::span<float> to,
             std::span<const std::span<float>> slot_blocks) const noexcept {
    assert(gradient.size() == to.size() && from.size() == to.size() && slot_blocks.size() == 2);
    assert(slot_blocks[0].size() == to.size() && slot_blocks[1].size() == to.size());
    const float alpha = detail::adam_alpha(learning_rate.at(step.count), beta1_power(step.count),
                                           beta2_power(step.count));
    detail::adam_kernel(gradient, from, to, slot_blocks[0], slot_blocks[1],
                        {.alpha = alpha, .beta1 = beta1, .beta2 = beta2, .epsilon = epsilon});
  }

  [[nodiscard]] auto operator==(const Adam&) const noexcept -> bool = default;
};

static_assert(Updater<Adam>);

}  // namespace distrib::inline v0

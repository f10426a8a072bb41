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

/// Gradient descent: w -= learning_rate * g. TensorFlow's GradientDescentOptimizer. A model of `Updater`.
struct Sgd {
  static constexpr std::string_view name = "sgd";
  static constexpr std::array<Slot, 0> slots{};

  LearningRate learning_rate = 0.01F;

  /// "learning_rate=0.05"
  [[nodiscard]] auto describe() const -> std::string { return hyper_parameter("learning_rate", learning_rate); }

  /// The opposite of `describe()`; empty for every other text.
  [[nodiscard]] static auto parse(std::string_view text) -> std::optional<Sgd> {
    Sgd read;
    HyperParameters fields{text};
    fields.read("learning_rate", read.learning_rate);
    return fields.ok() ? std::optional{read} : std::nullopt;
  }

  /// See `Updater`.
  void apply(UpdateStep step, std::span<const float> gradient, std::span<const float> from, std::span<float> to,
             [[maybe_unused]] std::span<const std::span<float>> slot_blocks) const noexcept {
    assert(gradient.size() == to.size() && from.size() == to.size() && slot_blocks.empty());
    detail::sgd_kernel(gradient, from, to, learning_rate.at(step.count));
  }

  [[nodiscard]] auto operator==(const Sgd&) const noexcept -> bool = default;
};

static_assert(Updater<Sgd>);

}  // namespace distrib::inline v0

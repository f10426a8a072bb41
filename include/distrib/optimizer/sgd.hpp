// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/detail/apply_factors.hpp>
#include <distrib/optimizer/hyper_parameters.hpp>
#include <distrib/optimizer/learning_rate.hpp>
#include <distrib/optimizer/updater.hpp>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// Gradient descent, as TensorFlow's GradientDescentOptimizer: w -= learning_rate * g, where g is the gradient and w
/// the weight. A model of `Updater`.
struct Sgd {
  static constexpr std::string_view name = "sgd";

  LearningRate learning_rate = 0.01F;

  /// Returns an empty array: no values are kept beside a variable.
  [[nodiscard]] static constexpr auto slots() noexcept -> std::array<Slot, 0> { return {}; }

  /// Calls `field(key, member)` for each hyper-parameter, in the order of `describe()`.
  static void fields(auto& self, auto& field) { field("learning_rate", self.learning_rate); }

  /// Returns the hyper-parameters as text: "learning_rate=0.05".
  [[nodiscard]] auto describe() const -> std::string { return describe_fields(*this); }

  /// Returns the updater whose `describe()` is `text`; empty for any other text.
  [[nodiscard]] static auto parse(std::string_view text) -> std::optional<Sgd> { return parse_fields<Sgd>(text); }

  /// Writes to `to` what `from` becomes by `gradient`, and changes `slot_blocks` in place. All spans have the same
  /// length (not checked). See `Updater`.
  void apply(UpdateStep step, std::span<const float> gradient, std::span<const float> from, std::span<float> to,
             std::span<const std::span<float>> slot_blocks) const noexcept {
    detail::apply_factors(factors(step), gradient, from, to, slot_blocks);
  }
  /// Updates the rows of `batch` in place, each as `apply` updates a block. No row may occur twice. See `Updater`.
  void apply_rows(UpdateStep step, const RowBatch& batch) const noexcept {
    detail::apply_factors(factors(step), batch);
  }

  [[nodiscard]] auto operator==(const Sgd&) const noexcept -> bool = default;

 private:
  [[nodiscard]] auto factors(UpdateStep step) const noexcept -> detail::SgdFactors<> {
    return {.rate = learning_rate.at(step.count)};
  }
};

static_assert(Updater<Sgd>);

}  // namespace v0
}  // namespace distrib

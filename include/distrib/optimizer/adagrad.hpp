// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/detail/apply_factors.hpp>
#include <distrib/optimizer/error.hpp>
#include <distrib/optimizer/hyper_parameters.hpp>
#include <distrib/optimizer/learning_rate.hpp>
#include <distrib/optimizer/updater.hpp>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Adagrad (Duchi, Hazan and Singer, 2011), as TensorFlow's AdagradOptimizer, without an epsilon: a += g * g; w -=
/// learning_rate * g / sqrt(a), where g is the gradient, w the weight and a the slot. A model of `Updater`.
struct Adagrad {
  static constexpr std::string_view name = "adagrad";

  LearningRate learning_rate = 0.01F;
  float initial_accumulator_value = 0.1F;  ///< Initial value of a. Must be positive.

  /// Returns the values kept beside each variable.
  [[nodiscard]] constexpr auto slots() const noexcept -> std::array<Slot, 1> {
    return {Slot{.name = "Adagrad", .initial = initial_accumulator_value}};
  }

  /// Calls `field(key, member)` for each hyper-parameter, in the order of `describe()`.
  static void fields(auto& self, auto& field) {
    field("learning_rate", self.learning_rate);
    field("initial_accumulator_value", self.initial_accumulator_value);
  }

  /// Returns the hyper-parameters as text: "learning_rate=0.05 initial_accumulator_value=0.1".
  [[nodiscard]] auto describe() const -> std::string { return describe_fields(*this); }

  /// Returns the updater whose `describe()` is `text`; empty for any other text.
  [[nodiscard]] static auto parse(std::string_view text) -> std::optional<Adagrad> {
    return parse_fields<Adagrad>(text);
  }

  /// Sets `ec` to `optimizer_errc::accumulator_not_positive` if `initial_accumulator_value` is not above 0; otherwise
  /// leaves `ec` unchanged.
  void check(std::error_code& ec) const noexcept {
    if (!(initial_accumulator_value > 0.0F)) ec = optimizer_errc::accumulator_not_positive;
  }

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

  [[nodiscard]] auto operator==(const Adagrad&) const noexcept -> bool = default;

 private:
  [[nodiscard]] auto factors(UpdateStep step) const noexcept -> detail::AdagradFactors<> {
    return {.rate = learning_rate.at(step.count)};
  }
};

static_assert(Updater<Adagrad>);

}  // namespace v0
}  // namespace distrib

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
  static constexpr std::string_view name = "adagrad";  ///< Name of the updater in the text of a job.
  /// True: the rate is multiplied by `UpdateStep::rate_factor`.
  static constexpr bool scales_rate = true;

  LearningRate learning_rate = 0.01F;  ///< A number, or a schedule by the number of the update.
  float initial_accumulator_value = 0.1F;  ///< Initial value of a. Must be positive.
  /// L2 regularization: weight_decay * w is added to the gradient first. In a table only rows with a gradient decay.
  float weight_decay = 0.0F;

  /// Returns the values kept beside each variable.
  [[nodiscard]] constexpr auto slots() const noexcept -> std::array<Slot, 1> {
    return {Slot{.name = "Adagrad", .initial = initial_accumulator_value}};
  }

  /// Calls `field(key, self.member)` for each hyper-parameter, in the order of `describe()`. `key` is the name of the
  /// hyper-parameter in that text. `self` is an object of this type: const to read its members, not const to set them.
  /// Throws what `field` throws.
  static void fields(auto& self, auto& field) {
    field("learning_rate", self.learning_rate);
    field("initial_accumulator_value", self.initial_accumulator_value);
    field.optional("weight_decay", self.weight_decay, 0.0F);
  }

  /// Returns the hyper-parameters as text: "learning_rate=0.05 initial_accumulator_value=0.1". A `weight_decay`
  /// that is not 0 follows.
  [[nodiscard]] auto describe() const -> std::string { return describe_fields(*this); }

  /// Returns the updater whose `describe()` is `text`; empty for any other text.
  [[nodiscard]] static auto parse(std::string_view text) -> std::optional<Adagrad> {
    return parse_fields<Adagrad>(text);
  }

  /// Sets `ec` to `optimizer_errc::accumulator_not_positive` if `initial_accumulator_value` is not above 0, and to
  /// `negative` if `weight_decay` is below 0; otherwise leaves `ec` unchanged.
  void check(std::error_code& ec) const noexcept {
    if (!(initial_accumulator_value > 0.0F)) ec = optimizer_errc::accumulator_not_positive;
    else if (!(weight_decay >= 0.0F)) ec = optimizer_errc::negative;
  }

  /// Writes to `to` what `from` becomes by `gradient`, and changes `slot_blocks` in place. All spans must have the same
  /// length (programmer error otherwise; asserted). See `Updater`.
  void apply(UpdateStep step, std::span<const float> gradient, std::span<const float> from, std::span<float> to,
             std::span<const std::span<float>> slot_blocks) const noexcept {
    visit(step, [&](const auto& factors) { detail::apply_factors(factors, gradient, from, to, slot_blocks); });
  }
  /// Updates the rows of `batch` in place, each as `apply` updates a block. No row may occur twice. See `Updater`.
  void apply_rows(UpdateStep step, const RowBatch& batch) const noexcept {
    visit(step, [&](const auto& factors) { detail::apply_factors(factors, batch); });
  }

  [[nodiscard]] auto operator==(const Adagrad&) const noexcept -> bool = default;

 private:
  void visit(UpdateStep step, auto&& f) const noexcept {
    detail::with_decay(detail::AdagradFactors<>{.rate = step.rate(learning_rate.at(step.count))}, weight_decay, f);
  }
};

static_assert(Updater<Adagrad>);

}  // namespace v0
}  // namespace distrib

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

/// Follow the regularized leader (McMahan et al., 2013), as TensorFlow's FtrlOptimizer. With g the gradient, w the
/// weight, a and z the slots, and p = -learning_rate_power:
///
/// s = g + 2 * l2_shrinkage * w; n = a + g * g; z += s - (n^p - a^p) / learning_rate * w; w = (l1 * sign(z) - z) / (n^p
/// / learning_rate + 2 * l2) if abs(z) > l1, otherwise 0; a = n.
///
/// So the first step drops the initial weights, except for their part in z; and with l1 above 0 weights become exactly
/// 0. A model of `Updater`.
struct Ftrl {
  static constexpr std::string_view name = "ftrl";  ///< Name of the updater in the text of a job.
  /// True: the rate is multiplied by `UpdateStep::rate_factor`.
  static constexpr bool scales_rate = true;

  LearningRate learning_rate = 0.001F;  ///< A number, or a schedule by the number of the update.
  float learning_rate_power = -0.5F;  ///< At most 0.
  float initial_accumulator_value = 0.1F;  ///< Initial value of a. Must be positive.
  float l1 = 0.0F;  ///< L1 regularization; 0 or more.
  float l2 = 0.0F;  ///< L2 regularization; 0 or more.
  float l2_shrinkage = 0.0F;  ///< L2 regularization through the gradient; 0 or more.

  /// Returns the values kept beside each variable.
  [[nodiscard]] constexpr auto slots() const noexcept -> std::array<Slot, 2> {
    return {Slot{.name = "Ftrl", .initial = initial_accumulator_value}, Slot{.name = "Ftrl_1", .initial = 0.0F}};
  }

  /// Calls `field(key, self.member)` for each hyper-parameter, in the order of `describe()`. `key` is the name of the
  /// hyper-parameter in that text. `self` is an object of this type: const to read its members, not const to set them.
  /// Throws what `field` throws.
  static void fields(auto& self, auto& field) {
    field("learning_rate", self.learning_rate);
    field("learning_rate_power", self.learning_rate_power);
    field("initial_accumulator_value", self.initial_accumulator_value);
    field("l1", self.l1);
    field("l2", self.l2);
    field("l2_shrinkage", self.l2_shrinkage);
  }

  /// Returns the hyper-parameters as text: "learning_rate=0.05 learning_rate_power=-0.5 initial_accumulator_value=0.1
  /// l1=0 l2=0 l2_shrinkage=0".
  [[nodiscard]] auto describe() const -> std::string { return describe_fields(*this); }

  /// Returns the updater whose `describe()` is `text`; empty for any other text.
  [[nodiscard]] static auto parse(std::string_view text) -> std::optional<Ftrl> { return parse_fields<Ftrl>(text); }

  /// Sets `ec` if a hyper-parameter cannot be trained with: `optimizer_errc::accumulator_not_positive`,
  /// `positive_power` if `learning_rate_power` is above 0, `negative` if l1, l2 or l2_shrinkage is below 0. Otherwise
  /// leaves `ec` unchanged.
  void check(std::error_code& ec) const noexcept {
    if (!(initial_accumulator_value > 0.0F)) ec = optimizer_errc::accumulator_not_positive;
    else if (!(learning_rate_power <= 0.0F)) ec = optimizer_errc::positive_power;
    else if (!(l1 >= 0.0F && l2 >= 0.0F && l2_shrinkage >= 0.0F)) ec = optimizer_errc::negative;
  }

  /// Writes to `to` what `from` becomes by `gradient`, and changes `slot_blocks` in place. All spans must have the same
  /// length (programmer error otherwise; asserted). See `Updater`.
  void apply(UpdateStep step, std::span<const float> gradient, std::span<const float> from, std::span<float> to,
             std::span<const std::span<float>> slot_blocks) const noexcept {
    detail::apply_factors(factors(step), gradient, from, to, slot_blocks);
  }
  /// Updates the rows of `batch` in place, each as `apply` updates a block. No row may occur twice. See `Updater`.
  void apply_rows(UpdateStep step, const RowBatch& batch) const noexcept {
    detail::apply_factors(factors(step), batch);
  }

  [[nodiscard]] auto operator==(const Ftrl&) const noexcept -> bool = default;

 private:
  [[nodiscard]] auto factors(UpdateStep step) const noexcept -> detail::FtrlFactors<> {
    return {step.rate(learning_rate.at(step.count)), -learning_rate_power, l1, l2 + l2, l2_shrinkage + l2_shrinkage};
  }
};

static_assert(Updater<Ftrl>);

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/detail/apply_factors.hpp>
#include <distrib/optimizer/detail/families.hpp>
#include <distrib/optimizer/error.hpp>
#include <distrib/optimizer/hyper_parameters.hpp>
#include <distrib/optimizer/learning_rate.hpp>
#include <distrib/optimizer/updater.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Adam (Kingma and Ba, 2015), as TensorFlow's AdamOptimizer: epsilon is outside the root, and not corrected. With t
/// the number of the update, g the gradient, w the weight, and m and v the slots:
///
/// alpha = learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t); m += (g - m) * (1 - beta1); v += (g * g - v) * (1 -
/// beta2); w -= m * alpha / (sqrt(v) + epsilon).
///
/// In a table every row changes at every step, as in TensorFlow, so a table cannot have this updater: `LazyAdam` leaves
/// rows without a gradient unchanged. A model of `Updater`.
///
/// Elements are computed in float, in this order. Alpha and the powers are computed in double; alpha is then rounded to
/// float. (TensorFlow keeps the powers as floats that it multiplies at each update; the powers here have no state, so
/// errors do not accumulate.)
struct Adam {
  static constexpr std::string_view name = "adam";  ///< Name of the updater in the text of a job.
  /// True: the rate is multiplied by `UpdateStep::rate_factor`.
  static constexpr bool scales_rate = true;
  /// True: a step changes every row of a table, so a table cannot have this updater.
  static constexpr bool updates_every_row = true;

  LearningRate learning_rate = 0.001F;  ///< A number, or a schedule by the number of the update.
  float beta1 = 0.9F;  ///< Part of m that stays at an update; from 0 to below 1.
  float beta2 = 0.999F;  ///< Part of v that stays at an update; from 0 to below 1.
  float epsilon = 1e-8F;  ///< Added to the root of v, so that nothing is divided by 0.
  /// L2 regularization: weight_decay * w is added to the gradient first. In a table only rows with a gradient decay.
  float weight_decay = 0.0F;

  /// Returns the values kept beside each variable.
  [[nodiscard]] static constexpr auto slots() noexcept -> std::array<Slot, 2> {
    return {Slot{.name = "Adam", .initial = 0.0F}, Slot{.name = "Adam_1", .initial = 0.0F}};
  }

  /// Calls `field(key, self.member)` for each hyper-parameter, in the order of `describe()`. `key` is the name of the
  /// hyper-parameter in that text. `self` is an object of this type: const to read its members, not const to set them.
  /// Throws what `field` throws.
  static void fields(auto& self, auto& field) {
    detail::adam_fields(self, field);
    field.optional("weight_decay", self.weight_decay, 0.0F);
  }

  /// Returns the hyper-parameters as text: "learning_rate=0.001 beta1=0.9 beta2=0.999 epsilon=1e-08". A
  /// `weight_decay` that is not 0 follows.
  [[nodiscard]] auto describe() const -> std::string { return describe_fields(*this); }

  /// Returns the updater whose `describe()` is `text`; empty for any other text.
  [[nodiscard]] static auto parse(std::string_view text) -> std::optional<Adam> { return parse_fields<Adam>(text); }

  /// Returns beta1^count: what TensorFlow's variable `beta1_power` holds before update `count`.
  [[nodiscard]] auto beta1_power(std::uint64_t count) const noexcept -> double { return detail::power(beta1, count); }

  /// Returns beta2^count: what TensorFlow's variable `beta2_power` holds before update `count`.
  [[nodiscard]] auto beta2_power(std::uint64_t count) const noexcept -> double { return detail::power(beta2, count); }

  /// Sets `ec` to `optimizer_errc::negative` if `weight_decay` is below 0; otherwise leaves `ec` unchanged.
  void check(std::error_code& ec) const noexcept {
    if (!(weight_decay >= 0.0F)) ec = optimizer_errc::negative;
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

  [[nodiscard]] auto operator==(const Adam&) const noexcept -> bool = default;

 private:
  void visit(UpdateStep step, auto&& f) const noexcept {
    detail::with_decay(detail::adam_factors<detail::AdamFactors<>>(*this, step), weight_decay, f);
  }
};

static_assert(Updater<Adam>);

}  // namespace v0
}  // namespace distrib

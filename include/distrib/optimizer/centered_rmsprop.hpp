// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/detail/apply_factors.hpp>
#include <distrib/optimizer/detail/families.hpp>
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

/// RMSProp with an estimate of the variance, as TensorFlow's RMSPropOptimizer with centered=True. With g the gradient,
/// w the weight, and ms, mg and mom the slots:
///
/// ms += (g * g - ms) * (1 - decay); mg += (g - mg) * (1 - decay); mom = momentum * mom + learning_rate * g / sqrt(ms -
/// mg * mg + epsilon); w -= mom. ms is 1 at first, mg and mom are 0. A model of `Updater`.
struct CenteredRMSProp {
  static constexpr std::string_view name = "centered_rmsprop";  ///< Name of the updater in the text of a job.
  /// True: the rate is multiplied by `UpdateStep::rate_factor`.
  static constexpr bool scales_rate = true;

  LearningRate learning_rate = 0.01F;  ///< A number, or a schedule by the number of the update.
  float decay = 0.9F;  ///< Part of ms and of mg that stays at an update.
  float momentum = 0.0F;  ///< Part of mom that stays at an update.
  float epsilon = 1e-10F;  ///< Added inside the root.

  /// Returns the values kept beside each variable.
  [[nodiscard]] static constexpr auto slots() noexcept -> std::array<Slot, 3> {
    return {Slot{.name = "RMSProp", .initial = 1.0F}, Slot{.name = "RMSProp_1", .initial = 0.0F},
            Slot{.name = "RMSProp_2", .initial = 0.0F}};
  }

  /// Calls `field(key, self.member)` for each hyper-parameter, in the order of `describe()`. `key` is the name of the
  /// hyper-parameter in that text. `self` is an object of this type: const to read its members, not const to set them.
  /// Throws what `field` throws.
  static void fields(auto& self, auto& field) { detail::rmsprop_fields(self, field); }

  /// Returns the hyper-parameters as text: "learning_rate=0.01 decay=0.9 momentum=0 epsilon=1e-10".
  [[nodiscard]] auto describe() const -> std::string { return describe_fields(*this); }

  /// Returns the updater whose `describe()` is `text`; empty for any other text.
  [[nodiscard]] static auto parse(std::string_view text) -> std::optional<CenteredRMSProp> {
    return parse_fields<CenteredRMSProp>(text);
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

  [[nodiscard]] auto operator==(const CenteredRMSProp&) const noexcept -> bool = default;

 private:
  [[nodiscard]] auto factors(UpdateStep step) const noexcept -> detail::CenteredRMSPropFactors<> {
    return detail::rmsprop_factors<detail::CenteredRMSPropFactors<>>(*this, step);
  }
};

static_assert(Updater<CenteredRMSProp>);

}  // namespace v0
}  // namespace distrib

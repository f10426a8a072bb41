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

/// Adam with decoupled weight decay (Loshchilov and Hutter, 2019), as Keras's AdamW: w -= w * (weight_decay *
/// learning_rate) + m * alpha / (sqrt(v) + epsilon), with w, m, v and alpha as in `Adam`. A model of `Updater`.
struct AdamW {
  static constexpr std::string_view name = "adamw";  ///< Name of the updater in the text of a job.
  /// True: the rate is multiplied by `UpdateStep::rate_factor`.
  static constexpr bool scales_rate = true;
  /// True: a step changes every row of a table, so a table cannot have this updater.
  static constexpr bool updates_every_row = true;

  LearningRate learning_rate = 0.001F;  ///< A number, or a schedule by the number of the update.
  float beta1 = 0.9F;  ///< Part of m that stays at an update; from 0 to below 1.
  float beta2 = 0.999F;  ///< Part of v that stays at an update; from 0 to below 1.
  float epsilon = 1e-8F;  ///< Added to the root of v, so that nothing is divided by 0.
  float weight_decay = 0.004F;  ///< Part of each weight, times the rate, that is taken off.

  /// Returns the values kept beside each variable.
  [[nodiscard]] static constexpr auto slots() noexcept -> std::array<Slot, 2> {
    return {Slot{.name = "AdamW", .initial = 0.0F}, Slot{.name = "AdamW_1", .initial = 0.0F}};
  }

  /// Calls `field(key, self.member)` for each hyper-parameter, in the order of `describe()`. `key` is the name of the
  /// hyper-parameter in that text. `self` is an object of this type: const to read its members, not const to set them.
  /// Throws what `field` throws.
  static void fields(auto& self, auto& field) {
    detail::adam_fields(self, field);
    field("weight_decay", self.weight_decay);
  }

  /// Returns the hyper-parameters as text: "learning_rate=0.001 beta1=0.9 beta2=0.999 epsilon=1e-08
  /// weight_decay=0.004".
  [[nodiscard]] auto describe() const -> std::string { return describe_fields(*this); }

  /// Returns the updater whose `describe()` is `text`; empty for any other text.
  [[nodiscard]] static auto parse(std::string_view text) -> std::optional<AdamW> { return parse_fields<AdamW>(text); }

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

  [[nodiscard]] auto operator==(const AdamW&) const noexcept -> bool = default;

 private:
  [[nodiscard]] auto factors(UpdateStep step) const noexcept -> detail::AdamWFactors<> {
    return detail::adam_factors<detail::AdamWFactors<>>(*this, step,
                                                        weight_decay * step.rate(learning_rate.at(step.count)));
  }
};

static_assert(Updater<AdamW>);

}  // namespace v0
}  // namespace distrib

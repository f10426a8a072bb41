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

/// Adam as PyTorch's `Adam` and `AdamW` have it (torch/optim/adam.py, without amsgrad). With t the number of the
/// update:
///
/// g += weight_decay * w, or, if decoupled_weight_decay, w *= 1 - learning_rate * weight_decay; m += (g - m) * (1 -
/// beta1); v = v * beta2 + (1 - beta2) * g * g; w -= learning_rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) +
/// epsilon).
///
/// The difference to `Adam` and `AdamW`: epsilon is added to the corrected root, so it weighs less in the first
/// updates. AdamW of PyTorch is `TorchAdam{.weight_decay = 0.01F, .decoupled_weight_decay = true}`. A table cannot have
/// this updater; its place there takes `LazyAdam`, which is PyTorch's SparseAdam. A model of `Updater`.
///
/// Elements are computed in float, in this order. The factors of an update are computed in double, then rounded to
/// float.
struct TorchAdam {
  static constexpr std::string_view name = "torch_adam";  ///< Name of the updater in the text of a job.
  /// True: the rate is multiplied by `UpdateStep::rate_factor`.
  static constexpr bool scales_rate = true;
  /// True: a step changes every row of a table, so a table cannot have this updater.
  static constexpr bool updates_every_row = true;

  LearningRate learning_rate = 0.001F;  ///< A number, or a schedule by the number of the update.
  double beta1 = 0.9;  ///< Part of m that stays at an update; from 0 to below 1.
  double beta2 = 0.999;  ///< Part of v that stays at an update; from 0 to below 1.
  float epsilon = 1e-8F;  ///< Added to the corrected root of v. 0 or more.
  float weight_decay = 0.0F;  ///< 0 or more.
  bool decoupled_weight_decay = false;  ///< False: as PyTorch's Adam. True: as its AdamW.

  /// Returns the values kept beside each variable, with PyTorch's names.
  [[nodiscard]] static constexpr auto slots() noexcept -> std::array<Slot, 2> {
    return {Slot{.name = "exp_avg", .initial = 0.0F}, Slot{.name = "exp_avg_sq", .initial = 0.0F}};
  }

  /// Calls `field(key, self.member)` for each hyper-parameter, in the order of `describe()`. `key` is the name of the
  /// hyper-parameter in that text. `self` is an object of this type: const to read its members, not const to set them.
  /// Throws what `field` throws.
  static void fields(auto& self, auto& field) {
    field("learning_rate", self.learning_rate);
    field("beta1", self.beta1);
    field("beta2", self.beta2);
    field("epsilon", self.epsilon);
    field("weight_decay", self.weight_decay);
    field("decoupled_weight_decay", self.decoupled_weight_decay);
  }

  /// Returns the hyper-parameters as text: "learning_rate=0.001 beta1=0.9 beta2=0.999 epsilon=1e-08 weight_decay=0
  /// decoupled_weight_decay=false".
  [[nodiscard]] auto describe() const -> std::string { return describe_fields(*this); }

  /// Returns the updater whose `describe()` is `text`; empty for any other text.
  [[nodiscard]] static auto parse(std::string_view text) -> std::optional<TorchAdam> {
    return parse_fields<TorchAdam>(text);
  }

  /// Sets `ec` to `optimizer_errc::negative` if `epsilon` or `weight_decay` is below 0; otherwise leaves `ec`
  /// unchanged.
  void check(std::error_code& ec) const noexcept {
    if (!(epsilon >= 0.0F && weight_decay >= 0.0F)) ec = optimizer_errc::negative;
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

  [[nodiscard]] auto operator==(const TorchAdam&) const noexcept -> bool = default;

 private:
  [[nodiscard]] auto factors(UpdateStep step) const noexcept -> detail::TorchAdamFactors<> {
    using Real = detail::Rounded<double>;
    const Real one{1.0};
    const Real rate{static_cast<double>(step.rate(learning_rate.at(step.count)))};
    const Real correction1 = one - Real{detail::power(beta1, step.of_slots())};
    const Real correction2 = one - Real{detail::power(beta2, step.of_slots())};
    const Real shrunk = one - rate * Real{static_cast<double>(weight_decay)};
    return {.step_size = static_cast<float>((rate / correction1).value),
            .blend1 = detail::blend(beta1),
            .keep2 = static_cast<float>(beta2),
            .blend2 = detail::blend(beta2),
            .root = static_cast<float>(sqrt(correction2).value),
            .epsilon = epsilon,
            .weight_decay = decoupled_weight_decay ? 0.0F : weight_decay,
            .keep = decoupled_weight_decay ? static_cast<float>(shrunk.value) : 1.0F};
  }
};

static_assert(Updater<TorchAdam>);

}  // namespace v0
}  // namespace distrib

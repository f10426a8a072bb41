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

/// Gradient descent with momentum, as TensorFlow's MomentumOptimizer (Keras differs when the rate changes). With g the
/// gradient, w the weight and a the slot: a = momentum * a + g, then w -= learning_rate * a; with `use_nesterov`
/// instead w -= learning_rate * g + momentum * a * learning_rate. Also PyTorch's SGD with a momentum: with its
/// weight_decay, g + weight_decay * w stands for g; with its dampening, a = momentum * a + (1 - dampening) * g except
/// at the first update, where a = g. A model of `Updater`.
struct Momentum {
  static constexpr std::string_view name = "momentum";  ///< Name of the updater in the text of a job.
  /// True: the rate is multiplied by `UpdateStep::rate_factor`.
  static constexpr bool scales_rate = true;

  LearningRate learning_rate = 0.01F;  ///< A number, or a schedule by the number of the update.
  float momentum = 0.9F;  ///< Part of a that stays at an update.
  bool use_nesterov = false;  ///< True: the other form of the step, as above.
  /// L2 regularization: weight_decay * w is added to the gradient first. In a table only rows with a gradient decay.
  float weight_decay = 0.0F;
  float dampening = 0.0F;  ///< Only without `use_nesterov`.

  /// Returns the values kept beside each variable.
  [[nodiscard]] static constexpr auto slots() noexcept -> std::array<Slot, 1> {
    return {Slot{.name = "Momentum", .initial = 0.0F}};
  }

  /// Calls `field(key, self.member)` for each hyper-parameter, in the order of `describe()`. `key` is the name of the
  /// hyper-parameter in that text. `self` is an object of this type: const to read its members, not const to set them.
  /// Throws what `field` throws.
  static void fields(auto& self, auto& field) {
    field("learning_rate", self.learning_rate);
    field("momentum", self.momentum);
    field("use_nesterov", self.use_nesterov);
    field.optional("weight_decay", self.weight_decay, 0.0F);
    field.optional("dampening", self.dampening, 0.0F);
  }

  /// Returns the hyper-parameters as text: "learning_rate=0.05 momentum=0.9 use_nesterov=false". `weight_decay`
  /// and `dampening` follow if they are not 0.
  [[nodiscard]] auto describe() const -> std::string { return describe_fields(*this); }

  /// Returns the updater whose `describe()` is `text`; empty for any other text.
  [[nodiscard]] static auto parse(std::string_view text) -> std::optional<Momentum> {
    return parse_fields<Momentum>(text);
  }

  /// Sets `ec` to `optimizer_errc::negative` if `weight_decay` is below 0, and to `dampened_nesterov` if there are both
  /// a dampening and `use_nesterov`; otherwise leaves `ec` unchanged.
  void check(std::error_code& ec) const noexcept {
    if (!(weight_decay >= 0.0F)) ec = optimizer_errc::negative;
    else if (use_nesterov && dampening != 0.0F) ec = optimizer_errc::dampened_nesterov;
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

  [[nodiscard]] auto operator==(const Momentum&) const noexcept -> bool = default;

 private:
  void visit(UpdateStep step, auto&& f) const noexcept {
    const float rate = step.rate(learning_rate.at(step.count));
    const float share = step.of_slots() <= 1 ? 1.0F : detail::opaque(1.0F - dampening);
    if (dampening != 0.0F) f(detail::DampenedMomentumFactors{rate, momentum, share, weight_decay});
    else if (use_nesterov) detail::with_decay(detail::NesterovFactors<>{rate, momentum}, weight_decay, f);
    else detail::with_decay(detail::MomentumFactors<>{rate, momentum}, weight_decay, f);
  }
};

static_assert(Updater<Momentum>);

}  // namespace v0
}  // namespace distrib

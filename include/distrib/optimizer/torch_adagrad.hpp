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

/// Adagrad as PyTorch's `Adagrad` has it (torch/optim/adagrad.py). With t the number of the update: g += weight_decay *
/// w; a += g * g; w -= learning_rate / (1 + (t - 1) * rate_decay) * g / (sqrt(a) + epsilon).
///
/// The differences to `Adagrad`: there is an epsilon, and a is 0 at first. In a table only rows with a gradient change,
/// as with PyTorch's sparse gradients; there PyTorch refuses a weight decay, and here these rows decay. A model of
/// `Updater`.
struct TorchAdagrad {
  static constexpr std::string_view name = "torch_adagrad";  ///< Name of the updater in the text of a job.
  /// True: the rate is multiplied by `UpdateStep::rate_factor`.
  static constexpr bool scales_rate = true;

  LearningRate learning_rate = 0.01F;  ///< A number, or a schedule by the number of the update.
  double rate_decay = 0;  ///< lr_decay: makes the rate smaller, beside its schedule. 0 or more.
  float weight_decay = 0.0F;  ///< 0 or more.
  float initial_accumulator_value = 0.0F;  ///< Initial value of a. 0 or more.
  float epsilon = 1e-10F;  ///< Above 0, or 0 if the initial value of a is above 0.

  /// Returns the values kept beside each variable, with PyTorch's name.
  [[nodiscard]] constexpr auto slots() const noexcept -> std::array<Slot, 1> {
    return {Slot{.name = "sum", .initial = initial_accumulator_value}};
  }

  /// Calls `field(key, self.member)` for each hyper-parameter, in the order of `describe()`. `key` is the name of the
  /// hyper-parameter in that text. `self` is an object of this type: const to read its members, not const to set them.
  /// Throws what `field` throws.
  static void fields(auto& self, auto& field) {
    field("learning_rate", self.learning_rate);
    field("rate_decay", self.rate_decay);
    field("weight_decay", self.weight_decay);
    field("initial_accumulator_value", self.initial_accumulator_value);
    field("epsilon", self.epsilon);
  }

  /// Returns the hyper-parameters as text: "learning_rate=0.01 rate_decay=0 weight_decay=0 initial_accumulator_value=0
  /// epsilon=1e-10".
  [[nodiscard]] auto describe() const -> std::string { return describe_fields(*this); }

  /// Returns the updater whose `describe()` is `text`; empty for any other text.
  [[nodiscard]] static auto parse(std::string_view text) -> std::optional<TorchAdagrad> {
    return parse_fields<TorchAdagrad>(text);
  }

  /// Sets `ec` to `optimizer_errc::negative` if a number is below 0, and to `accumulator_not_positive` if both
  /// `initial_accumulator_value` and `epsilon` are 0; otherwise leaves `ec` unchanged.
  void check(std::error_code& ec) const noexcept {
    if (!(rate_decay >= 0 && weight_decay >= 0.0F && initial_accumulator_value >= 0.0F && epsilon >= 0.0F))
      ec = optimizer_errc::negative;
    else if (!(initial_accumulator_value + epsilon > 0.0F)) ec = optimizer_errc::accumulator_not_positive;
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

  [[nodiscard]] auto operator==(const TorchAdagrad&) const noexcept -> bool = default;

 private:
  [[nodiscard]] auto factors(UpdateStep step) const noexcept -> detail::TorchAdagradFactors<> {
    using Real = detail::Rounded<double>;
    const Real before{static_cast<double>(step.count == 0 ? 0 : step.count - 1)};
    const Real rate =
        Real{static_cast<double>(step.rate(learning_rate.at(step.count)))} / (Real{1.0} + before * Real{rate_decay});
    return {.rate = static_cast<float>(rate.value), .weight_decay = weight_decay, .epsilon = epsilon};
  }
};

static_assert(Updater<TorchAdagrad>);

}  // namespace v0
}  // namespace distrib

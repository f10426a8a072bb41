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

/// RMSProp as PyTorch's `RMSprop` has it (torch/optim/rmsprop.py, not centered): g += weight_decay * w; ms = ms * decay
/// + (1 - decay) * g * g; mom = momentum * mom + g / (sqrt(ms) + epsilon); w -= learning_rate * mom. PyTorch calls
/// `decay` alpha.
///
/// The differences to `RMSProp`: epsilon is outside the root, ms is 0 at first, and the rate is not part of mom, so a
/// change of the rate acts at once. In a table only rows with a gradient change. A model of `Updater`.
struct TorchRMSProp {
  static constexpr std::string_view name = "torch_rmsprop";  ///< Name of the updater in the text of a job.
  /// True: the rate is multiplied by `UpdateStep::rate_factor`.
  static constexpr bool scales_rate = true;

  LearningRate learning_rate = 0.01F;  ///< A number, or a schedule by the number of the update.
  double decay = 0.99;  ///< Part of ms that stays at an update.
  float epsilon = 1e-8F;  ///< Added to the root of ms. 0 or more.
  float weight_decay = 0.0F;  ///< 0 or more.
  float momentum = 0.0F;  ///< Part of mom that stays at an update.

  /// Returns the values kept beside each variable, with PyTorch's names.
  [[nodiscard]] static constexpr auto slots() noexcept -> std::array<Slot, 2> {
    return {Slot{.name = "square_avg", .initial = 0.0F}, Slot{.name = "momentum_buffer", .initial = 0.0F}};
  }

  /// Calls `field(key, self.member)` for each hyper-parameter, in the order of `describe()`. `key` is the name of the
  /// hyper-parameter in that text. `self` is an object of this type: const to read its members, not const to set them.
  /// Throws what `field` throws.
  static void fields(auto& self, auto& field) {
    field("learning_rate", self.learning_rate);
    field("decay", self.decay);
    field("epsilon", self.epsilon);
    field("weight_decay", self.weight_decay);
    field("momentum", self.momentum);
  }

  /// Returns the hyper-parameters as text: "learning_rate=0.01 decay=0.99 epsilon=1e-08 weight_decay=0 momentum=0".
  [[nodiscard]] auto describe() const -> std::string { return describe_fields(*this); }

  /// Returns the updater whose `describe()` is `text`; empty for any other text.
  [[nodiscard]] static auto parse(std::string_view text) -> std::optional<TorchRMSProp> {
    return parse_fields<TorchRMSProp>(text);
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

  [[nodiscard]] auto operator==(const TorchRMSProp&) const noexcept -> bool = default;

 private:
  [[nodiscard]] auto factors(UpdateStep step) const noexcept -> detail::TorchRMSPropFactors<> {
    return {.rate = step.rate(learning_rate.at(step.count)),
            .keep = static_cast<float>(decay),
            .blend = detail::blend(decay),
            .epsilon = epsilon,
            .weight_decay = weight_decay,
            .momentum = momentum};
  }
};

static_assert(Updater<TorchRMSProp>);

}  // namespace v0
}  // namespace distrib

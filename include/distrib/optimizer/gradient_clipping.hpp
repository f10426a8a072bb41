// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/shortest_text.hpp>
#include <distrib/optimizer/error.hpp>

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>

namespace distrib {
inline namespace v0 {

/// Scales a gradient whose l2 norm is above `max_norm`: multiplied by max_norm / (norm + 1e-6) unless that is 1 or
/// more, as PyTorch's clip_grad_norm_. The norm is that of the whole gradient, of all variables together.
struct ClipByNorm {
  float max_norm = 1.0F;  ///< Above 0, and finite.

  [[nodiscard]] auto operator==(const ClipByNorm&) const noexcept -> bool = default;
};

/// Moves each element of a gradient into [-max_value, max_value], as PyTorch's clip_grad_value_.
struct ClipByValue {
  float max_value = 1.0F;  ///< Above 0, and finite.

  [[nodiscard]] auto operator==(const ClipByValue&) const noexcept -> bool = default;
};

/// How a gradient is made smaller before it is sent: `ClipByNorm`, `ClipByValue`, or not at all. A value, converted
/// implicitly from each of them. Default: not at all.
class GradientClipping {
 public:
  /// Chooses no clipping.
  GradientClipping() = default;
  /// Chooses this clipping. It is not checked here.
  GradientClipping(ClipByNorm choice) : choice_{choice} {}  // NOLINT: implicit on purpose
  GradientClipping(ClipByValue choice) : choice_{choice} {}  // NOLINT

  /// Return the choice, valid as long as this object; null if another clipping, or none, is chosen.
  [[nodiscard]] auto by_norm() const noexcept -> const ClipByNorm* { return std::get_if<ClipByNorm>(&choice_); }
  [[nodiscard]] auto by_value() const noexcept -> const ClipByValue* { return std::get_if<ClipByValue>(&choice_); }

  /// Returns the canonical text: "norm 1", "value 0.5", or an empty text for no clipping.
  [[nodiscard]] auto describe() const -> std::string {
    if (by_norm() != nullptr) return "norm " + detail::shortest_text(by_norm()->max_norm);
    if (by_value() != nullptr) return "value " + detail::shortest_text(by_value()->max_value);
    return {};
  }

  /// Returns the clipping whose `describe()` is `text` and which `check` accepts; empty for any other text.
  [[nodiscard]] static auto parse(std::string_view text) -> std::optional<GradientClipping> {
    std::string_view bound = text;
    const std::string_view kind = detail::cut_before(bound, ' ');
    GradientClipping found;
    if (const auto number = detail::parse_shortest<float>(bound)) {
      if (kind == "norm") found = ClipByNorm{*number};
      if (kind == "value") found = ClipByValue{*number};
    }
    std::error_code ec;
    found.check(ec);
    return !ec && found.describe() == text ? std::optional{found} : std::nullopt;
  }

  /// Sets `ec` to `optimizer_errc::clipping_not_positive` if the bound is not positive and finite; otherwise leaves
  /// `ec` unchanged.
  void check(std::error_code& ec) const noexcept {
    const float bound = by_norm() != nullptr ? by_norm()->max_norm : by_value() != nullptr ? by_value()->max_value : 1;
    if (!(bound > 0 && bound <= std::numeric_limits<float>::max())) ec = optimizer_errc::clipping_not_positive;
  }

  [[nodiscard]] auto operator==(const GradientClipping&) const noexcept -> bool = default;

 private:
  std::variant<std::monostate, ClipByNorm, ClipByValue> choice_;
};

}  // namespace v0
}  // namespace distrib

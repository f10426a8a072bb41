// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/float_format.hpp>

#include <string_view>

namespace distrib {
inline namespace v0 {

/// Gradients travel as int8 numbers: in blocks of 256 elements with a scale each, rounded at random
/// (`core/int8_blocks.hpp`). Values travel as bfloat16. So a step moves 3/8 of the bytes of float32. The directions are
/// a function of (seed, step, rank, element), so a contribution that is made again has the same bytes. A block with an
/// element that is not finite arrives as NaN, which `with_check_numerics` finds; one whose elements are all below
/// 2^-100 arrives as zeros.
struct Int8Gradients {
  [[nodiscard]] auto operator==(const Int8Gradients&) const noexcept -> bool = default;
};

/// The form in which values and gradients travel: both in one `FloatFormat`, or as `Int8Gradients` says. A value.
class WireFormat {
 public:
  constexpr WireFormat() noexcept = default;  ///< Both are float32.
  constexpr WireFormat(FloatFormat both) noexcept : values_{both} {}
  constexpr WireFormat(Int8Gradients) noexcept : values_{FloatFormat::bfloat16}, int8_gradients_{true} {}

  /// The format of values; that of gradients too, unless `int8_gradients()`.
  [[nodiscard]] constexpr auto values() const noexcept -> FloatFormat { return values_; }
  /// True if gradients travel as int8 numbers.
  [[nodiscard]] constexpr auto int8_gradients() const noexcept -> bool { return int8_gradients_; }

  [[nodiscard]] friend constexpr auto operator==(WireFormat, WireFormat) noexcept -> bool = default;

 private:
  FloatFormat values_ = FloatFormat::float32;
  bool int8_gradients_ = false;
};

/// Returns the words for it in a job's description.
[[nodiscard]] constexpr auto to_text(WireFormat format) noexcept -> std::string_view {
  return format.int8_gradients() ? std::string_view{"int8 gradients"} : to_text(format.values());
}

}  // namespace v0
}  // namespace distrib

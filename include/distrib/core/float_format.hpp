// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/dtype.hpp>

#include <cstdint>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// Format in which float32 numbers are kept or sent: numbers on the wire (`Job::wire_format`), and the rows of a table
/// (`TableInfo::kept_as`). All arithmetic on them is in float32. Numbers are rounded to 16 bits to the nearest, ties to
/// even (the rows of a table: at random), and NaN stays NaN.
enum class FloatFormat : std::uint8_t {
  float32,  ///< 4 bytes, unchanged.
  bfloat16,  ///< 2 bytes: the range of float32, 8 significant bits.
  /// 2 bytes: 11 significant bits, magnitudes from 6e-8 to 65504. From 65520 on they become infinite.
  float16,
};

namespace detail {

/// Returns the element type that files and job descriptions name.
[[nodiscard]] constexpr auto to_dtype(FloatFormat format) noexcept -> DType {
  return format == FloatFormat::bfloat16  ? DType::bfloat16
         : format == FloatFormat::float16 ? DType::float16
                                          : DType::float32;
}

}  // namespace detail

/// Returns the name in a job's description, which is TensorFlow's name of the type.
[[nodiscard]] constexpr auto to_text(FloatFormat format) noexcept -> std::string_view {
  return name(detail::to_dtype(format));
}

}  // namespace v0
}  // namespace distrib

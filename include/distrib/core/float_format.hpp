// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/dtype.hpp>

#include <cstdint>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// As what numbers are kept that are worked on as float32: those that travel (`Job::wire_format`), and the rows of a
/// table (`TableInfo::kept_as`). Those of 16 bits are `core/half.hpp`'s.
enum class FloatFormat : std::uint8_t {
  float32,   ///< As they are.
  bfloat16,  ///< 2 bytes: the range of float32, 8 significant bits.
  float16,   ///< 2 bytes: 11 significant bits, from 6e-8 to 65504; beyond is infinite (see `check_numerics`).
};

namespace detail {

/// Its type as files and jobs name it.
[[nodiscard]] constexpr auto to_dtype(FloatFormat format) noexcept -> DType {
  return format == FloatFormat::bfloat16  ? DType::bfloat16
         : format == FloatFormat::float16 ? DType::float16
                                          : DType::float32;
}

}  // namespace detail

/// As a job's text has it: TensorFlow's name of the type.
[[nodiscard]] constexpr auto to_text(FloatFormat format) noexcept -> std::string_view {
  return name(detail::to_dtype(format));
}

}  // namespace v0
}  // namespace distrib

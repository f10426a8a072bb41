// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
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

/// Its type as files and jobs name it.
[[nodiscard]] constexpr auto to_dtype(FloatFormat format) noexcept -> DType {
  return format == FloatFormat::bfloat16  ? DType::bfloat16
         : format == FloatFormat::float16 ? DType::float16
                                          : DType::float32;
}

/// As a job's text has it: TensorFlow's name of the type.
[[nodiscard]] constexpr auto to_text(FloatFormat format) noexcept -> std::string_view { return name(to_dtype(format)); }

/// Bytes of an element.
[[nodiscard]] constexpr auto element_bytes(FloatFormat format) noexcept -> std::size_t {
  return size_bytes(to_dtype(format));
}

/// Writes elements, rounded to the nearest. `to` has an address for such elements, and room for as many.
DISTRIB_DECL void encode_elements(FloatFormat format, std::span<const float> elements, std::byte* to) noexcept;

/// Reads as many elements as `elements` has, which may be a stranger's: any bits are some number, or NaN.
DISTRIB_DECL void decode_elements(FloatFormat format, const std::byte* from, std::span<float> elements) noexcept;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/float_format.ipp>
#endif

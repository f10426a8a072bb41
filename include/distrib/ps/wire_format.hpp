// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/dtype.hpp>
#include <distrib/core/half.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace distrib::inline v0 {

/// As what the elements of variables and tables travel between workers and parameter servers: values and gradients
/// alike. Both keep float32; what is sent as another type is rounded by who sends it, to the nearest: `core/half.hpp`.
enum class WireFormat : std::uint8_t {
  float32,   ///< As they are. The default.
  bfloat16,  ///< 2 bytes: the range of float32, 8 significant bits.
  float16,   ///< 2 bytes: 11 significant bits, from 6e-8 to 65504; beyond is infinite (see `check_numerics`).
};

/// Its type as files and jobs name it.
[[nodiscard]] constexpr auto dtype_of_wire(WireFormat format) noexcept -> DType {
  return format == WireFormat::bfloat16  ? DType::bfloat16
         : format == WireFormat::float16 ? DType::float16
                                         : DType::float32;
}

/// As a job's text has it: TensorFlow's name of the type.
[[nodiscard]] constexpr auto to_text(WireFormat format) noexcept -> std::string_view {
  return name(dtype_of_wire(format));
}

/// Bytes of an element on its way.
[[nodiscard]] constexpr auto wire_element_bytes(WireFormat format) noexcept -> std::size_t {
  return size_bytes(dtype_of_wire(format));
}

/// Writes elements as they travel. `to` has an address for such elements, and room for as many.
template <class = void>
inline void encode_elements(WireFormat format, std::span<const float> elements, std::byte* to) noexcept {
  const std::span halves{reinterpret_cast<std::uint16_t*>(to), elements.size()};
  if (format == WireFormat::bfloat16) to_bfloat16(elements, halves);
  else if (format == WireFormat::float16) to_float16(elements, halves);
  else if (!elements.empty()) std::memcpy(to, elements.data(), elements.size_bytes());
}

/// Reads as many elements as `elements` has, which may be a stranger's: any bits are some number, or NaN.
template <class = void>
inline void decode_elements(WireFormat format, const std::byte* from, std::span<float> elements) noexcept {
  const std::span halves{reinterpret_cast<const std::uint16_t*>(from), elements.size()};
  if (format == WireFormat::bfloat16) from_bfloat16(halves, elements);
  else if (format == WireFormat::float16) from_float16(halves, elements);
  else if (!elements.empty()) std::memcpy(elements.data(), from, elements.size_bytes());
}

}  // namespace distrib::inline v0

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/float_format.hpp>

#include <cstddef>
#include <span>

namespace distrib {
inline namespace v0 {

/// Bytes of an element.
[[nodiscard]] constexpr auto element_bytes(FloatFormat format) noexcept -> std::size_t {
  return size_bytes(detail::to_dtype(format));
}

/// Writes elements, rounded to the nearest. `to` has an address for such elements, and room for as many.
DISTRIB_DECL void encode_elements(FloatFormat format, std::span<const float> elements, std::byte* to) noexcept;

/// Reads as many elements as `elements` has, which may be a stranger's: any bits are some number, or NaN.
DISTRIB_DECL void decode_elements(FloatFormat format, const std::byte* from, std::span<float> elements) noexcept;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/float_codec.ipp>
#endif

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/float_format.hpp>

#include <cstddef>
#include <span>

namespace distrib {
inline namespace v0 {

/// Returns the size of one element in bytes: 4 or 2.
[[nodiscard]] constexpr auto element_bytes(FloatFormat format) noexcept -> std::size_t {
  return size_bytes(detail::to_dtype(format));
}

/// Writes `elements` in `format`, rounded to nearest. `to` must be aligned for elements of this format and have memory
/// for `elements.size()` of them.
DISTRIB_DECL void encode_elements(FloatFormat format, std::span<const float> elements, std::byte* to) noexcept;

/// Reads `elements.size()` elements of `format` at `from`, which must be aligned for them. The bytes may come from an
/// untrusted peer: every pattern of bits is a number, infinite, or NaN.
DISTRIB_DECL void decode_elements(FloatFormat format, const std::byte* from, std::span<float> elements) noexcept;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/float_codec.ipp>
#endif

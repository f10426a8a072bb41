// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/float_codec.hpp>

#include <distrib/core/half.hpp>

#include <cstdint>
#include <cstring>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void encode_elements(FloatFormat format, std::span<const float> elements, std::byte* to) noexcept {
  const std::span halves{reinterpret_cast<std::uint16_t*>(to), elements.size()};
  if (format == FloatFormat::bfloat16) to_bfloat16(elements, halves);
  else if (format == FloatFormat::float16) to_float16(elements, halves);
  else if (!elements.empty()) std::memcpy(to, elements.data(), elements.size_bytes());
}

DISTRIB_DECL void decode_elements(FloatFormat format, const std::byte* from, std::span<float> elements) noexcept {
  const std::span halves{reinterpret_cast<const std::uint16_t*>(from), elements.size()};
  if (format == FloatFormat::bfloat16) from_bfloat16(halves, elements);
  else if (format == FloatFormat::float16) from_float16(halves, elements);
  else if (!elements.empty()) std::memcpy(elements.data(), from, elements.size_bytes());
}

}  // namespace v0
}  // namespace distrib

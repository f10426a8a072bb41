// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Returns a PNG (ISO/IEC 15948) of pixels with one byte per channel, row by row from the top. `channels`: 1: grey; 2:
/// grey and alpha; 3: red, green and blue; 4: these and alpha. For small pictures: rows are compressed without filters,
/// and together must be below 4 GiB. The number of pixels must match, and none of the sizes may be 0 (asserts).
[[nodiscard]] DISTRIB_DECL auto encode_png(ByteView pixels, std::uint32_t height, std::uint32_t width,
                                           std::uint32_t channels) -> std::vector<std::byte>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/summary/impl/png.ipp>
#endif

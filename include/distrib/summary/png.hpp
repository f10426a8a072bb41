// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A PNG (ISO/IEC 15948) of pixels of one byte a channel, row by row from the top. `channels`: 1 grey, 2 grey and
/// alpha, 3 red, green and blue, 4 with alpha. For small pictures: rows are deflated as they are, up to 4 GiB of them.
/// Programmer error: another number of pixels, no pixels, another number of channels.
[[nodiscard]] DISTRIB_DECL auto encode_png(ByteView pixels, std::uint32_t height, std::uint32_t width,
                                           std::uint32_t channels) -> std::vector<std::byte>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/summary/impl/png.ipp>
#endif

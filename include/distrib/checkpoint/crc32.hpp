// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>

#include <cstdint>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Returns the CRC-32 of some earlier bytes followed by `bytes`: the checksum of zip archives (ISO 3309, reflected,
/// initial and final inversion). `crc` is the CRC-32 of the earlier bytes; 0 if there are none. The check value, the
/// CRC of "123456789", is 0xCBF43926.
///
/// Threads: any.
[[nodiscard]] DISTRIB_DECL auto crc32_extend(std::uint32_t crc, ByteView bytes) noexcept -> std::uint32_t;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/crc32.ipp>
#endif

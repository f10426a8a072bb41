// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>

#include <cstdint>

namespace distrib {
inline namespace v0 {

/// The checksum of a message's header, head and body: CRC-32C. The library uses `FrameChecksum<void>`.
///
/// A template so that a benchmark can measure what checksums cost: it specialises this for `void` in a header-only
/// program, before any other header of the library is included. Both ends of a connection must do so.
template <class>
struct FrameChecksum {
  [[nodiscard]] static auto of(ByteView bytes) noexcept -> std::uint32_t { return crc32c(bytes); }

  /// The checksum of the bytes that have the checksum `sum`, followed by `bytes`.
  [[nodiscard]] static auto extend(std::uint32_t sum, ByteView bytes) noexcept -> std::uint32_t {
    return detail::crc32c_extend(sum, bytes);
  }
};

}  // namespace v0
}  // namespace distrib

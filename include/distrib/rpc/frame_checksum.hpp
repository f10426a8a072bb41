// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>

#include <cstdint>

namespace distrib {
inline namespace v0 {

/// The checksum of a frame's header, head and body: CRC-32C. The library uses `FrameChecksum<void>`.
///
/// It is a template so that a benchmark can measure the cost of checksums: the benchmark is header-only and specialises
/// this for `void` before it includes any other header of the library. Both ends of a connection must use the same
/// specialisation.
template <class>
struct FrameChecksum {
  [[nodiscard]] static auto of(ByteView bytes) noexcept -> std::uint32_t { return crc32c(bytes); }

  /// Returns the checksum of a sequence that consists of bytes with the checksum `sum`, followed by `bytes`.
  [[nodiscard]] static auto extend(std::uint32_t sum, ByteView bytes) noexcept -> std::uint32_t {
    return detail::crc32c_extend(sum, bytes);
  }
};

}  // namespace v0
}  // namespace distrib

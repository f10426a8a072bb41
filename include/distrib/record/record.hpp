// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace distrib {
inline namespace v0 {

/// A verified record. The function that returns it says how long `bytes` stays valid.
struct Record {
  ByteView bytes;            ///< The payload.
  std::uint64_t offset = 0;  ///< Where its header begins in the file; for a compressed file, in the inflated bytes.
  std::uint64_t number = 0;  ///< Number of records before it in the file; a range that was lost counts as one.
  /// True if it was found after damage and may be no record of the file: the headers that follow it do not lead to the
  /// end of the file. That happens with a TFRecord file that lies in a payload.
  bool suspect = false;
};

/// Returns the 12 bytes that stand before a payload of `payload_bytes` bytes in a TFRecord file: the length, and the
/// masked CRC-32C of these 8 bytes (`mask_crc`), both little-endian.
[[nodiscard]] inline auto encode_record_header(std::uint64_t payload_bytes) noexcept -> std::array<std::byte, 12> {
  std::array<std::byte, 12> header;
  store_le(header.data(), payload_bytes);
  // With tables: for eight bytes the call of a faster routine does not pay.
  store_le(header.data() + 8, mask_crc(~detail::crc32c_portable(~std::uint32_t{0}, ByteView{header}.first(8))));
  return header;
}

/// Returns the 4 bytes that stand after `payload` in a TFRecord file: its masked CRC-32C (`mask_crc`), little-endian.
[[nodiscard]] inline auto encode_record_footer(ByteView payload) noexcept -> std::array<std::byte, 4> {
  std::array<std::byte, 4> footer;
  store_le(footer.data(), mask_crc(crc32c(payload)));
  return footer;
}

}  // namespace v0
}  // namespace distrib

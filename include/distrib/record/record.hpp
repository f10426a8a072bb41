// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace distrib {
inline namespace v0 {

/// A verified record. How long `bytes` lives is said by whoever hands it out.
struct Record {
  ByteView bytes;            ///< The payload.
  std::uint64_t offset = 0;  ///< Where its header begins in the file; of a compressed file, in what it inflates to.
  std::uint64_t number = 0;  ///< Records before it in the file; a range that was lost counts as one.
  bool suspect = false;  ///< Found behind damage, and perhaps no record of the file: the headers from there on do
      ///< not lead to the end of the file, as those of a TFRecord within a payload do not.
};

/// What stands before a payload of `payload_bytes`: the length and its checksum.
[[nodiscard]] inline auto encode_record_header(std::uint64_t payload_bytes) noexcept -> std::array<std::byte, 12> {
  std::array<std::byte, 12> header;
  store_le(header.data(), payload_bytes);
  // By tables, because eight bytes are not worth the call of anything faster.
  store_le(header.data() + 8, mask_crc(~detail::crc32c_portable(~std::uint32_t{0}, ByteView{header}.first(8))));
  return header;
}

/// What stands after `payload`: its checksum.
[[nodiscard]] inline auto encode_record_footer(ByteView payload) noexcept -> std::array<std::byte, 4> {
  std::array<std::byte, 4> footer;
  store_le(footer.data(), mask_crc(crc32c(payload)));
  return footer;
}

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace distrib {
inline namespace v0 {

// One record of a TFRecord file (tensorflow/core/lib/io/record_writer.h): length u64, masked CRC-32C of the length,
// payload, masked CRC-32C of the payload; all little-endian. Nothing before, between or after records.

inline constexpr std::size_t record_header_bytes = 12;                        ///< Length and its checksum.
inline constexpr std::size_t record_footer_bytes = 4;                         ///< Checksum of the payload.
inline constexpr std::size_t record_frame_bytes = record_header_bytes + record_footer_bytes;  ///< Both.

/// A verified record. How long `bytes` lives is said by whoever hands it out.
struct Record {
  ByteView bytes;            ///< The payload.
  std::uint64_t offset = 0;  ///< Where its header begins in the file; of a compressed file, in what it inflates to.
  std::uint64_t number = 0;  ///< Records before it in the file; a range that was lost counts as one.
  bool suspect = false;  ///< Found behind damage, and perhaps no record of the file: the headers from there on do
      ///< not lead to the end of the file, as those of a TFRecord within a payload do not.
};

/// What stands before a payload of `payload_bytes`.
[[nodiscard]] inline auto encode_record_header(std::uint64_t payload_bytes) noexcept
    -> std::array<std::byte, record_header_bytes> {
  std::array<std::byte, record_header_bytes> header;
  store_le(header.data(), payload_bytes);
  // By tables, because eight bytes are not worth the call of anything faster.
  store_le(header.data() + 8, mask_crc(~detail::crc32c_portable(~std::uint32_t{0}, ByteView{header}.first(8))));
  return header;
}

/// What stands after `payload`.
[[nodiscard]] inline auto encode_record_footer(ByteView payload) noexcept
    -> std::array<std::byte, record_footer_bytes> {
  std::array<std::byte, record_footer_bytes> footer;
  store_le(footer.data(), mask_crc(crc32c(payload)));
  return footer;
}

/// The payload length that a header announces; empty when its checksum does not match. A matching checksum proves no
/// good intent: bound the length by the bytes that are there before using it.
[[nodiscard]] inline auto parse_record_header(std::span<const std::byte, record_header_bytes> header) noexcept
    -> std::optional<std::uint64_t> {
  if (mask_crc(crc32c(header.first(8))) != load_le<std::uint32_t>(header.data() + 8)) return std::nullopt;
  return load_le<std::uint64_t>(header.data());
}

/// Whether `footer` is the one of `payload`.
[[nodiscard]] inline auto payload_matches(ByteView payload,
                                          std::span<const std::byte, record_footer_bytes> footer) noexcept -> bool {
  return mask_crc(crc32c(payload)) == load_le<std::uint32_t>(footer.data());
}

}  // namespace v0
}  // namespace distrib

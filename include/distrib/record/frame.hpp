// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/record/record.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace distrib {
inline namespace v0 {

// One record of a TFRecord file (tensorflow/core/lib/io/record_writer.h): length u64, masked CRC-32C of the length,
// payload, masked CRC-32C of the payload; all little-endian. A file has nothing before, between or after its records.

/// Bytes of a record's header: the length and its checksum.
inline constexpr std::size_t record_header_bytes = 12;
/// Bytes of a record's footer: the checksum of the payload.
inline constexpr std::size_t record_footer_bytes = 4;
/// Bytes of header and footer together.
inline constexpr std::size_t record_frame_bytes = record_header_bytes + record_footer_bytes;

/// Returns the payload length that a header announces, or nothing if its checksum does not match. Trap: a file made on
/// purpose has matching checksums too, so compare the length with the number of bytes that follow before you use it.
[[nodiscard]] inline auto parse_record_header(std::span<const std::byte, record_header_bytes> header) noexcept
    -> std::optional<std::uint64_t> {
  if (mask_crc(crc32c(header.first(8))) != load_le<std::uint32_t>(header.data() + 8)) return std::nullopt;
  return load_le<std::uint64_t>(header.data());
}

/// True if `footer` is the checksum of `payload`.
[[nodiscard]] inline auto payload_matches(ByteView payload,
                                          std::span<const std::byte, record_footer_bytes> footer) noexcept -> bool {
  return mask_crc(crc32c(payload)) == load_le<std::uint32_t>(footer.data());
}

}  // namespace v0
}  // namespace distrib

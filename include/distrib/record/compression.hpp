// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/record/frame.hpp>

#include <cstddef>

namespace distrib::inline v0 {

/// How a whole record file is wrapped. TensorFlow's names are "", "GZIP" and "ZLIB".
enum class Compression {
  none,
  gzip,  ///< RFC 1952; members that follow each other are one stream.
  zlib,  ///< RFC 1950; exactly one stream.
};

/// Bytes that `detect_compression` wants to see.
inline constexpr std::size_t detection_bytes = record_header_bytes;

/// How a record file is wrapped, from its first `detection_bytes` (fewer if it is shorter), never from its name: a
/// record header with the right checksum is plain (wrong once in 2^32), then the magic of gzip or zlib decides, and
/// what is neither is plain too, so that the reader calls it damaged.
[[nodiscard]] inline auto detect_compression(ByteView head) noexcept -> Compression {
  if (head.size() >= record_header_bytes && parse_record_header(head.first<record_header_bytes>()))
    return Compression::none;
  if (head.size() < 2) return Compression::none;
  const auto first = static_cast<unsigned>(head[0]);
  const auto second = static_cast<unsigned>(head[1]);
  if (first == 0x1F && second == 0x8B) return Compression::gzip;
  // Method 8, window of at most 32 KiB, no preset dictionary, check bits.
  if ((first & 0x0F) == 8 && first < 0x80 && (second & 0x20) == 0 && (first * 256 + second) % 31 == 0)
    return Compression::zlib;
  return Compression::none;
}

}  // namespace distrib::inline v0

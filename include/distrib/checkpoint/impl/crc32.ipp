// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/crc32.hpp>

#include <cstddef>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Row 0 holds the remainder of each byte, row k that of the byte followed by k zero bytes.
struct Crc32Tables {
  std::uint32_t rows[8][256];
};

DISTRIB_DECL auto make_crc32_tables() noexcept -> Crc32Tables {
  Crc32Tables tables{};
  auto& rows = tables.rows;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? 0xEDB8'8320U : 0U);
    rows[0][byte] = remainder;
  }
  for (std::size_t row = 1; row < 8; ++row)
    for (std::size_t byte = 0; byte < 256; ++byte)
      rows[row][byte] = (rows[row - 1][byte] >> 8) ^ rows[0][rows[row - 1][byte] & 0xFF];
  return tables;
}

// Slicing by eight.
DISTRIB_DECL auto crc32_extend(std::uint32_t crc, ByteView bytes) noexcept -> std::uint32_t {
  static const Crc32Tables tables = make_crc32_tables();
  const auto& rows = tables.rows;
  std::uint32_t state = ~crc;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    const auto word = load_le<std::uint64_t>(bytes.data()) ^ state;
    state = 0;
    for (std::size_t row = 0; row < 8; ++row) state ^= rows[7 - row][(word >> (8 * row)) & 0xFF];
  }
  for (const std::byte byte : bytes) state = (state >> 8) ^ rows[0][(state ^ static_cast<std::uint32_t>(byte)) & 0xFF];
  return ~state;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

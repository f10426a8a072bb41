// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>

#include <cstddef>
#include <cstdint>

namespace distrib {
inline namespace v0 {
namespace detail {

// All variants work on the inverted state; crc32c_extend inverts before and after. Numbers are reflected: bit 31 of a
// state is the coefficient of x^0.

/// Returns `a` times x modulo the Castagnoli polynomial.
constexpr auto crc32c_times_x(std::uint32_t a) noexcept -> std::uint32_t {
  return (a >> 1) ^ ((a & 1) != 0 ? 0x82F63B78U : 0U);
}

/// Returns `a` times `b` modulo the polynomial.
constexpr auto crc32c_product(std::uint32_t a, std::uint32_t b) noexcept -> std::uint32_t {
  std::uint32_t sum = 0;
  for (; b != 0; b <<= 1, a = crc32c_times_x(a))
    if ((b & 0x80000000U) != 0) sum ^= a;
  return sum;
}

/// Returns x^(8 * bytes - 33) modulo the polynomial, for `bytes` of 8 or more. A carry-less product with it moves a
/// number over `bytes` zero bytes. The product itself adds the other x^33. 1: the product of two reflected numbers has
/// one factor of x too many. 32: this constant is in the lower half of 64 bits, which for a reflected number is a
/// factor of x^32; or the lower half of the product goes through the crc instruction, which multiplies by x^32.
consteval auto crc32c_shift(std::size_t bytes) -> std::uint64_t {
  std::uint32_t power = 0x80000000U;  // x^0
  std::uint32_t square = 0x40000000U;
  for (std::size_t bits = 8 * bytes - 33; bits != 0; bits /= 2, square = crc32c_product(square, square))
    if (bits % 2 != 0) power = crc32c_product(power, square);
  return power;
}

/// Row 0 holds the remainder of each byte, row k that of the byte followed by k zero bytes. These are C arrays because
/// the compiler fills them several times faster than a std::array, which needs a function call for each access.
struct Crc32cTables {
  std::uint32_t rows[8][256];

  constexpr auto operator[](std::size_t row) const noexcept -> const std::uint32_t* { return rows[row]; }
};

consteval auto make_crc32c_tables() -> Crc32cTables {
  Crc32cTables tables{};
  auto& rows = tables.rows;
  std::uint32_t remainder = 1;
  for (std::size_t bit = 128; bit != 0; bit /= 2) {
    remainder = crc32c_times_x(remainder);
    for (std::size_t byte = bit; byte < 256; byte += 2 * bit) rows[0][byte] = remainder ^ rows[0][byte - bit];
  }
  for (std::size_t row = 1; row < 8; ++row)
    for (std::size_t byte = 0; byte < 256; ++byte)
      rows[row][byte] = (rows[row - 1][byte] >> 8) ^ rows[0][rows[row - 1][byte] & 0xFF];
  return tables;
}

inline constexpr Crc32cTables crc32c_tables = make_crc32c_tables();

constexpr auto crc32c_bytewise(std::uint32_t state, ByteView bytes) noexcept -> std::uint32_t {
  for (const std::byte byte : bytes)
    state = (state >> 8) ^ crc32c_tables[0][(state ^ static_cast<std::uint32_t>(byte)) & 0xFF];
  return state;
}

/// Slicing by 8, for machines without a crc instruction. The eight rows take 8 KiB of the cache.
inline auto crc32c_portable(std::uint32_t state, ByteView bytes) noexcept -> std::uint32_t {
  const auto& t = crc32c_tables;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    const std::uint64_t word = load_le<std::uint64_t>(bytes.data()) ^ state;
    state = t[7][word & 0xFF] ^ t[6][(word >> 8) & 0xFF] ^ t[5][(word >> 16) & 0xFF] ^ t[4][(word >> 24) & 0xFF] ^
            t[3][(word >> 32) & 0xFF] ^ t[2][(word >> 40) & 0xFF] ^ t[1][(word >> 48) & 0xFF] ^ t[0][word >> 56];
  }
  return crc32c_bytewise(state, bytes);
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

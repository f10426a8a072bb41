// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace distrib::inline v0 {

namespace detail {

/// Row 0 is the remainder of one byte under the reflected Castagnoli polynomial; row k that byte followed by k zeros.
using Crc32cTables = std::array<std::array<std::uint32_t, 256>, 8>;

consteval auto make_crc32c_tables() -> Crc32cTables {
  Crc32cTables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? 0x82F63B78U : 0U);
    tables[0][byte] = remainder;
  }
  for (std::size_t row = 1; row < tables.size(); ++row)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[row - 1][byte];
      tables[row][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  return tables;
}

inline constexpr Crc32cTables crc32c_tables = make_crc32c_tables();

// The loops work on the inverted state; crc32c_extend inverts before and after.

constexpr auto crc32c_bytewise(std::uint32_t state, ByteView bytes) noexcept -> std::uint32_t {
  for (const std::byte byte : bytes)
    state = (state >> 8) ^ crc32c_tables[0][(state ^ static_cast<std::uint32_t>(byte)) & 0xFF];
  return state;
}

/// Slicing by 8, for machines without a CRC instruction. Eight table rows cost 8 KiB of cache.
inline auto crc32c_portable(std::uint32_t state, ByteView bytes) noexcept -> std::uint32_t {
  const auto& t = crc32c_tables;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    const std::uint64_t word = load_le<std::uint64_t>(bytes.data()) ^ state;
    state = t[7][word & 0xFF] ^ t[6][(word >> 8) & 0xFF] ^ t[5][(word >> 16) & 0xFF] ^ t[4][(word >> 24) & 0xFF] ^
            t[3][(word >> 32) & 0xFF] ^ t[2][(word >> 40) & 0xFF] ^ t[1][(word >> 48) & 0xFF] ^ t[0][word >> 56];
  }
  return crc32c_bytewise(state, bytes);
}

#if defined(__x86_64__)
/// One crc32 instruction per 8 bytes. Call it only where the processor has SSE4.2.
__attribute__((target("sse4.2"))) inline auto crc32c_sse42(std::uint32_t state, ByteView bytes) noexcept
    -> std::uint32_t {
  std::uint64_t wide = state;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) wide = __builtin_ia32_crc32di(wide, load_le<std::uint64_t>(at));
  auto narrow = static_cast<std::uint32_t>(wide);
  if (left >= 4) {
    narrow = __builtin_ia32_crc32si(narrow, load_le<std::uint32_t>(at));
    at += 4;
    left -= 4;
  }
  for (; left > 0; ++at, --left) narrow = __builtin_ia32_crc32qi(narrow, static_cast<unsigned char>(*at));
  return narrow;
}

/// x^(8 * bytes - 33) modulo the polynomial, reflected: what a state is multiplied by to pass over so many zero bytes,
/// when the product then goes through the crc32 instruction, which multiplies by x^32, and a reflected product of 32-bit
/// numbers lacks a factor of x.
consteval auto crc32c_shift(std::size_t bytes) -> std::uint64_t {
  std::uint32_t power = 0x80000000U;  // x^0
  for (std::size_t bit = 33; bit < 8 * bytes; ++bit) power = (power >> 1) ^ ((power & 1) != 0 ? 0x82F63B78U : 0U);
  return power;
}

using Crc32cPair = long long __attribute__((vector_size(16)));

/// Three lanes at once, because the crc32 instruction takes three cycles and may begin every cycle; carry-less products
/// put the lanes together. Takes whole groups of three times `lane` bytes off `bytes`.
template <std::size_t lane>
__attribute__((target("sse4.2,pclmul"))) inline auto crc32c_lanes(std::uint32_t state, ByteView& bytes) noexcept
    -> std::uint32_t {
  constexpr auto two_lanes = static_cast<long long>(crc32c_shift(2 * lane));
  constexpr auto one_lane = static_cast<long long>(crc32c_shift(lane));
  while (bytes.size() >= 3 * lane) {
    std::uint64_t first = state;
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    const std::byte* at = bytes.data();
    for (const std::byte* const end = at + lane; at != end; at += 8) {
      first = __builtin_ia32_crc32di(first, load_le<std::uint64_t>(at));
      second = __builtin_ia32_crc32di(second, load_le<std::uint64_t>(at + lane));
      third = __builtin_ia32_crc32di(third, load_le<std::uint64_t>(at + 2 * lane));
    }
    const Crc32cPair states{static_cast<long long>(first), static_cast<long long>(second)};
    const Crc32cPair shifts{two_lanes, one_lane};
    const Crc32cPair sum = __builtin_ia32_pclmulqdq128(states, shifts, 0x00) ^
                           __builtin_ia32_pclmulqdq128(states, shifts, 0x11);
    state = static_cast<std::uint32_t>(__builtin_ia32_crc32di(0, static_cast<std::uint64_t>(sum[0])) ^ third);
    bytes = bytes.subspan(3 * lane);
  }
  return state;
}

/// The fastest of these. Call it only where the processor has SSE4.2 and PCLMULQDQ.
inline auto crc32c_pclmul(std::uint32_t state, ByteView bytes) noexcept -> std::uint32_t {
  state = crc32c_lanes<1024>(state, bytes);
  state = crc32c_lanes<128>(state, bytes);
  return crc32c_sse42(state, bytes);
}
#endif

}  // namespace detail

/// CRC-32C of some bytes followed by `bytes`, where `crc` is the CRC-32C of the former (0 when there are none).
/// Any length, any alignment; the same value on every machine, by the fastest way the processor offers. Any thread.
[[nodiscard]] constexpr auto crc32c_extend(std::uint32_t crc, ByteView bytes) noexcept -> std::uint32_t {
  if (std::is_constant_evaluated()) return ~detail::crc32c_bytewise(~crc, bytes);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul")) return ~detail::crc32c_pclmul(~crc, bytes);
  if (__builtin_cpu_supports("sse4.2")) return ~detail::crc32c_sse42(~crc, bytes);
#endif
  return ~detail::crc32c_portable(~crc, bytes);
}

/// CRC-32C of `bytes`: Castagnoli polynomial, reflected, initial and final inversion (RFC 3720, appendix B.4).
/// The check value, of "123456789", is 0xE3069283.
[[nodiscard]] constexpr auto crc32c(ByteView bytes) noexcept -> std::uint32_t { return crc32c_extend(0, bytes); }

/// A CRC as TFRecord files and checkpoint tables store it: rotated right by 15 bits, plus a constant, so that a CRC
/// over bytes that hold CRCs stays useful.
[[nodiscard]] constexpr auto mask_crc(std::uint32_t crc) noexcept -> std::uint32_t {
  return std::rotr(crc, 15) + 0xA282EAD8U;
}

/// The inverse of `mask_crc`.
[[nodiscard]] constexpr auto unmask_crc(std::uint32_t masked) noexcept -> std::uint32_t {
  return std::rotl(masked - 0xA282EAD8U, 15);
}

}  // namespace distrib::inline v0

// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__aarch64__)

#include <distrib/core/bytes.hpp>
#include <distrib/core/detail/crc32c_tables.hpp>

#include <arm_acle.h>
#include <sys/auxv.h>

#include <cstddef>
#include <cstdint>

#define DISTRIB_CRC32C_TARGET __attribute__((target("+crc+crypto")))

namespace distrib {
inline namespace v0 {
namespace detail {

/// Returns the carry-less product of two reflected 32-bit numbers, followed by 32 zero bits, modulo the polynomial.
DISTRIB_CRC32C_TARGET inline auto crc32c_moved(std::uint32_t state, std::uint64_t shift) noexcept -> std::uint32_t {
  using Longs = std::uint64_t __attribute__((vector_size(16)));
  Longs product;  // by asm: <arm_neon.h> takes longer to compile than crc32c.hpp
  asm("pmull %0.1q, %1.1d, %2.1d" : "=w"(product) : "w"(Longs{state, 0}), "w"(Longs{shift, 0}));
  return __crc32cd(0, product[0]);
}

/// Runs three chains at once, because the crc instruction takes three cycles and one can start in every cycle. Removes
/// whole groups of 3 * `chain_bytes` bytes from the front of `bytes`.
template <std::size_t chain_bytes>
DISTRIB_CRC32C_TARGET inline auto crc32c_chains(std::uint32_t state, ByteView& bytes) noexcept -> std::uint32_t {
  for (; bytes.size() >= 3 * chain_bytes; bytes = bytes.subspan(3 * chain_bytes)) {
    std::uint32_t second = 0;
    std::uint32_t third = 0;
    const std::byte* at = bytes.data();
    for (const std::byte* const end = at + chain_bytes; at != end; at += 8) {
      state = __crc32cd(state, load_le<std::uint64_t>(at));
      second = __crc32cd(second, load_le<std::uint64_t>(at + chain_bytes));
      third = __crc32cd(third, load_le<std::uint64_t>(at + 2 * chain_bytes));
      if (chain_bytes >= 512) __builtin_prefetch(at + 3 * chain_bytes);
    }
    state =
        crc32c_moved(state, crc32c_shift(2 * chain_bytes)) ^ crc32c_moved(second, crc32c_shift(chain_bytes)) ^ third;
  }
  return state;
}

/// Must be called only if `crc32c_has_arm()`.
DISTRIB_CRC32C_TARGET inline auto crc32c_arm(std::uint32_t state, ByteView bytes) noexcept -> std::uint32_t {
  state = crc32c_chains<1024>(state, bytes);
  state = crc32c_chains<128>(state, bytes);
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) state = __crc32cd(state, load_le<std::uint64_t>(bytes.data()));
  const std::byte* at = bytes.data();
  const std::size_t left = bytes.size();
  if ((left & 4) != 0) {
    state = __crc32cw(state, load_le<std::uint32_t>(at));
    at += 4;
  }
  if ((left & 2) != 0) {
    state = __crc32ch(state, load_le<std::uint16_t>(at));
    at += 2;
  }
  if ((left & 1) != 0) state = __crc32cb(state, static_cast<std::uint8_t>(*at));
  return state;
}

inline auto crc32c_has_arm() noexcept -> bool {
  constexpr unsigned long wanted = (1UL << 4) | (1UL << 7);  // PMULL and CRC32 of <asm/hwcap.h>
  static const bool has = (::getauxval(AT_HWCAP) & wanted) == wanted;
  return has;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#endif

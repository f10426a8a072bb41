// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__aarch64__)

#include <arm_neon.h>
#include <sys/auxv.h>

#include <array>
#include <cstddef>
#include <cstdint>

#define DISTRIB_SHA256_TARGET __attribute__((target("+crypto")))

namespace distrib {
inline namespace v0 {
namespace detail {

/// Does four rounds with the words `now`.
DISTRIB_SHA256_TARGET inline void sha256_four(uint32x4_t& abcd, uint32x4_t& efgh, const uint32x4_t& now,
                                              const std::uint32_t* constants) noexcept {
  const uint32x4_t added = vaddq_u32(now, vld1q_u32(constants));
  const uint32x4_t before = abcd;
  abcd = vsha256hq_u32(abcd, efgh, added);
  efgh = vsha256h2q_u32(efgh, before, added);
}

/// Returns the four words of the schedule that follow the 16 words `a`, `b`, `c`, `d`.
DISTRIB_SHA256_TARGET inline auto sha256_next(const uint32x4_t& a, const uint32x4_t& b, const uint32x4_t& c,
                                              const uint32x4_t& d) noexcept -> uint32x4_t {
  return vsha256su1q_u32(vsha256su0q_u32(a, b), c, d);
}

/// Returns four words of the message, which are big-endian.
DISTRIB_SHA256_TARGET inline auto sha256_load(const std::byte* at) noexcept -> uint32x4_t {
  return vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(reinterpret_cast<const std::uint8_t*>(at))));
}

/// Processes a block of 64 bytes. Must be called only if `sha256_has_arm()`.
DISTRIB_SHA256_TARGET inline void sha256_arm(std::array<std::uint32_t, 8>& state,
                                             const std::array<std::uint32_t, 64>& constants,
                                             const std::byte* block) noexcept {
  const uint32x4_t abcd_before = vld1q_u32(state.data());
  const uint32x4_t efgh_before = vld1q_u32(state.data() + 4);
  uint32x4_t abcd = abcd_before;
  uint32x4_t efgh = efgh_before;
  // The last 16 words of the schedule, each four in a variable of its own: in an array they would stay in memory.
  uint32x4_t a = sha256_load(block);
  uint32x4_t b = sha256_load(block + 16);
  uint32x4_t c = sha256_load(block + 32);
  uint32x4_t d = sha256_load(block + 48);
  for (const std::uint32_t* at = constants.data();; at += 16) {
    sha256_four(abcd, efgh, a, at);
    sha256_four(abcd, efgh, b, at + 4);
    sha256_four(abcd, efgh, c, at + 8);
    sha256_four(abcd, efgh, d, at + 12);
    if (at == constants.data() + 48) break;
    a = sha256_next(a, b, c, d);
    b = sha256_next(b, c, d, a);
    c = sha256_next(c, d, a, b);
    d = sha256_next(d, a, b, c);
  }
  vst1q_u32(state.data(), vaddq_u32(abcd, abcd_before));
  vst1q_u32(state.data() + 4, vaddq_u32(efgh, efgh_before));
}

/// True if the processor has the instructions of SHA-256.
inline auto sha256_has_arm() noexcept -> bool {
  constexpr unsigned long wanted = 1UL << 6;  // SHA2 of <asm/hwcap.h>
  static const bool has = (::getauxval(AT_HWCAP) & wanted) != 0;
  return has;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#undef DISTRIB_SHA256_TARGET

#endif

// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__x86_64__)

#include <cpuid.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#define DISTRIB_SHA256_TARGET __attribute__((target("sha,sse4.1,ssse3")))

namespace distrib {
inline namespace v0 {
namespace detail {

using Sha256Words = std::uint32_t __attribute__((vector_size(16)));  // unsigned: their sums may overflow
using Sha256Ints = int __attribute__((vector_size(16)));  // the same, as the instructions' functions have them

/// Returns four words of the message, which are big-endian.
DISTRIB_SHA256_TARGET inline auto sha256_load(const std::byte* at) noexcept -> Sha256Words {
  using Bytes = char __attribute__((vector_size(16)));
  Bytes bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  bytes = __builtin_shufflevector(bytes, bytes, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
  return reinterpret_cast<Sha256Words>(bytes);
}

/// Does two rounds with the first two of `words`; returns the new {F, E, B, A}.
DISTRIB_SHA256_TARGET inline auto sha256_two(const Sha256Words& cdgh, const Sha256Words& abef,
                                             const Sha256Words& words) noexcept -> Sha256Words {
  return reinterpret_cast<Sha256Words>(__builtin_ia32_sha256rnds2(
      reinterpret_cast<Sha256Ints>(cdgh), reinterpret_cast<Sha256Ints>(abef), reinterpret_cast<Sha256Ints>(words)));
}

/// Does four rounds with the words `now`. The state is two vectors, {F, E, B, A} and {H, G, D, C} with the standard's
/// letters.
DISTRIB_SHA256_TARGET inline void sha256_four(Sha256Words& abef, Sha256Words& cdgh, const Sha256Words& now,
                                              const std::uint32_t* constants) noexcept {
  Sha256Words added;
  std::memcpy(&added, constants, sizeof added);
  added += now;
  cdgh = sha256_two(cdgh, abef, added);
  added = __builtin_shufflevector(added, added, 2, 3, 2, 3);
  abef = sha256_two(abef, cdgh, added);
}

/// Returns the four words of the schedule that follow the 16 words `a`, `b`, `c`, `d`.
DISTRIB_SHA256_TARGET inline auto sha256_next(const Sha256Words& a, const Sha256Words& b, const Sha256Words& c,
                                              const Sha256Words& d) noexcept -> Sha256Words {
  const auto sum = reinterpret_cast<Sha256Words>(
                       __builtin_ia32_sha256msg1(reinterpret_cast<Sha256Ints>(a), reinterpret_cast<Sha256Ints>(b))) +
                   __builtin_shufflevector(c, d, 1, 2, 3, 4);
  return reinterpret_cast<Sha256Words>(
      __builtin_ia32_sha256msg2(reinterpret_cast<Sha256Ints>(sum), reinterpret_cast<Sha256Ints>(d)));
}

/// Processes a block of 64 bytes. Must be called only if `sha256_has_x86()`.
DISTRIB_SHA256_TARGET inline void sha256_x86(std::array<std::uint32_t, 8>& state,
                                             const std::array<std::uint32_t, 64>& constants,
                                             const std::byte* block) noexcept {
  Sha256Words low;
  Sha256Words high;
  std::memcpy(&low, state.data(), sizeof low);
  std::memcpy(&high, state.data() + 4, sizeof high);
  const Sha256Words abef_before = __builtin_shufflevector(low, high, 5, 4, 1, 0);
  const Sha256Words cdgh_before = __builtin_shufflevector(low, high, 7, 6, 3, 2);
  Sha256Words abef = abef_before;
  Sha256Words cdgh = cdgh_before;
  // The last 16 words of the schedule, each four in a variable of its own: in an array they would stay in memory.
  Sha256Words a = sha256_load(block);
  Sha256Words b = sha256_load(block + 16);
  Sha256Words c = sha256_load(block + 32);
  Sha256Words d = sha256_load(block + 48);
  for (const std::uint32_t* at = constants.data();; at += 16) {
    sha256_four(abef, cdgh, a, at);
    sha256_four(abef, cdgh, b, at + 4);
    sha256_four(abef, cdgh, c, at + 8);
    sha256_four(abef, cdgh, d, at + 12);
    if (at == constants.data() + 48) break;
    a = sha256_next(a, b, c, d);
    b = sha256_next(b, c, d, a);
    c = sha256_next(c, d, a, b);
    d = sha256_next(d, a, b, c);
  }
  abef += abef_before;
  cdgh += cdgh_before;
  low = __builtin_shufflevector(abef, cdgh, 3, 2, 7, 6);
  high = __builtin_shufflevector(abef, cdgh, 1, 0, 5, 4);
  std::memcpy(state.data(), &low, sizeof low);
  std::memcpy(state.data() + 4, &high, sizeof high);
}

/// True if the processor has the instructions of SHA-256. Asked once.
inline auto sha256_has_x86() noexcept -> bool {
  static const bool has = [] {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    const bool sse = ::__get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_SSSE3) != 0 && (c & bit_SSE4_1) != 0;
    return sse && ::__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0;
  }();
  return has;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#undef DISTRIB_SHA256_TARGET

#endif

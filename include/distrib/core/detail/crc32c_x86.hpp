// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__x86_64__)

#include <distrib/core/bytes.hpp>
#include <distrib/core/detail/crc32c_tables.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#define DISTRIB_CRC32C_TARGET __attribute__((target("sse4.2,pclmul")))
#define DISTRIB_CRC32C_TWOS_TARGET __attribute__((target("sse4.2,pclmul,avx2,vpclmulqdq")))
#define DISTRIB_CRC32C_WIDE_TARGET __attribute__((target("sse4.2,pclmul,avx512f,avx512bw,bmi2,vpclmulqdq")))

namespace distrib {
inline namespace v0 {
namespace detail {

using Crc32cPair = long long __attribute__((vector_size(16)));

inline auto crc32c_pair(std::uint64_t low, std::uint64_t high) noexcept -> Crc32cPair {
  return Crc32cPair{static_cast<long long>(low), static_cast<long long>(high)};
}

inline auto crc32c_pair(const std::byte* at) noexcept -> Crc32cPair {
  return crc32c_pair(load_le<std::uint64_t>(at), load_le<std::uint64_t>(at + 8));
}

/// How many bytes ahead to prefetch. The processor's own prefetching stops at the end of each page.
inline constexpr std::size_t crc32c_ahead = 8192;

DISTRIB_CRC32C_TARGET inline auto crc32c_word(std::uint64_t state, const std::byte* at) noexcept -> std::uint64_t {
  return __builtin_ia32_crc32di(state, load_le<std::uint64_t>(at));
}

/// Returns the sum of two carry-less products: that of the lower halves and that of the upper halves.
DISTRIB_CRC32C_TARGET inline auto crc32c_products(Crc32cPair a, Crc32cPair b) noexcept -> Crc32cPair {
  return __builtin_ia32_pclmulqdq128(a, b, 0x00) ^ __builtin_ia32_pclmulqdq128(a, b, 0x11);
}

/// Moves 128 bits over `bytes` zero bytes.
template <std::size_t bytes> DISTRIB_CRC32C_TARGET inline auto crc32c_fold(Crc32cPair folded) noexcept -> Crc32cPair {
  // the first eight of the sixteen bytes move eight bytes further
  constexpr std::uint64_t low = crc32c_shift(bytes + 8);
  constexpr std::uint64_t high = crc32c_shift(bytes);
  return crc32c_products(folded, crc32c_pair(low, high));
}

/// Returns the state after the 128 bits `last`, beginning with a state of 0.
DISTRIB_CRC32C_TARGET inline auto crc32c_pair_state(Crc32cPair last) noexcept -> std::uint64_t {
  return __builtin_ia32_crc32di(__builtin_ia32_crc32di(0, static_cast<std::uint64_t>(last[0])),
                                static_cast<std::uint64_t>(last[1]));
}

/// Combines four states: the state of the `front` and the states of the three chains of `chain_bytes` bytes each that
/// follow it.
template <std::size_t chain_bytes>
DISTRIB_CRC32C_TARGET inline auto crc32c_join(std::uint64_t front, std::uint64_t x, std::uint64_t y,
                                              std::uint64_t z) noexcept -> std::uint32_t {
  constexpr std::uint64_t one = crc32c_shift(chain_bytes);
  constexpr std::uint64_t two = crc32c_shift(2 * chain_bytes);
  constexpr std::uint64_t three = crc32c_shift(3 * chain_bytes);
  const Crc32cPair sum = crc32c_products(crc32c_pair(front, x), crc32c_pair(three, two)) ^
                         crc32c_products(crc32c_pair(y, 0), crc32c_pair(one, 0));
  return static_cast<std::uint32_t>(__builtin_ia32_crc32di(0, static_cast<std::uint64_t>(sum[0])) ^ z);
}

/// Processes `steps` * 64 bytes with four carry-less folds and, after them, three chains of `steps` * 24 bytes with the
/// crc instruction, then combines all. Both run at the same time because they use different ports of the processor.
template <std::size_t steps>
DISTRIB_CRC32C_TARGET inline auto crc32c_block(std::uint32_t state, const std::byte* at) noexcept -> std::uint32_t {
  constexpr std::size_t chain_bytes = 24 * steps;
  const std::byte* chains = at + 64 * steps;
  Crc32cPair a = crc32c_pair(at) ^ crc32c_pair(state, 0);
  Crc32cPair b = crc32c_pair(at + 16);
  Crc32cPair c = crc32c_pair(at + 32);
  Crc32cPair d = crc32c_pair(at + 48);
  std::uint64_t x = 0;
  std::uint64_t y = 0;
  std::uint64_t z = 0;
  const std::byte* ahead = at + crc32c_ahead;
  for (std::size_t step = 1;; ++step) {
    for (std::size_t word = 0; word < 24; word += 8) {
      x = crc32c_word(x, chains + word);
      y = crc32c_word(y, chains + word + chain_bytes);
      z = crc32c_word(z, chains + word + 2 * chain_bytes);
    }
    chains += 24;
    if (step == steps) break;
    at += 64;
    __builtin_prefetch(ahead);
    __builtin_prefetch(ahead + 64);
    ahead += 136;
    a = crc32c_fold<64>(a) ^ crc32c_pair(at);
    b = crc32c_fold<64>(b) ^ crc32c_pair(at + 16);
    c = crc32c_fold<64>(c) ^ crc32c_pair(at + 32);
    d = crc32c_fold<64>(d) ^ crc32c_pair(at + 48);
  }
  d ^= crc32c_fold<48>(a) ^ crc32c_fold<32>(b) ^ crc32c_fold<16>(c);
  return crc32c_join<chain_bytes>(crc32c_pair_state(d), x, y, z);
}

/// Processes `size` bytes. `head` holds the first `size` modulo 8 of them in its upper bytes; its lower bytes may have
/// any value. Zero bytes in front change nothing, so these first bytes are padded to one word in front, and no single
/// bytes remain at the end.
DISTRIB_CRC32C_TARGET inline auto crc32c_headed(std::uint32_t state, std::uint64_t head, const std::byte* at,
                                                std::size_t size) noexcept -> std::uint32_t {
  const std::size_t odd = size % 8;
  const std::size_t none = 8 * (7 - odd);  // in bits, less 8, because a single shift by 64 is undefined
  const std::uint64_t first = (head >> none >> 8 ^ state) << none << 8;
  std::uint64_t wide = __builtin_ia32_crc32di(0, first) ^ (std::uint64_t{state} >> 8 * odd);
  at += odd;
  size -= odd;
  if (size >= 272) {
    auto narrow = static_cast<std::uint32_t>(wide);
    for (; size >= 136 * 30; at += 136 * 30, size -= 136 * 30) narrow = crc32c_block<30>(narrow, at);
    for (; size >= 136 * 7; at += 136 * 7, size -= 136 * 7) narrow = crc32c_block<7>(narrow, at);
    for (; size >= 136 * 2; at += 136 * 2, size -= 136 * 2) narrow = crc32c_block<2>(narrow, at);
    wide = narrow;
  }
  for (; size != 0; at += 8, size -= 8) wide = crc32c_word(wide, at);
  return static_cast<std::uint32_t>(wide);
}

/// Returns the `head` for `crc32c_headed` without reading memory before the bytes.
inline auto crc32c_head(ByteView bytes) noexcept -> std::uint64_t {
  const std::size_t odd = bytes.size() % 8;
  if (bytes.size() >= 8) return load_le<std::uint64_t>(bytes.data()) << 8 * (7 - odd) << 8;
  std::uint64_t head = 0;
  for (std::size_t i = 0; i < odd; ++i) head |= static_cast<std::uint64_t>(bytes[i]) << 8 * (8 - odd + i);
  return head;
}

/// Must be called only if the processor has SSE4.2 and PCLMULQDQ.
DISTRIB_CRC32C_TARGET inline auto crc32c_pclmul(std::uint32_t state, ByteView bytes) noexcept -> std::uint32_t {
  return crc32c_headed(state, crc32c_head(bytes), bytes.data(), bytes.size());
}

using Crc32cTwo = long long __attribute__((vector_size(32)));

DISTRIB_CRC32C_TWOS_TARGET inline auto crc32c_load_two(const std::byte* at) noexcept -> Crc32cTwo {
  Crc32cTwo two;
  std::memcpy(&two, at, sizeof two);
  return two;
}

/// Moves both 128-bit halves over 128 zero bytes.
DISTRIB_CRC32C_TWOS_TARGET inline auto crc32c_fold_two(const Crc32cTwo& folded) noexcept -> Crc32cTwo {
  constexpr auto low = static_cast<long long>(crc32c_shift(128 + 8));
  constexpr auto high = static_cast<long long>(crc32c_shift(128));
  const Crc32cTwo shifts{low, high, low, high};
#if defined(__clang__)
  return __builtin_ia32_pclmulqdq256(folded, shifts, 0x00) ^ __builtin_ia32_pclmulqdq256(folded, shifts, 0x11);
#else
  return __builtin_ia32_vpclmulqdq_v4di(folded, shifts, 0x00) ^ __builtin_ia32_vpclmulqdq_v4di(folded, shifts, 0x11);
#endif
}

/// Combines both halves of `two` and moves the result over `behind` zero bytes.
template <std::size_t behind>
DISTRIB_CRC32C_TWOS_TARGET inline auto crc32c_gather_two(const Crc32cTwo& two) noexcept -> Crc32cPair {
  const Crc32cPair second{two[2], two[3]};
  const Crc32cPair first = crc32c_fold<behind + 16>(Crc32cPair{two[0], two[1]});
  if constexpr (behind == 0) return first ^ second;
  else return first ^ crc32c_fold<behind>(second);
}

/// Number of steps in a block of `crc32c_twos`, and the bytes per step: by the folds, by each chain, and in all; then
/// the bytes of a block.
inline constexpr std::size_t crc32c_two_steps = 15;
inline constexpr std::size_t crc32c_two_folded = 128;
inline constexpr std::size_t crc32c_two_chained = 48;
inline constexpr std::size_t crc32c_two_step = crc32c_two_folded + 3 * crc32c_two_chained;
inline constexpr std::size_t crc32c_two_block = crc32c_two_steps * crc32c_two_step;

/// As `crc32c_block`, but each fold processes 32 bytes, so the chains process twice as much in the same time.
DISTRIB_CRC32C_TWOS_TARGET inline auto crc32c_block_of_twos(std::uint32_t state, const std::byte* at) noexcept
    -> std::uint32_t {
  constexpr std::size_t chain_bytes = crc32c_two_chained * crc32c_two_steps;
  const std::byte* chains = at + crc32c_two_folded * crc32c_two_steps;
  Crc32cTwo a = crc32c_load_two(at) ^ Crc32cTwo { static_cast<long long>(state) };
  Crc32cTwo b = crc32c_load_two(at + 32);
  Crc32cTwo c = crc32c_load_two(at + 64);
  Crc32cTwo d = crc32c_load_two(at + 96);
  std::uint64_t x = 0;
  std::uint64_t y = 0;
  std::uint64_t z = 0;
  const std::byte* ahead = at + crc32c_ahead;
  for (std::size_t step = 1;; ++step) {
    for (std::size_t word = 0; word < crc32c_two_chained; word += 8) {
      x = crc32c_word(x, chains + word);
      y = crc32c_word(y, chains + word + chain_bytes);
      z = crc32c_word(z, chains + word + 2 * chain_bytes);
    }
    chains += crc32c_two_chained;
    if (step == crc32c_two_steps) break;
    at += crc32c_two_folded;
    for (std::size_t line = 0; line < crc32c_two_step; line += 64) __builtin_prefetch(ahead + line);
    ahead += crc32c_two_step;
    a = crc32c_fold_two(a) ^ crc32c_load_two(at);
    b = crc32c_fold_two(b) ^ crc32c_load_two(at + 32);
    c = crc32c_fold_two(c) ^ crc32c_load_two(at + 64);
    d = crc32c_fold_two(d) ^ crc32c_load_two(at + 96);
  }
  const Crc32cPair last =
      crc32c_gather_two<96>(a) ^ crc32c_gather_two<64>(b) ^ crc32c_gather_two<32>(c) ^ crc32c_gather_two<0>(d);
  return crc32c_join<chain_bytes>(crc32c_pair_state(last), x, y, z);
}

/// Must be called only if `crc32c_has_twos()`.
inline auto crc32c_twos(std::uint32_t state, ByteView bytes) noexcept -> std::uint32_t {
  for (; bytes.size() >= crc32c_two_block; bytes = bytes.subspan(crc32c_two_block))
    state = crc32c_block_of_twos(state, bytes.data());
  return crc32c_pclmul(state, bytes);
}

using Crc32cWide = long long __attribute__((vector_size(64)));

/// Moves each of the four 128-bit quarters of `folded` over the number of zero bytes for which its pair of `shifts` was
/// made.
DISTRIB_CRC32C_WIDE_TARGET inline auto crc32c_wide_products(const Crc32cWide& folded, const Crc32cWide& shifts) noexcept
    -> Crc32cWide {
#if defined(__clang__)
  return __builtin_ia32_pclmulqdq512(folded, shifts, 0x00) ^ __builtin_ia32_pclmulqdq512(folded, shifts, 0x11);
#else
  return __builtin_ia32_vpclmulqdq_v8di(folded, shifts, 0x00) ^ __builtin_ia32_vpclmulqdq_v8di(folded, shifts, 0x11);
#endif
}

template <std::size_t bytes>
DISTRIB_CRC32C_WIDE_TARGET inline auto crc32c_wide_fold(const Crc32cWide& folded) noexcept -> Crc32cWide {
  constexpr auto low = static_cast<long long>(crc32c_shift(bytes + 8));
  constexpr auto high = static_cast<long long>(crc32c_shift(bytes));
  return crc32c_wide_products(folded, Crc32cWide{low, high, low, high, low, high, low, high});
}

DISTRIB_CRC32C_WIDE_TARGET inline auto crc32c_load_wide(const std::byte* at) noexcept -> Crc32cWide {
  Crc32cWide wide;
  std::memcpy(&wide, at, sizeof wide);
  return wide;
}

/// Moves each 128-bit quarter of `line` to the position of the last quarter of the line that begins `bytes` bytes
/// later. If `bytes` is 0, that is `line` itself: then the result of its last quarter is 0, and the caller adds that
/// quarter as it is.
template <std::size_t bytes>
DISTRIB_CRC32C_WIDE_TARGET inline auto crc32c_wide_gather(const Crc32cWide& line) noexcept -> Crc32cWide {
  static constexpr std::uint64_t shifts[] = {crc32c_shift(bytes + 56),
                                             crc32c_shift(bytes + 48),
                                             crc32c_shift(bytes + 40),
                                             crc32c_shift(bytes + 32),
                                             crc32c_shift(bytes + 24),
                                             crc32c_shift(bytes + 16),
                                             bytes == 0 ? 0 : crc32c_shift(bytes + 8),
                                             bytes == 0 ? 0 : crc32c_shift(bytes)};
  Crc32cWide wide;
  std::memcpy(&wide, shifts, sizeof wide);
  return crc32c_wide_products(line, wide);
}

/// Returns the state after `sums` (from `crc32c_wide_gather`) and the 64 bytes of `last`.
DISTRIB_CRC32C_WIDE_TARGET inline auto crc32c_wide_state(Crc32cWide sums, const Crc32cWide& last) noexcept
    -> std::uint32_t {
  sums ^= crc32c_wide_gather<0>(last);
  const Crc32cPair state = __builtin_shufflevector(sums, sums, 0, 1) ^ __builtin_shufflevector(sums, sums, 2, 3) ^
                           __builtin_shufflevector(sums, sums, 4, 5) ^ __builtin_shufflevector(sums, sums, 6, 7) ^
                           __builtin_shufflevector(last, last, 6, 7);
  return static_cast<std::uint32_t>(crc32c_pair_state(state));
}

using Crc32cBytes = char __attribute__((vector_size(64)));

/// Entry i of row k: the distance of byte i from the end of the last line, if the byte is in the line that k lines
/// follow.
consteval auto make_crc32c_distances() -> std::array<std::array<std::uint8_t, 64>, 4> {
  std::array<std::array<std::uint8_t, 64>, 4> distances{};
  std::uint8_t distance = 0;
  for (auto& line : distances)
    for (std::size_t i = 64; i != 0; --i) line[i - 1] = distance++;
  return distances;
}

inline constexpr std::array<std::array<std::uint8_t, 64>, 4> crc32c_distances = make_crc32c_distances();

/// Loads the line that is followed by `behind` lines before `end`. Bytes of the line that do not belong to the last
/// `last` + 1 bytes before `end` are not read and become zeros. Without a branch.
template <std::size_t behind>
DISTRIB_CRC32C_WIDE_TARGET inline auto crc32c_load_tail(const std::byte* end, std::size_t last) noexcept -> Crc32cWide {
#if defined(__clang__)
  using From = Crc32cBytes;
#else
  using From = char;
#endif
  constexpr int less_or_equal = 2;
  Crc32cBytes distances;
  std::memcpy(&distances, crc32c_distances[behind].data(), sizeof distances);
  const Crc32cBytes limit = Crc32cBytes{} + static_cast<char>(last);
  const std::uint64_t mask = __builtin_ia32_ucmpb512_mask(distances, limit, less_or_equal, ~std::uint64_t{0});
  const auto* const from = reinterpret_cast<const From*>(end - 64 * (behind + 1));
  const auto bytes = __builtin_ia32_loaddquqi512_mask(from, Crc32cBytes{}, mask);
  return reinterpret_cast<const Crc32cWide&>(bytes);
}

/// Entry n: x^(8 * n - 33) modulo the polynomial, see `crc32c_shift`.
consteval auto make_crc32c_moves() -> std::array<std::uint32_t, 257> {
  std::array<std::uint32_t, 257> moves{};
  std::uint32_t power = 0x80000000U;  // x^0
  for (int i = 0; i < 33; ++i) power = power >= 0x80000000U ? (power ^ 0x82F63B78U) << 1 | 1 : power << 1;
  for (std::uint32_t& move : moves) {
    move = power;
    power = (power >> 8) ^ crc32c_tables[0][power & 0xFF];
  }
  return moves;
}

inline constexpr std::array<std::uint32_t, 257> crc32c_moves = make_crc32c_moves();

/// Returns `state` moved over `bytes` zero bytes, at most 256.
DISTRIB_CRC32C_TARGET inline auto crc32c_moved(std::uint32_t state, std::size_t bytes) noexcept -> std::uint32_t {
  const Crc32cPair product =
      __builtin_ia32_pclmulqdq128(crc32c_pair(state, 0), crc32c_pair(crc32c_moves[bytes], 0), 0x00);
  return static_cast<std::uint32_t>(__builtin_ia32_crc32di(0, static_cast<std::uint64_t>(product[0])));
}

/// Returns the state after 1 to 64 * `lines` bytes, beginning with a state of 0. The time does not depend on the number
/// of bytes: zero bytes in front change nothing, so the bytes always fill the same lines from the end, and there is no
/// branch that the processor could predict wrongly.
template <std::size_t lines>
DISTRIB_CRC32C_WIDE_TARGET inline auto crc32c_wide_short(const std::byte* at, std::size_t size) noexcept
    -> std::uint32_t {
  const std::byte* const end = at + size;
  Crc32cWide sums = crc32c_wide_gather<64>(crc32c_load_tail<1>(end, size - 1));
  if constexpr (lines > 2) sums ^= crc32c_wide_gather<128>(crc32c_load_tail<2>(end, size - 1));
  return crc32c_wide_state(sums, crc32c_load_tail<0>(end, size - 1));
}

/// Returns the number of bytes in the first step of `crc32c_wide_long`: 1 to 256.
constexpr auto crc32c_wide_odd(std::size_t size) noexcept -> std::size_t { return (size - 1) % 256 + 1; }

/// Returns the state after `size` bytes, at least 1. The first step loads four lines, filled from the end as above;
/// each further step processes four lines. `moved`: the state before, moved over `crc32c_wide_odd(size)` zero bytes.
DISTRIB_CRC32C_WIDE_TARGET inline auto crc32c_wide_long(std::uint32_t moved, const std::byte* at,
                                                        std::size_t size) noexcept -> std::uint32_t {
  const std::size_t odd = crc32c_wide_odd(size);
  const std::byte* const end = at + size;
  at += odd;
  Crc32cWide a = crc32c_load_tail<3>(at, odd - 1);
  Crc32cWide b = crc32c_load_tail<2>(at, odd - 1);
  Crc32cWide c = crc32c_load_tail<1>(at, odd - 1);
  Crc32cWide d = crc32c_load_tail<0>(at, odd - 1);
  for (; at != end; at += 256) {
    for (std::size_t line = 0; line < 256; line += 64) __builtin_prefetch(at + crc32c_ahead + line);
    a = crc32c_wide_fold<256>(a) ^ crc32c_load_wide(at) ^ Crc32cWide { static_cast<long long>(moved) };
    b = crc32c_wide_fold<256>(b) ^ crc32c_load_wide(at + 64);
    c = crc32c_wide_fold<256>(c) ^ crc32c_load_wide(at + 128);
    d = crc32c_wide_fold<256>(d) ^ crc32c_load_wide(at + 192);
    moved = 0;
  }
  const Crc32cWide sums = crc32c_wide_gather<192>(a) ^ crc32c_wide_gather<128>(b) ^ crc32c_wide_gather<64>(c);
  return crc32c_wide_state(sums, d) ^ moved;
}

/// Up to this many bytes are processed word by word. They may have been written a moment ago: a wide load would wait
/// until the narrow stores have reached the cache.
inline constexpr std::size_t crc32c_most_few = 40;
/// Processes `size` bytes word by word. Must be called only if the processor has SSE4.2 and PCLMULQDQ.
DISTRIB_CRC32C_TARGET inline auto crc32c_few(std::uint32_t state, const std::byte* at, std::size_t size) noexcept
    -> std::uint32_t {
  std::uint64_t sum = state;
  for (; size >= 8; at += 8, size -= 8) sum = __builtin_ia32_crc32di(sum, load_le<std::uint64_t>(at));
  state = static_cast<std::uint32_t>(sum);
  if ((size & 4) != 0) state = __builtin_ia32_crc32si(state, load_le<std::uint32_t>(at));
  if ((size & 2) != 0) state = __builtin_ia32_crc32hi(state, load_le<std::uint16_t>(at + (size & 4)));
  if ((size & 1) != 0) state = __builtin_ia32_crc32qi(state, load_le<std::uint8_t>(at + (size & 6)));
  return state;
}

/// Must be called only if `crc32c_has_wide()`.
DISTRIB_CRC32C_WIDE_TARGET inline auto crc32c_wide(std::uint32_t state, ByteView bytes) noexcept -> std::uint32_t {
  const std::size_t size = bytes.size();
  if (size == 0) return state;
  if (size <= 128) return crc32c_wide_short<2>(bytes.data(), size) ^ crc32c_moved(state, size);
  return crc32c_wide_long(crc32c_moved(state, crc32c_wide_odd(size)), bytes.data(), size);
}

inline auto crc32c_has_pclmul() noexcept -> bool {
  return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
}

inline auto crc32c_has_twos() noexcept -> bool {
  return __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx2") && crc32c_has_pclmul();
}

inline auto crc32c_has_wide() noexcept -> bool {
  return __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi2") &&
         crc32c_has_pclmul();
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#endif

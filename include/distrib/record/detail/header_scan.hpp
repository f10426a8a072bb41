// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/record/detail/frame_at.hpp>
#include <distrib/record/frame.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

// Searches a file for the header of a record when it is not known where records begin. A length is a u64 that is at
// most the size of the file, so its high bytes are zero: this alone excludes nearly every offset in texts, images and
// floats, 16 or 64 offsets at a time. Only for the offsets that are left the checksum of the eight bytes is computed.
namespace distrib {
inline namespace v0 {
namespace detail {

inline constexpr std::uint64_t no_offset = std::numeric_limits<std::uint64_t>::max();

/// The values that the high bytes of a length can have in a file of a given size: bytes 7 down to `zero[0]` are zero,
/// and the byte at `top_index` is at most `top`.
struct LengthFilter {
  explicit LengthFilter(std::size_t file_bytes) noexcept {
    const std::uint64_t longest = file_bytes - record_frame_bytes;
    const auto used = static_cast<std::size_t>(std::bit_width(longest) + 7) / 8;
    for (std::size_t i = 0; i < zero.size(); ++i) zero[i] = std::min<std::size_t>(std::max(used, 4 + i), 7);
    if (used > 3) {
      top_index = used - 1;
      top = static_cast<unsigned char>(longest >> (8 * top_index));
    }
  }

  std::array<std::size_t, 4> zero{};
  std::size_t top_index = 3;
  unsigned char top = 0;
};

/// First byte of the masked checksum of eight zero bytes. If any other byte follows eight zeros, no empty record begins
/// there.
inline constexpr auto empty_record_mark =
    static_cast<unsigned char>(mask_crc(~crc32c_bytewise(~0U, std::array<std::byte, 8>{})));

/// For every processor: excludes 16 offsets at a time. If it cannot exclude them, it tries them one by one.
inline auto find_header_portable(ByteView file, std::uint64_t from, std::uint64_t to) noexcept -> std::uint64_t {
  using Block = unsigned char __attribute__((vector_size(16)));
  using Halves = std::array<std::uint64_t, 2>;
  const LengthFilter filter{file.size()};
  const std::byte* const bytes = file.data();
  std::uint64_t p = from;
  while (p < to) {
    if (to - p >= 16 && file.size() - p >= 32) {
      const auto at = [&](std::size_t i) {
        Block block;  // copied, because clang would otherwise assume that the bytes are aligned
        std::memcpy(&block, bytes + p + i, sizeof block);
        return block;
      };
      const Block high = at(filter.zero[0]) | at(filter.zero[1]) | at(filter.zero[2]) | at(filter.zero[3]);
      const auto fits = (high == 0) & (at(filter.top_index) <= filter.top);
      const auto halves = std::bit_cast<Halves>(fits);
      if ((halves[0] | halves[1]) == 0) {
        p += 16;
        continue;
      }
    }
    const std::uint64_t stop = std::min(to, p + 16);
    for (; p < stop; ++p) {
      if (load_le<std::uint64_t>(bytes + p) == 0 && static_cast<unsigned char>(bytes[p + 8]) != empty_record_mark)
        continue;
      if (frame_at(file, p)) return p;
    }
  }
  return no_offset;
}

#if defined(__x86_64__)
/// Excludes 64 offsets at a time. Must be called only on a processor with AVX2 and SSE4.2.
__attribute__((target("avx2,sse4.2"))) inline auto find_header_avx2(ByteView file, std::uint64_t from,
                                                                    std::uint64_t to) noexcept -> std::uint64_t {
  using Block = unsigned char __attribute__((vector_size(32)));
  using Signed = char __attribute__((vector_size(32)));
  constexpr std::uint64_t reach = 64 + 8;  // bytes that a step looks at
  constexpr std::uint64_t ahead = 4096;  // how far ahead memory is prefetched, in bytes
  const LengthFilter filter{file.size()};
  const std::byte* const bytes = file.data();
  std::uint64_t p = from;
  for (; to - p >= 64 && file.size() - p >= reach + record_frame_bytes; p += 64) {
    __builtin_prefetch(bytes + std::min<std::uint64_t>(p + ahead, file.size() - 1));
    std::uint64_t fits = 0;
    std::uint64_t zeros = 0;
    for (std::size_t half = 0; half < 64; half += 32) {
      const std::byte* const base = bytes + p + half;
      Block high{};
      Block part;
      for (const std::size_t i : filter.zero) {
        std::memcpy(&part, base + i, sizeof part);
        high |= part;
      }
      Block top;
      std::memcpy(&top, base + filter.top_index, sizeof top);
      const auto good = (high == 0) & (top <= filter.top);
      const auto mask = static_cast<std::uint32_t>(__builtin_ia32_pmovmskb256(reinterpret_cast<const Signed&>(good)));
      fits |= std::uint64_t{mask} << half;
    }
    if (fits == 0) continue;
    for (std::size_t half = 0; half < 64; half += 32) {
      const std::byte* const base = bytes + p + half;
      Block any{};
      Block next;
      for (std::size_t i = 0; i < 8; ++i) {
        std::memcpy(&next, base + i, sizeof next);
        any |= next;
      }
      std::memcpy(&next, base + 8, sizeof next);
      const auto good = (any == 0) & (next != empty_record_mark);
      const auto mask = static_cast<std::uint32_t>(__builtin_ia32_pmovmskb256(reinterpret_cast<const Signed&>(good)));
      zeros |= std::uint64_t{mask} << half;
    }
    for (fits &= ~zeros; fits != 0; fits &= fits - 1) {
      const std::uint64_t q = p + static_cast<std::uint64_t>(std::countr_zero(fits));
      const std::uint64_t length = load_le<std::uint64_t>(bytes + q);
      const auto crc = ~static_cast<std::uint32_t>(__builtin_ia32_crc32di(0xFFFF'FFFF, length));
      if (mask_crc(crc) == load_le<std::uint32_t>(bytes + q + 8) && length <= file.size() - record_frame_bytes - q)
        return q;
    }
  }
  return find_header_portable(file, p, to);
}
#elif defined(__aarch64__)
/// Excludes 16 offsets at a time. Must be called only if `crc32c_has_arm()`.
DISTRIB_CRC32C_TARGET inline auto find_header_arm(ByteView file, std::uint64_t from, std::uint64_t to) noexcept
    -> std::uint64_t {
  using Block = unsigned char __attribute__((vector_size(16)));
  constexpr std::uint64_t reach = 16 + 8;  // bytes that a step looks at
  constexpr std::uint64_t ahead = 4096;  // how far ahead memory is prefetched, in bytes
  const LengthFilter filter{file.size()};
  const std::byte* const bytes = file.data();
  const auto load = [](const std::byte* at) {
    Block block;
    std::memcpy(&block, at, sizeof block);
    return block;
  };
  // One bit for each byte of `good` that is all ones: bit 4 * n + 3 for byte n.
  const auto mask = [](auto good) {
    unsigned char __attribute__((vector_size(8))) nibbles;
    asm("shrn %0.8b, %1.8h, #4" : "=w"(nibbles) : "w"(good));
    std::uint64_t bits = 0;
    std::memcpy(&bits, &nibbles, sizeof bits);
    return bits & 0x8888'8888'8888'8888U;
  };
  std::uint64_t p = from;
  for (; to - p >= 16 && file.size() - p >= reach + record_frame_bytes; p += 16) {
    __builtin_prefetch(bytes + std::min<std::uint64_t>(p + ahead, file.size() - 1));
    const std::byte* const base = bytes + p;
    Block high{};
    for (const std::size_t i : filter.zero) high |= load(base + i);
    std::uint64_t fits = mask((high == 0) & (load(base + filter.top_index) <= filter.top));
    if (fits == 0) continue;
    Block any{};
    for (std::size_t i = 0; i < 8; ++i) any |= load(base + i);
    fits &= ~mask((any == 0) & (load(base + 8) != empty_record_mark));
    for (; fits != 0; fits &= fits - 1) {
      const std::uint64_t q = p + static_cast<std::uint64_t>(std::countr_zero(fits)) / 4;
      const std::uint64_t length = load_le<std::uint64_t>(bytes + q);
      const std::uint32_t crc = ~__crc32cd(0xFFFF'FFFF, length);
      if (mask_crc(crc) == load_le<std::uint32_t>(bytes + q + 8) && length <= file.size() - record_frame_bytes - q)
        return q;
    }
  }
  return find_header_portable(file, p, to);
}
#endif

/// Returns the first offset in [from, to) where a valid header begins whose frame lies in `file`; `no_offset` if there
/// is none.
inline auto find_header(ByteView file, std::uint64_t from, std::uint64_t to) noexcept -> std::uint64_t {
  if (file.size() < record_frame_bytes) return no_offset;
  to = std::min<std::uint64_t>(to, file.size() - record_frame_bytes + 1);
  if (from >= to) return no_offset;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("sse4.2")) return find_header_avx2(file, from, to);
#elif defined(__aarch64__)
  if (crc32c_has_arm()) return find_header_arm(file, from, to);
#endif
  return find_header_portable(file, from, to);
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

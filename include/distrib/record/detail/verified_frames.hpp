// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/record.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace distrib {
inline namespace v0 {
namespace detail {

// Frames are verified many at a time. One call takes as many as fit into the nearest cache, so that they are still in
// the cache when the reader returns them, and the checksums of several short records are computed at the same time.

/// Records that follow one another in a file.
using VerifiedFrames = std::array<Record, 64>;

/// Walks from frame to frame. It is inlined into one function for each way in which a processor computes checksums
/// (`Way`).
template <class Way>
[[gnu::always_inline]] inline auto verify_each(ByteView window, std::uint64_t longest, Record next,
                                               VerifiedFrames& frames) noexcept -> std::size_t {
  Way way;
  constexpr std::size_t most_bytes = 32 << 10;
  const std::byte* at = window.data();
  std::size_t left = window.size();
  const std::size_t stop = left > most_bytes ? left - most_bytes : 0;
  std::size_t count = 0;
  while (left >= record_frame_bytes && left > stop && count < frames.size()) {
    const auto length = load_le<std::uint64_t>(at);
    if (mask_crc(~way.length(length)) != load_le<std::uint32_t>(at + 8)) break;
    if (length > longest || length > left - record_frame_bytes) break;
    const std::byte* const payload = at + record_header_bytes;
    if (mask_crc(~way.payload(payload, length)) != load_le<std::uint32_t>(payload + length)) break;
    next.bytes = {payload, length};
    frames[count++] = next;
    next.offset += record_frame_bytes + length;
    ++next.number;
    at = payload + length + record_footer_bytes;
    left -= record_frame_bytes + length;
  }
  return count;
}

/// The way for any processor.
struct PlainWay {
  auto length(std::uint64_t value) const noexcept -> std::uint32_t {
    return crc32c_portable(0xFFFFFFFF, bytes_of(value));
  }
  auto payload(const std::byte* at, std::size_t size) noexcept -> std::uint32_t { return ~crc32c({at, size}); }
};

#if defined(__x86_64__)
/// The way for a processor with SSE4.2 and PCLMULQDQ.
struct PclmulWay {
  DISTRIB_CRC32C_TARGET auto length(std::uint64_t value) const noexcept -> std::uint32_t {
    return static_cast<std::uint32_t>(__builtin_ia32_crc32di(0xFFFFFFFF, value));
  }
  /// Reads eight bytes that end with the payload; they may begin in the header, which stands before it.
  DISTRIB_CRC32C_TARGET auto payload(const std::byte* at, std::size_t size) noexcept -> std::uint32_t {
    if (size < 272)
      for (std::size_t line = 0; line <= size; line += 64) __builtin_prefetch(at + crc32c_ahead + line);
    return crc32c_headed(0xFFFFFFFF, load_le<std::uint64_t>(at + size % 8 - 8), at, size);
  }
};

DISTRIB_CRC32C_TARGET inline auto verify_frames_pclmul(ByteView window, std::uint64_t longest, const Record& next,
                                                       VerifiedFrames& frames) noexcept -> std::size_t {
  return verify_each<PclmulWay>(window, longest, next, frames);
}

/// Element n: the state of a checksum after n zero bytes, from a state of all ones.
consteval auto make_crc32c_starts() -> std::array<std::uint32_t, 257> {
  std::array<std::uint32_t, 257> starts{};
  std::uint32_t state = 0xFFFFFFFFU;
  for (std::uint32_t& start : starts) {
    start = state;
    state = (state >> 8) ^ crc32c_tables[0][state & 0xFF];
  }
  return starts;
}

inline constexpr std::array<std::uint32_t, 257> crc32c_starts = make_crc32c_starts();

/// The way for a processor with AVX-512 and VPCLMULQDQ.
struct WideWay {
  DISTRIB_CRC32C_WIDE_TARGET auto length(std::uint64_t value) const noexcept -> std::uint32_t {
    return static_cast<std::uint32_t>(__builtin_ia32_crc32di(0xFFFFFFFF, value));
  }
  /// After the first record of 129 .. 192 bytes, all records of up to 192 bytes take the same branch: the processor
  /// could not predict which of two branches the next record takes.
  DISTRIB_CRC32C_WIDE_TARGET auto payload(const std::byte* at, std::size_t size) noexcept -> std::uint32_t {
    __builtin_prefetch(at + crc32c_ahead);
    __builtin_prefetch(at + crc32c_ahead + 64);
    if (size == 0) return 0xFFFFFFFF;
    if (size <= shortest) return crc32c_wide_short<2>(at, size) ^ crc32c_starts[size];
    if (size <= 192) {
      shortest = 0;
      return crc32c_wide_short<3>(at, size) ^ crc32c_starts[size];
    }
    __builtin_prefetch(at + crc32c_ahead + 128);
    __builtin_prefetch(at + crc32c_ahead + 192);
    return crc32c_wide_long(crc32c_starts[crc32c_wide_odd(size)], at, size);
  }
  std::size_t shortest = 128;
};

DISTRIB_CRC32C_WIDE_TARGET inline auto verify_frames_wide(ByteView window, std::uint64_t longest, const Record& next,
                                                          VerifiedFrames& frames) noexcept -> std::size_t {
  return verify_each<WideWay>(window, longest, next, frames);
}
#elif defined(__aarch64__)
/// The way for a processor with the crc instruction and PMULL.
struct ArmWay {
  DISTRIB_CRC32C_TARGET auto length(std::uint64_t value) const noexcept -> std::uint32_t {
    return __crc32cd(0xFFFFFFFF, value);
  }
  DISTRIB_CRC32C_TARGET auto payload(const std::byte* at, std::size_t size) noexcept -> std::uint32_t {
    return crc32c_arm(0xFFFFFFFF, {at, size});
  }
};

DISTRIB_CRC32C_TARGET inline auto verify_frames_arm(ByteView window, std::uint64_t longest, const Record& next,
                                                    VerifiedFrames& frames) noexcept -> std::size_t {
  return verify_each<ArmWay>(window, longest, next, frames);
}
#endif

/// Verifies headers and payloads of the frames from the front of `window` on, and writes their records to `frames`.
/// `next` holds offset, number and `suspect` of the first. Stops before the first frame that is invalid, incomplete, or
/// has more than `longest` payload bytes; when `frames` is full; and after the first frame that ends 32 KiB or more
/// from the front. Returns the number of records. Reads nothing outside `window`.
inline auto verify_frames(ByteView window, std::uint64_t longest, const Record& next, VerifiedFrames& frames) noexcept
    -> std::size_t {
#if defined(__x86_64__)
  if (crc32c_has_wide()) return verify_frames_wide(window, longest, next, frames);
  if (crc32c_has_pclmul()) return verify_frames_pclmul(window, longest, next, frames);
#elif defined(__aarch64__)
  if (crc32c_has_arm()) return verify_frames_arm(window, longest, next, frames);
#endif
  return verify_each<PlainWay>(window, longest, next, frames);
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/protowire.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The highest bit of each of eight bytes. It is set in a byte of a varint that another byte follows.
inline constexpr std::uint64_t varint_more = 0x8080'8080'8080'8080;

/// Returns the number in a varint of up to eight bytes; bytes after its end must be 0. Does what the instruction pext
/// does, in steps that every processor has: joins pieces of 7 bits to 14, then to 28, then to 56.
[[nodiscard]] constexpr auto join_varint(std::uint64_t word) noexcept -> std::uint64_t {
  std::uint64_t x = word & ~varint_more;
  x -= (x & 0x7f00'7f00'7f00'7f00) >> 1;
  x = (x & 0x0000'3fff'0000'3fff) | (x & 0x3fff'0000'3fff'0000) >> 2;
  return (x & 0xffff'ffff) | x >> 32 << 28;
}

/// Takes a varint off the front of [at, end), as protobuf does: bits above the 64th are dropped. Returns false if it is
/// cut short, or longer than `most` bytes.
[[nodiscard]] inline auto take_varint(const std::byte*& at, const std::byte* end, std::uint64_t& value,
                                      std::size_t most = max_varint_bytes) noexcept -> bool {
  if (at != end && *at < std::byte{0x80}) {
    value = static_cast<std::uint64_t>(*at++);
    return true;
  }
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < most && at + i != end; ++i) {
    const auto byte = static_cast<std::uint64_t>(at[i]);
    sum |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      value = sum;
      at += i + 1;
      return true;
    }
  }
  return false;
}

/// Returns how many varints end in these bytes.
[[nodiscard]] inline auto count_varints(ByteView packed) noexcept -> std::size_t {
  std::size_t count = 0;
  for (const std::byte byte : packed) count += byte < std::byte{0x80} ? 1 : 0;
  return count;
}

/// Decodes packed varints and writes the first `most` of them to `to`. Returns false if the last one is cut short, or
/// one has more than ten bytes.
[[nodiscard]] inline auto decode_varints(ByteView packed, std::byte* to, std::size_t most) noexcept -> bool {
  const std::byte* at = packed.data();
  const std::byte* const end = at + packed.size();
  while (at != end) {
    std::uint64_t value = 0;
    const std::uint64_t word = end - at >= 8 ? load_le<std::uint64_t>(at) : varint_more;
    const std::uint64_t stops = ~word & varint_more;
    if (stops != 0) {
      value = join_varint(word & (stops ^ (stops - 1)));
      at += std::countr_zero(stops) / 8 + 1;
    } else if (!take_varint(at, end, value)) {
      return false;
    }
    if (most == 0) continue;
    store_le(to, value);
    to += sizeof value;
    --most;
  }
  return true;
}

/// Returns the number of bytes of `value` as a varint.
[[nodiscard]] constexpr auto varint_size(std::uint64_t value) noexcept -> std::size_t {
  const auto last_bit = static_cast<std::size_t>(63 ^ std::countl_zero(value | 1));
  return (last_bit * 9 + 73) / 64;  // last_bit / 7 + 1, without a division
}

/// Element n: the bits that mark, among the first eight bytes of a varint of n bytes, those that another byte follows.
inline constexpr auto varint_marks = [] {
  std::array<std::uint64_t, max_varint_bytes + 1> marks{};
  for (std::size_t size = 2; size < marks.size(); ++size) marks[size] = varint_more >> (size > 8 ? 0 : 72 - 8 * size);
  return marks;
}();

/// Writes `value`, which takes `size` bytes, at `to`. There must be room for ten bytes, even if it takes less.
inline void put_varint(std::byte* to, std::uint64_t value, std::size_t size) noexcept {
  // Does what the instruction pdep does, in steps that every processor has: splits 56 bits to 28, then to 14, then to
  // 7.
  std::uint64_t x = (value & 0x0fff'ffff) | value >> 28 << 32;
  x = (x & 0x0000'3fff'0000'3fff) | (x & 0x0fff'c000'0fff'c000) << 2;
  x += x & 0x3f80'3f80'3f80'3f80;
  store_le(to, x | varint_marks[size]);
  if (size > 8) store_le(to + 8, static_cast<std::uint16_t>((value >> 56 & 0x7f) + (value >> 63) * 0x180));
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

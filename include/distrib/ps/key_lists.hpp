// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/protowire.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace distrib::inline v0 {

/// The keys of all tables of a job in one message, in the job's order; those of each table ascend and are unique.
using KeyLists = std::vector<std::vector<std::uint64_t>>;

/// Bytes that a number takes as a varint.
[[nodiscard]] constexpr auto varint_bytes(std::uint64_t value) noexcept -> std::size_t {
  std::size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

/// Adds one table's keys to a message: how many there are, then the first one and the differences of the others, all as
/// varints. The keys ascend and are unique (programmer error otherwise).
template <class = void>
inline void append_keys(std::span<const std::uint64_t> keys, std::vector<std::byte>& to) {
  const auto append = [&to](std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) to.push_back(static_cast<std::byte>(value | 0x80));
    to.push_back(static_cast<std::byte>(value));
  };
  append(keys.size());
  std::uint64_t before = 0;
  for (const std::uint64_t key : keys) {
    append(key - before);
    before = key;
  }
}

namespace detail {
/// What `read_varint` does. Of up to eight bytes, with that many there, all at once: their length is hard to foretell,
/// as keys are far apart, so byte by byte would cost more than searching the table.
[[nodiscard]] inline auto read_difference(ByteView& rest, std::uint64_t& value) noexcept -> bool {
  if (rest.size() < sizeof(std::uint64_t)) return read_varint(rest, value);
  const auto word = load_le<std::uint64_t>(rest.data());
  const std::uint64_t ends = ~word & 0x8080'8080'8080'8080;
  if (ends == 0) return read_varint(rest, value);
  const int last = std::countr_zero(ends);  // the highest bit of the last byte
  // Its seven bits go down beside those of the byte below, then the pairs, then the fours.
  std::uint64_t bits = word & (~std::uint64_t{0} >> (63 - last)) & 0x7F7F'7F7F'7F7F'7F7F;
  bits = (bits & 0x007F'007F'007F'007F) | (bits & 0x7F00'7F00'7F00'7F00) >> 1;
  bits = (bits & 0x0000'3FFF'0000'3FFF) | (bits & 0x3FFF'0000'3FFF'0000) >> 2;
  value = (bits & 0x0000'0000'0FFF'FFFF) | (bits & 0x0FFF'FFFF'0000'0000) >> 4;
  rest = rest.subspan(static_cast<std::size_t>(last) / 8 + 1);
  return true;
}
}  // namespace detail

/// Reads what `append_keys` wrote for each of `lists`, which are overwritten. False: that is not what `bytes` are, to
/// their last one; the lists are unspecified then. Memory: at most eight times the bytes.
template <class = void>
[[nodiscard]] inline auto read_key_lists(ByteView bytes, KeyLists& lists) -> bool {
  for (std::vector<std::uint64_t>& keys : lists) {
    std::uint64_t count = 0;
    if (!read_varint(bytes, count) || count > bytes.size()) return false;
    keys.resize(static_cast<std::size_t>(count));
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      std::uint64_t difference = 0;
      if (!detail::read_difference(bytes, difference)) return false;
      keys[i] = before + difference;
      if (i > 0 && keys[i] <= before) return false;  // a repeat, or beyond 64 bits
      before = keys[i];
    }
  }
  return bytes.empty();
}

}  // namespace distrib::inline v0

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/store/key_lists.hpp>

#include <distrib/core/protowire.hpp>

#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void append_keys(std::span<const std::uint64_t> keys, std::vector<std::byte>& to) {
  const auto append = [&to](std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) to.push_back(static_cast<std::byte>(value | 0x80));
    to.push_back(static_cast<std::byte>(value));
  };
  std::size_t bytes = 0;  // if the keys are written as differences
  std::uint64_t before = 0;
  for (const std::uint64_t key : keys) bytes += varint_bytes(key - std::exchange(before, key));
  const bool whole = bytes > keys.size_bytes() / 4 * 3;
  append(std::uint64_t{2} * keys.size() + (whole ? 1 : 0));
  if (whole) {
    const std::size_t at = to.size();
    to.resize(at + keys.size_bytes());
    for (std::size_t i = 0; i < keys.size(); ++i) store_le(to.data() + at + i * sizeof(std::uint64_t), keys[i]);
    return;
  }
  before = 0;
  for (const std::uint64_t key : keys) append(key - std::exchange(before, key));
}

namespace detail {

// Joins the seven low bits of each byte of `word`. The highest bit of each byte must be 0.
constexpr auto without_gaps(std::uint64_t word) noexcept -> std::uint64_t {
  word = (word & 0x007F'007F'007F'007F) | (word & 0x7F00'7F00'7F00'7F00) >> 1;  // pairs of bytes: 14 bits
  word = (word & 0x0000'3FFF'0000'3FFF) | (word & 0x3FFF'0000'3FFF'0000) >> 2;  // then fours: 28 bits
  return (word & 0x0000'0000'0FFF'FFFF) | (word & 0x0FFF'FFFF'0000'0000) >> 4;  // then all eight: 56 bits
}

// Reads keys of 8 bytes each. Returns false if they do not ascend, or `bytes` end too early.
DISTRIB_DECL auto read_whole_keys(ByteView& bytes, std::span<std::uint64_t> keys) -> bool {
  if (keys.size() > bytes.size() / sizeof(std::uint64_t)) return false;
  bool ascends = true;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys[i] = load_le<std::uint64_t>(bytes.data() + i * sizeof(std::uint64_t));
    ascends &= i == 0 || keys[i] > keys[i - 1];
  }
  bytes = bytes.subspan(keys.size_bytes());
  return ascends;
}

// Reads keys that are written as differences. Returns false if they do not ascend, or `bytes` end too early. Reads all
// differences that end within the next eight bytes from one word: their lengths cannot be predicted when keys are far
// apart, so reading byte by byte would cost more than searching the table.
DISTRIB_DECL auto read_differences(ByteView& bytes, std::span<std::uint64_t> keys) -> bool {
  std::uint64_t key = 0;
  std::size_t i = 0;
  bool ascends = true;
  const auto add = [&](std::uint64_t difference) {
    const std::uint64_t before = std::exchange(key, key + difference);
    ascends &= key > before || i == 0;  // false after a repeated key, and after a sum beyond 64 bits
    keys[i++] = key;
  };
  while (i < keys.size()) {
    std::uint64_t word = bytes.size() < sizeof word ? ~std::uint64_t{0} : load_le<std::uint64_t>(bytes.data());
    std::uint64_t ends = ~word & 0x8080'8080'8080'8080;
    if (ends == 0) {
      std::uint64_t difference = 0;
      if (!read_varint(bytes, difference)) return false;
      add(difference);
      continue;
    }
    // eight keys of one byte each: usual where most rows of a table are pulled
    if (ends == 0x8080'8080'8080'8080 && keys.size() - i >= sizeof word) {
      for (std::size_t n = 0; n < sizeof word; ++n) add(word >> 8 * n & 0x7F);
      bytes = bytes.subspan(sizeof word);
      continue;
    }
    std::size_t read = 0;
    for (; ends != 0 && i < keys.size(); ends = ends >> 1) {
      const int last = std::countr_zero(ends);  // position of the highest bit of this difference's last byte
      add(without_gaps(word & (~std::uint64_t{0} >> (63 - last)) & 0x7F7F'7F7F'7F7F'7F7F));
      read += static_cast<std::size_t>(last) / 8 + 1;
      word = word >> last >> 1;
      ends >>= last;
    }
    bytes = bytes.subspan(read);
  }
  return ascends;
}

}  // namespace detail

DISTRIB_DECL auto read_key_lists(ByteView bytes, KeyLists& lists) -> bool {
  for (std::vector<std::uint64_t>& keys : lists) {
    std::uint64_t head = 0;
    if (!detail::read_varint(bytes, head)) return false;
    if (head / 2 > bytes.size()) return false;  // each key takes at least one byte
    keys.resize(static_cast<std::size_t>(head / 2));
    const bool whole = head % 2 == 1;
    if (!(whole ? detail::read_whole_keys(bytes, keys) : detail::read_differences(bytes, keys))) return false;
  }
  return bytes.empty();
}

}  // namespace v0
}  // namespace distrib

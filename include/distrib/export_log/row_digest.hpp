// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace distrib {
inline namespace v0 {

/// Two sums modulo 2^64 of a hash of rows. What a table contains has one digest, whatever the order of its rows, and the
/// digests of parts of a table add up to that of the whole: new digest = old one - removed rows + added rows. Finds
/// mistakes and damage, not attacks. No rows: zeros. A value.
struct RowDigest {
  std::uint64_t first = 0;  ///< Sum of the first words of the hashes.
  std::uint64_t second = 0;  ///< Sum of the second words.

  /// Adds what `other` sums up.
  constexpr auto operator+=(const RowDigest& other) noexcept -> RowDigest& {
    first += other.first;
    second += other.second;
    return *this;
  }
  /// Takes away what `other` sums up.
  constexpr auto operator-=(const RowDigest& other) noexcept -> RowDigest& {
    first -= other.first;
    second -= other.second;
    return *this;
  }
  [[nodiscard]] constexpr auto operator==(const RowDigest&) const noexcept -> bool = default;
};

namespace detail {

/// Returns the two halves of the 128-bit product, folded.
[[nodiscard]] inline auto multiply_fold(std::uint64_t a, std::uint64_t b) noexcept -> std::uint64_t {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace detail

/// Returns the digest of one row: of its key and of the bytes of its values, as they lie in memory. The hash multiplies
/// and folds 16 bytes at a time, and ends in a multiplication that is not linear: in sums of a linear hash two mistakes
/// could cancel each other. Stored logs depend on it: it must never change.
[[nodiscard]] inline auto row_digest(std::uint64_t key, ByteView values) noexcept -> RowDigest {
  constexpr std::uint64_t k[6] = {0xa0761d6478bd642fU, 0xe7037ed1a0b428dbU, 0x8ebc6af09c88c6e3U,
                                  0x589965cc75374cc3U, 0x1d8e4e27c47d124fU, 0x9fb21c651e98df25U};
  std::uint64_t a = key ^ k[0];
  std::uint64_t b = key ^ k[1];
  const auto add = [&](std::uint64_t x, std::uint64_t y) {
    const std::uint64_t next = detail::multiply_fold(a ^ x, y ^ k[2]);
    b = detail::multiply_fold(b ^ y, x ^ k[3]);
    a = next;
  };
  std::size_t at = 0;
  for (; at + 16 <= values.size(); at += 16)
    add(load_le<std::uint64_t>(values.data() + at), load_le<std::uint64_t>(values.data() + at + 8));
  if (at < values.size()) {
    std::byte last[16] = {};
    std::memcpy(last, values.data() + at, values.size() - at);
    add(load_le<std::uint64_t>(last), load_le<std::uint64_t>(last + 8));
  }
  return {detail::multiply_fold(a ^ values.size(), k[4]), detail::multiply_fold(b ^ values.size(), k[5])};
}

}  // namespace v0
}  // namespace distrib

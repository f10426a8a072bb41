// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace distrib {
inline namespace v0 {

/// A number by which the rows of a table can be compared with other rows. It does not depend on the order of the rows,
/// or on the shards on which they lie: it is the sum, modulo 2^64 in each of its four words, of the SHA-256 of every
/// key (64 bits, little endian) followed by its weights (float32). Trap: no protection against rows that are chosen to
/// collide. A value.
struct TableDigest {
  std::array<std::uint64_t, 4> words{};

  [[nodiscard]] auto operator==(const TableDigest&) const -> bool = default;

  /// Adds one row.
  DISTRIB_DECL void add(std::uint64_t key, std::span<const float> weights) noexcept;
  /// Adds the digest of other rows.
  void add(const TableDigest& others) noexcept {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] += others.words[i];
  }
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/impl/table_digest.ipp>
#endif

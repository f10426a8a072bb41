// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The keys of all tables of a job in one message: a list for each table, in the job's order. Each list is ascending
/// and has no key twice.
using KeyLists = std::vector<std::vector<std::uint64_t>>;

/// Returns the bytes of a number as a varint, 1 to 10.
[[nodiscard]] constexpr auto varint_bytes(std::uint64_t value) noexcept -> std::size_t {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}

/// Appends the keys of one table, n of them, to a message, in one of two forms:
/// - the varint 2 n, the first key as a varint, then the difference of each key to the one before it as a varint;
/// - the varint 2 n + 1, then each key as 8 bytes, little endian.
///
/// The first form is used if it saves at least a quarter of the bytes. Otherwise, as with keys that are hashes, reading
/// differences would cost more than the bytes that they save. `keys` must be ascending and without repeats (programmer
/// error, which is not checked).
DISTRIB_DECL void append_keys(std::span<const std::uint64_t> keys, std::vector<std::byte>& to);

/// Reads what `append_keys` wrote, once for each list of `lists`, and overwrites the lists. Returns false if `bytes`
/// are not exactly `lists.size()` such lists, without a byte left over; the contents of `lists` are unspecified then.
/// Memory: at most eight times `bytes`.
[[nodiscard]] DISTRIB_DECL auto read_key_lists(ByteView bytes, KeyLists& lists) -> bool;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/impl/key_lists.ipp>
#endif

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

/// The keys of all tables of a job in one message, in the job's order; those of each table ascend and are unique.
using KeyLists = std::vector<std::vector<std::uint64_t>>;

/// Bytes that a number takes as a varint.
[[nodiscard]] constexpr auto varint_bytes(std::uint64_t value) noexcept -> std::size_t {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}

/// Adds one table's keys to a message. Twice how many there are, as a varint; then the first one and the differences of
/// the others, as varints. Or, one more than twice how many there are, and then each as 8 bytes, little endian: where
/// differences would not save a quarter of that, as of keys that are hashes, reading them costs more than the bytes
/// that they save. The keys ascend and are unique (programmer error otherwise).
DISTRIB_DECL void append_keys(std::span<const std::uint64_t> keys, std::vector<std::byte>& to);

/// Reads what `append_keys` wrote for each of `lists`, which are overwritten. False: that is not what `bytes` are, to
/// their last one; the lists are unspecified then. Memory: at most eight times the bytes.
[[nodiscard]] DISTRIB_DECL auto read_key_lists(ByteView bytes, KeyLists& lists) -> bool;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/impl/key_lists.ipp>
#endif

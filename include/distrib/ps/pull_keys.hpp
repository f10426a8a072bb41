// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/error.hpp>
#include <distrib/ps/key_lists.hpp>
#include <distrib/ps/shard_layout.hpp>
#include <distrib/ps/table_gradients.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace distrib::inline v0 {

/// Reads the keys of the rows that a pull asks for, a stranger's perhaps; without a body there are no lists. Fails with
/// `ps_errc::unsorted_keys` when they are no lists of the job's tables, and `pull_too_large` when their rows are more than
/// `max_bytes`; whether the shard has them says `ShardStore::check`. Memory: at most eight times the body's.
[[nodiscard]] inline auto read_pull_keys(const ShardLayout& layout, const SharedBuffer& body, std::uint64_t max_bytes,
                                         KeyLists& keys) -> Error {
  keys.clear();
  if (body == nullptr) return {};
  keys.resize(layout.tables().size());
  if (!read_key_lists(body->bytes(), keys)) return {ps_errc::unsorted_keys, "the keys of a pull"};
  const std::size_t bytes = rows_bytes(layout, keys);
  if (bytes <= max_bytes) return {};
  return {ps_errc::pull_too_large, std::to_string(bytes) + " bytes of " + std::to_string(max_bytes)};
}

}  // namespace distrib::inline v0

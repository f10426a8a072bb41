// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/store/key_lists.hpp>
#include <distrib/ps/store/table_digest.hpp>
#include <distrib/ps/store/table_gradients.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What a pull asks of a shard's tables beside the dense block. The answer is that block, then each table's rows in
/// the order of its keys, each table's from the next multiple of `tensor_alignment` on, then the digests.
struct PullRows {
  KeyLists keys = {};     ///< Of each table of the job. No lists: nothing is asked.
  bool digests = false;   ///< Also a `TableDigest` of each table, of all rows on the shard.
};

/// Bytes of the answer behind the dense block.
[[nodiscard]] inline auto answer_bytes(const ShardLayout& layout, const PullRows& rows) -> std::size_t {
  const std::size_t digests = rows.digests ? detail::aligned_size(layout.tables().size() * sizeof(TableDigest)) : 0;
  return rows_bytes(layout, rows.keys) + digests;
}

/// Adds a request to a message: the keys of each table, and one byte, 1 when digests are wanted.
inline void append_pull_rows(const PullRows& rows, std::vector<std::byte>& to) {
  for (const std::vector<std::uint64_t>& keys : rows.keys) append_keys(keys, to);
  to.push_back(std::byte{rows.digests});
}

/// Reads what `append_pull_rows` wrote, a stranger's perhaps; without a body nothing is asked. Fails with
/// `ps_errc::unsorted_keys` when it is no request to these tables, and `pull_too_large` when the answer would be more than
/// `max_bytes`; `ShardStore::check` says whether the shard has the keys. Memory: at most eight times the body's.
[[nodiscard]] DISTRIB_DECL auto read_pull_rows(const ShardLayout& layout, const SharedBuffer& body,
                                               std::uint64_t max_bytes, PullRows& rows) -> Error;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/impl/pull_rows.ipp>
#endif

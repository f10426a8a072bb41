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

/// What a pull asks of a shard's tables, beside the dense block. The answer is the dense block; then the rows of each
/// table, in the order of its keys; then the digests. Each table's rows, and the digests, begin at a multiple of
/// `tensor_alignment`; gaps are zeros, and so is the rest up to a multiple of `tensor_alignment` at the end.
struct PullRows {
  KeyLists keys = {};  ///< One list for each table of the job. No lists: nothing is asked of the tables.
  bool digests = false;  ///< True: the answer ends with a `TableDigest` of each table, over all its rows on this shard.
};

/// Returns the bytes of the answer after the dense block.
[[nodiscard]] inline auto answer_bytes(const ShardLayout& layout, const PullRows& rows) -> std::size_t {
  const std::size_t digests = rows.digests ? detail::aligned_size(layout.tables().size() * sizeof(TableDigest)) : 0;
  return rows_bytes(layout, rows.keys) + digests;
}

/// Appends a request to a message: the keys of each table, then one byte, 1 if digests are wanted and 0 if not.
inline void append_pull_rows(const PullRows& rows, std::vector<std::byte>& to) {
  for (const std::vector<std::uint64_t>& keys : rows.keys) append_keys(keys, to);
  to.push_back(std::byte{rows.digests});
}

/// Reads what `append_pull_rows` wrote into `rows`. The body may come from an unknown client. No body (null): nothing
/// is asked. Memory: at most eight times the body's. Does not check that the shard has the keys: see
/// `ShardStore::check`.
///
/// Errors: `ps_errc::unsorted_keys` if the body is no request to these tables; `ps_errc::pull_too_large` if the answer
/// after the dense block would be larger than `max_bytes`, with both sizes in the text.
[[nodiscard]] DISTRIB_DECL auto read_pull_rows(const ShardLayout& layout, const SharedBuffer& body,
                                               std::uint64_t max_bytes, PullRows& rows) -> Error;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/impl/pull_rows.ipp>
#endif

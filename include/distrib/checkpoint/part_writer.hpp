// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_index.hpp>
#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/io_action.hpp>

#include <cstddef>
#include <string_view>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Whether `index` has all that `part`, which is to be shard `shard`'s, has, and looks in that shard's data file for
/// nothing that would not lie there.
DISTRIB_DECL auto holds(const BundleIndex& index, const BundleIndex& part, std::size_t shard) -> bool;

}  // namespace detail

/// Plans how shard `shard` of `shards` writes its share of the checkpoint `prefix` alone: `PREFIX.data-...`, and
/// `PREFIX.part-...` that says what is in it. Both are written under temporary names and made durable; then the data
/// file gets its name, and after it the part file: one that exists has all its data. `merge_parts` makes the index when
/// all are there. Performs no I/O; takes one pass over the bytes for their checksums.
///
/// `merged`: the index that `prefix` has already; null: none. When it holds these very bytes it stays, and only the
/// data file is written, over what may have become of it; otherwise it is of another history and is removed first.
/// On failure the plan is empty and `error` names the tensor: `duplicate`, `mismatch`.
[[nodiscard]] DISTRIB_DECL auto plan_part(std::string_view prefix, const BundlePart& part, std::size_t shard,
                                          std::size_t shards, const BundleIndex* merged, Error& error) -> FilePlan;

namespace detail {

/// Plans how `prefix` gets the part of shard `shard` of `shards` that the checkpoint `from` has: the same files by another
/// name, in the same directory. `prefix` must have no part file of it.
[[nodiscard]] DISTRIB_DECL auto plan_shared_part(std::string_view from, std::string_view prefix, std::size_t shard,
                                                 std::size_t shards) -> FilePlan;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/part_writer.ipp>
#endif

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

/// True if `index` has all that `part` has, which is the part of shard `shard`, and lists nothing in that shard's data
/// file that `part` would not write at the same offset.
DISTRIB_DECL auto holds(const BundleIndex& index, const BundleIndex& part, std::size_t shard) -> bool;

}  // namespace detail

/// Plans how shard `shard` of `shards` writes its part of the checkpoint `prefix` by itself: `PREFIX.data-...`, and
/// `PREFIX.part-...`, which lists what is in it. Both are written under temporary names and made durable; then the data
/// file gets its name, and after it the part file. So a part file that exists has all its data. When all parts exist,
/// `plan_merge` plans the index. Performs no I/O; reads all bytes once, for their checksums.
///
/// `merged`: the index that `prefix` has already; null: it has none, or it is not known. If it holds exactly these
/// bytes, it stays, and only the data file is written again, because the old one may be damaged. Otherwise an index and
/// a part file with these names belong to another history, and are removed before the new files get their names.
///
/// On failure the plan is empty and `error` names the tensor: `duplicate`, `mismatch`. `mismatch` also if `shard` is
/// not below `shards`, or `shards` is above `max_data_files`.
[[nodiscard]] DISTRIB_DECL auto plan_part(std::string_view prefix, const BundlePart& part, std::size_t shard,
                                          std::size_t shards, const BundleIndex* merged, Error& error) -> FilePlan;

namespace detail {

/// Plans how the checkpoint `prefix` gets the part of shard `shard` of `shards` from the checkpoint `from` in the same
/// directory: the files get a second name. A data file that `prefix` has of this shard is removed first. `prefix` must
/// not have a part file of this shard.
[[nodiscard]] DISTRIB_DECL auto plan_shared_part(std::string_view from, std::string_view prefix, std::size_t shard,
                                                 std::size_t shards) -> FilePlan;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/checkpoint/impl/part_writer.ipp>
#endif

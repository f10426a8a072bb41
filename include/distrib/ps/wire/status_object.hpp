// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/json_text.hpp>
#include <distrib/ps/wire/shard_status.hpp>

namespace distrib {
inline namespace v0 {

/// How `status_object` writes the ranks.
enum class RankForm {
  objects,  ///< `ranks`: an object for each rank.
  /// `rank_columns`: for each field of a rank an array of the values of all ranks, and the time that was waited in whole
  /// milliseconds. 10 000 ranks take less than a megabyte, whatever the values are.
  columns,
  none,
};

/// Returns a shard's status as JSON: a line of `distrib status --json`, and, with columns or no ranks, an element of
/// `shards` in /status.json of a task. Times are in seconds, memory in bytes. The members are listed in
/// docs/guide/watch.md.
[[nodiscard]] DISTRIB_DECL auto status_object(const ShardStatus& shard, RankForm form = RankForm::objects)
    -> JsonObject;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/wire/impl/status_object.ipp>
#endif

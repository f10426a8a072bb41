// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/json_text.hpp>
#include <distrib/ps/wire/shard_status.hpp>

namespace distrib {
inline namespace v0 {

/// Returns a shard's status as JSON: a line of `distrib status --json`, and an element of `shards` in /status.json of a
/// task. Times are in seconds, memory in bytes. The members are listed in docs/guide/watch.md.
[[nodiscard]] DISTRIB_DECL auto status_object(const ShardStatus& shard) -> JsonObject;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/wire/impl/status_object.ipp>
#endif

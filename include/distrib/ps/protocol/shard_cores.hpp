// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/protocol/async_shard_core.hpp>
#include <distrib/ps/protocol/sync_shard_core.hpp>

namespace distrib {
inline namespace v0 {

/// The cores that `make_shard` makes. The library uses `ShardCores<void>`.
///
/// A template, so that a benchmark can measure the cost of the names of contributions: it specialises this for `void`
/// in a header-only program, before it includes `ps/protocol/any_shard.hpp`.
template <class>
struct ShardCores {
  using Synchronous = SyncShardCore;
  using Asynchronous = AsyncShardCore;
};

}  // namespace v0
}  // namespace distrib

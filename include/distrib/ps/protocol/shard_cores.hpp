// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/protocol/async_shard_core.hpp>
#include <distrib/ps/protocol/sync_shard_core.hpp>

namespace distrib {
inline namespace v0 {

/// The cores that `make_shard` makes. The library uses `ShardCores<void>`.
///
/// A template so that a benchmark can measure what names of contributions cost: it specialises this for `void` in a
/// header-only program, before `ps/protocol/any_shard.hpp` is included.
template <class>
struct ShardCores {
  using Synchronous = SyncShardCore;
  using Asynchronous = AsyncShardCore;
};

}  // namespace v0
}  // namespace distrib

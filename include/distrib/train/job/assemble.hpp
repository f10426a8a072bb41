// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/store/wire_block.hpp>
#include <distrib/tensor/runtime_values.hpp>

#include <cstddef>
#include <span>

namespace distrib {
inline namespace v0 {

/// Copies the blocks of all shards, in the format of the wire, into the whole variables of `values`, which must have
/// the variables of the job in the job's order. `blocks`: one block per shard. The rows of tables are not copied.
inline void assemble(std::span<const ShardLayout> layouts, std::span<const SharedBuffer> blocks,
                     RuntimeValues& values) {
  for (std::size_t shard = 0; shard < layouts.size(); ++shard)
    for (const auto& place : layouts[shard].entries())
      spread_received(layouts[shard], place, blocks[shard]->data(), values.data(place.variable));
}

}  // namespace v0
}  // namespace distrib

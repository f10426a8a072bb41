// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/protocol/batch_keys.hpp>
#include <distrib/ps/store/wire_block.hpp>
#include <distrib/tensor/runtime_values.hpp>

#include <cstddef>
#include <span>

namespace distrib {
inline namespace v0 {

/// Copies the blocks of all shards, in the format of the wire, into the whole variables of `values`, which must have
/// the variables of the job in the job's order. `blocks`: one block per shard. The rows of tables are not copied; see
/// `assemble_rows`.
inline void assemble(std::span<const ShardLayout> layouts, std::span<const SharedBuffer> blocks,
                     RuntimeValues& values) {
  for (std::size_t shard = 0; shard < layouts.size(); ++shard)
    for (const auto& place : layouts[shard].entries())
      spread_received(layouts[shard], place, blocks[shard]->data(), values.data(place.variable));
}

/// Copies the rows that `asked` has asked for from the blocks of all shards into the tables of `values`, in the order
/// of their numbers.
inline void assemble_rows(const Job& job, const BatchKeys& asked, std::span<const SharedBuffer> blocks,
                          RuntimeValues& values) {
  for (std::size_t table = 0; table < job.tables.size(); ++table) {
    values.rows(table).resize(asked.rows(table), job.tables[table].dim);
    asked.collect(blocks, table, values.rows(table).data());
  }
}

}  // namespace v0
}  // namespace distrib

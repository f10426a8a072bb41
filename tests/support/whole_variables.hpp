// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/slice.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/store/wire_block.hpp>

#include <cstddef>

// Copies whole variables into a shard's block and out of it. `variable(v)` returns the memory of variable v.
namespace support {

template <class VariableMemory>
void spread(const distrib::ShardLayout& layout, const std::byte* block, VariableMemory&& variable) {
  for (const auto& entry : layout.entries())
    distrib::detail::copy_overlap(entry.slice, block + entry.offset_bytes, distrib::Slice::whole(entry.whole),
                                  variable(entry.variable), size_bytes(entry.dtype));
}

template <class VariableMemory>
void gather(const distrib::ShardLayout& layout, VariableMemory&& variable, std::byte* block) {
  for (const auto& entry : layout.entries())
    distrib::detail::copy_overlap(distrib::Slice::whole(entry.whole), variable(entry.variable), entry.slice,
                                  block + entry.offset_bytes, size_bytes(entry.dtype));
}

template <class VariableMemory>
void spread_received(const distrib::ShardLayout& layout, const std::byte* received, VariableMemory&& variable) {
  for (const auto& entry : layout.entries())
    distrib::spread_received(layout, entry, received, variable(entry.variable));
}

template <class VariableMemory>
void gather_to_send(const distrib::ShardLayout& layout, VariableMemory&& variable, std::byte* to_send) {
  for (const auto& entry : layout.entries()) distrib::gather_to_send(layout, entry, variable(entry.variable), to_send);
}

}  // namespace support

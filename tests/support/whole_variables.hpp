// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/slice.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/store/wire_block.hpp>

#include <cstddef>

// Whole variables into a shard's block and out of it; `variable(v)` gives the memory of variable v.
namespace support {

template <class VariableMemory>
void spread(const distrib::ShardLayout& layout, const std::byte* block, VariableMemory&& variable) {
  for (const auto& place : layout.places())
    copy_overlap(place.slice, block + place.offset_bytes, distrib::Slice::whole(place.whole), variable(place.variable),
                 size_bytes(place.dtype));
}

template <class VariableMemory>
void gather(const distrib::ShardLayout& layout, VariableMemory&& variable, std::byte* block) {
  for (const auto& place : layout.places())
    copy_overlap(distrib::Slice::whole(place.whole), variable(place.variable), place.slice, block + place.offset_bytes,
                 size_bytes(place.dtype));
}

template <class VariableMemory>
void spread_received(const distrib::ShardLayout& layout, const std::byte* received, VariableMemory&& variable) {
  for (const auto& place : layout.places()) distrib::spread_received(layout, place, received, variable(place.variable));
}

template <class VariableMemory>
void gather_to_send(const distrib::ShardLayout& layout, VariableMemory&& variable, std::byte* to_send) {
  for (const auto& place : layout.places()) distrib::gather_to_send(layout, place, variable(place.variable), to_send);
}

}  // namespace support

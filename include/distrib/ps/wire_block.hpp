// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/ps/shard_layout.hpp>
#include <distrib/ps/wire_format.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

namespace distrib::inline v0 {

// The dense block of a shard in a message: its elements in the job's `WireFormat`, one after the other, gaps too, and
// zeros up to `ShardLayout::wire_block_bytes`. Of float32 it is the block.

/// Writes a shard's dense block as it travels; `to` has `wire_block_bytes`.
template <class = void>
inline void encode_block(const ShardLayout& layout, std::span<const float> block, std::span<std::byte> to) noexcept {
  encode_elements(layout.wire_format(), block, to.data());
  const std::size_t used = block.size() * wire_element_bytes(layout.wire_format());
  std::fill(to.begin() + static_cast<std::ptrdiff_t>(used), to.end(), std::byte{0});
}

/// The same in memory of its own; of float32 the block itself.
template <class = void>
[[nodiscard]] inline auto wire_block(const ShardLayout& layout, const SharedBuffer& block) -> SharedBuffer {
  if (layout.wire_format() == WireFormat::float32) return block;
  auto sent = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(layout.wire_block_bytes()));
  encode_block(layout, block->as<float>(), sent->bytes());
  return sent;
}

/// Copies a block that has travelled into whole variables: `variable(v)` gives the memory of variable v.
template <class VariableMemory>
void spread_received(const ShardLayout& layout, const std::byte* received, VariableMemory&& variable) {
  const WireFormat format = layout.wire_format();
  if (format == WireFormat::float32) return spread(layout, received, variable);
  const std::size_t element_bytes = wire_element_bytes(format);
  for (const auto& place : layout.places()) {
    const std::byte* const from = received + place.offset_bytes / sizeof(float) * element_bytes;
    auto* const to = reinterpret_cast<float*>(variable(place.variable));
    for_each_overlap(place.slice, Slice::whole(place.whole), [&](std::size_t at, std::size_t to_at, std::size_t count) {
      decode_elements(format, from + at * element_bytes, {to + to_at, count});
    });
  }
}

/// Copies a shard's pieces out of whole variables into a block that is to travel: the opposite of `spread_received`.
/// Gaps of `to_send`, which has `wire_block_bytes`, stay as they are.
template <class VariableMemory>
void gather_to_send(const ShardLayout& layout, VariableMemory&& variable, std::byte* to_send) {
  const WireFormat format = layout.wire_format();
  if (format == WireFormat::float32) return gather(layout, variable, to_send);
  const std::size_t element_bytes = wire_element_bytes(format);
  for (const auto& place : layout.places()) {
    const auto* const from = reinterpret_cast<const float*>(variable(place.variable));
    std::byte* const to = to_send + place.offset_bytes / sizeof(float) * element_bytes;
    for_each_overlap(Slice::whole(place.whole), place.slice, [&](std::size_t at, std::size_t to_at, std::size_t count) {
      encode_elements(format, {from + at, count}, to + to_at * element_bytes);
    });
  }
}

}  // namespace distrib::inline v0

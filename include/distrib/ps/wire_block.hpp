// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/core/variables.hpp>
#include <distrib/ps/shard_layout.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

namespace distrib::inline v0 {

// The dense block of a shard in a message: what is trained in the job's `FloatFormat`, element after element, gaps too,
// and zeros up to `ShardLayout::wire_float_bytes`; then the counters as they are. Of float32 it is the block.

/// Writes a shard's dense block, which has an address for its elements, as it travels; `to` has `wire_block_bytes`.
template <class = void>
inline void encode_block(const ShardLayout& layout, ByteView block, std::span<std::byte> to) noexcept {
  const std::size_t floats = layout.float_bytes() / sizeof(float);
  encode_elements(layout.wire_format(), {reinterpret_cast<const float*>(block.data()), floats}, to.data());
  const auto used = to.begin() + static_cast<std::ptrdiff_t>(floats * element_bytes(layout.wire_format()));
  const auto counters = to.begin() + static_cast<std::ptrdiff_t>(layout.wire_float_bytes());
  std::fill(used, counters, std::byte{0});
  std::ranges::copy(block.first(layout.block_bytes()).subspan(layout.float_bytes()), counters);
}

/// The opposite: `to` has `block_bytes`, and an address for its elements.
template <class = void>
inline void decode_block(const ShardLayout& layout, ByteView received, std::span<std::byte> to) noexcept {
  const std::size_t floats = layout.float_bytes() / sizeof(float);
  decode_elements(layout.wire_format(), received.data(), {reinterpret_cast<float*>(to.data()), floats});
  std::ranges::copy(received.first(layout.wire_block_bytes()).subspan(layout.wire_float_bytes()),
                    to.begin() + static_cast<std::ptrdiff_t>(layout.float_bytes()));
}

/// The block as it travels, in memory of its own; of float32 the block itself.
template <class = void>
[[nodiscard]] inline auto wire_block(const ShardLayout& layout, const SharedBuffer& block) -> SharedBuffer {
  if (layout.wire_format() == FloatFormat::float32) return block;
  auto sent = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(layout.wire_block_bytes()));
  encode_block(layout, block->bytes(), sent->bytes());
  return sent;
}

namespace detail {
/// Where a part begins in a block that travels.
[[nodiscard]] inline auto wire_offset(const ShardLayout& layout, const ShardLayout::Place& place) -> std::size_t {
  if (is_counter(place.dtype)) return layout.wire_float_bytes() + (place.offset_bytes - layout.float_bytes());
  return place.offset_bytes / sizeof(float) * element_bytes(layout.wire_format());
}
}  // namespace detail

/// Copies a block that has travelled into whole variables: `variable(v)` gives the memory of variable v.
template <class VariableMemory>
void spread_received(const ShardLayout& layout, const std::byte* received, VariableMemory&& variable) {
  const FloatFormat format = layout.wire_format();
  if (format == FloatFormat::float32) return spread(layout, received, variable);
  for (const auto& place : layout.places()) {
    const std::byte* const from = received + detail::wire_offset(layout, place);
    std::byte* const to = variable(place.variable);
    if (is_counter(place.dtype)) {
      copy_overlap(place.slice, from, Slice::whole(place.whole), to, size_bytes(place.dtype));
      continue;
    }
    for_each_overlap(place.slice, Slice::whole(place.whole), [&](std::size_t at, std::size_t to_at, std::size_t count) {
      decode_elements(format, from + at * element_bytes(format), {reinterpret_cast<float*>(to) + to_at, count});
    });
  }
}

/// Copies a shard's pieces out of whole variables into a block that is to travel: the opposite of `spread_received`.
/// Gaps of `to_send`, which has `wire_block_bytes`, stay as they are.
template <class VariableMemory>
void gather_to_send(const ShardLayout& layout, VariableMemory&& variable, std::byte* to_send) {
  const FloatFormat format = layout.wire_format();
  if (format == FloatFormat::float32) return gather(layout, variable, to_send);
  for (const auto& place : layout.places()) {
    const std::byte* const from = variable(place.variable);
    std::byte* const to = to_send + detail::wire_offset(layout, place);
    if (is_counter(place.dtype)) {
      copy_overlap(Slice::whole(place.whole), from, place.slice, to, size_bytes(place.dtype));
      continue;
    }
    const auto* const floats = reinterpret_cast<const float*>(from);
    for_each_overlap(Slice::whole(place.whole), place.slice, [&](std::size_t at, std::size_t to_at, std::size_t count) {
      encode_elements(format, {floats + at, count}, to + to_at * element_bytes(format));
    });
  }
}

}  // namespace distrib::inline v0

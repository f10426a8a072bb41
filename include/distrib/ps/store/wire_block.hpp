// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/core/variables.hpp>
#include <distrib/ps/job/shard_layout.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

namespace distrib {
inline namespace v0 {

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
  const ByteView known = block.first(layout.block_bytes()).subspan(layout.float_bytes());
  std::copy(known.begin(), known.end(), counters);
}

/// The opposite: `to` has `block_bytes`, and an address for its elements.
template <class = void>
inline void decode_block(const ShardLayout& layout, ByteView received, std::span<std::byte> to) noexcept {
  const std::size_t floats = layout.float_bytes() / sizeof(float);
  decode_elements(layout.wire_format(), received.data(), {reinterpret_cast<float*>(to.data()), floats});
  const ByteView counters = received.first(layout.wire_block_bytes()).subspan(layout.wire_float_bytes());
  std::copy(counters.begin(), counters.end(), to.begin() + static_cast<std::ptrdiff_t>(layout.float_bytes()));
}

/// The block as it travels, in memory of its own; of float32 the block itself.
template <class = void>
[[nodiscard]] inline auto wire_block(const ShardLayout& layout, const SharedBuffer& block) -> SharedBuffer {
  if (layout.wire_format() == FloatFormat::float32) return block;
  auto sent = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(layout.wire_block_bytes()));
  encode_block(layout, block->bytes(), sent->bytes());
  return sent;
}

/// Where a part begins in a block that travels.
[[nodiscard]] inline auto wire_offset(const ShardLayout& layout, const ShardLayout::Entry& entry) -> std::size_t {
  if (is_counter(entry.dtype)) return layout.wire_float_bytes() + (entry.offset_bytes - layout.float_bytes());
  return entry.offset_bytes / sizeof(float) * element_bytes(layout.wire_format());
}

/// Copies a part out of a block that has travelled to where it belongs in its whole `variable`.
template <class = void>
inline void spread_received(const ShardLayout& layout, const ShardLayout::Entry& entry, const std::byte* received,
                            std::byte* variable) {
  const std::byte* const from = received + wire_offset(layout, entry);
  const Slice whole = Slice::whole(entry.whole);
  if (layout.wire_format() == FloatFormat::float32 || is_counter(entry.dtype)) {
    copy_overlap(entry.slice, from, whole, variable, size_bytes(entry.dtype));
    return;
  }
  const FloatFormat format = layout.wire_format();
  for_each_overlap(entry.slice, whole, [&](std::size_t at, std::size_t to_at, std::size_t count) {
    decode_elements(format, from + at * element_bytes(format), {reinterpret_cast<float*>(variable) + to_at, count});
  });
}

/// Copies a part out of its whole `variable` into a block that is to travel, which has `wire_block_bytes`: the opposite
/// of `spread_received`. Gaps stay as they are.
template <class = void>
inline void gather_to_send(const ShardLayout& layout, const ShardLayout::Entry& entry, const std::byte* variable,
                           std::byte* to_send) {
  std::byte* const to = to_send + wire_offset(layout, entry);
  const Slice whole = Slice::whole(entry.whole);
  if (layout.wire_format() == FloatFormat::float32 || is_counter(entry.dtype)) {
    copy_overlap(whole, variable, entry.slice, to, size_bytes(entry.dtype));
    return;
  }
  const FloatFormat format = layout.wire_format();
  const auto* const floats = reinterpret_cast<const float*>(variable);
  for_each_overlap(whole, entry.slice, [&](std::size_t at, std::size_t to_at, std::size_t count) {
    encode_elements(format, {floats + at, count}, to + to_at * element_bytes(format));
  });
}

}  // namespace v0
}  // namespace distrib

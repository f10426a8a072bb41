// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/float_codec.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/core/variable_info.hpp>
#include <distrib/ps/job/shard_layout.hpp>

#include <cstddef>
#include <span>

namespace distrib {
inline namespace v0 {

// The dense block of a shard in a message: what is trained in the job's `FloatFormat`, element after element, gaps too,
// and zeros up to `ShardLayout::wire_float_bytes`; then the counters as they are. Of float32 it is the block.

/// Writes a shard's dense block, which has an address for its elements, as it travels; `to` has `wire_block_bytes`.
DISTRIB_DECL void encode_block(const ShardLayout& layout, ByteView block, std::span<std::byte> to) noexcept;

/// The opposite: `to` has `block_bytes`, and an address for its elements.
DISTRIB_DECL void decode_block(const ShardLayout& layout, ByteView received, std::span<std::byte> to) noexcept;

/// The block as it travels, in memory of its own; of float32 the block itself.
[[nodiscard]] DISTRIB_DECL auto wire_block(const ShardLayout& layout, const SharedBuffer& block) -> SharedBuffer;

/// Where a part begins in a block that travels.
[[nodiscard]] inline auto wire_offset(const ShardLayout& layout, const ShardLayout::Entry& entry) -> std::size_t {
  if (detail::is_counter(entry.dtype)) return layout.wire_float_bytes() + (entry.offset_bytes - layout.float_bytes());
  return entry.offset_bytes / sizeof(float) * element_bytes(layout.wire_format());
}

/// Copies a part out of a block that has travelled to where it belongs in its whole `variable`.
DISTRIB_DECL void spread_received(const ShardLayout& layout, const ShardLayout::Entry& entry, const std::byte* received,
                                  std::byte* variable);

/// Copies a part out of its whole `variable` into a block that is to travel, which has `wire_block_bytes`: the opposite
/// of `spread_received`. Gaps stay as they are.
DISTRIB_DECL void gather_to_send(const ShardLayout& layout, const ShardLayout::Entry& entry, const std::byte* variable,
                                 std::byte* to_send);

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/impl/wire_block.ipp>
#endif

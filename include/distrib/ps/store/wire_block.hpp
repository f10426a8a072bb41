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

// The dense block of a shard in a message: first the floats of the block, gaps included, each in the job's
// `FloatFormat`, with zeros up to `ShardLayout::wire_float_bytes`; then the counters unchanged. With float32 it is the
// dense block itself.

/// Writes a shard's dense block to `to` in the form in which it travels. `block` must be aligned for its elements; `to`
/// must have `wire_block_bytes`.
DISTRIB_DECL void encode_block(const ShardLayout& layout, ByteView block, std::span<std::byte> to) noexcept;

/// Writes to `to` the dense block that `encode_block` has encoded as `received`, a block of `wire_block_bytes`. `to`
/// must have `block_bytes` and be aligned for its elements. Gaps of the floats are copied too.
DISTRIB_DECL void decode_block(const ShardLayout& layout, ByteView received, std::span<std::byte> to) noexcept;

/// Returns the block in the form in which it travels, in new memory. With float32 returns `block` itself.
[[nodiscard]] DISTRIB_DECL auto wire_block(const ShardLayout& layout, const SharedBuffer& block) -> SharedBuffer;

/// Returns the offset of a part in a block that travels, in bytes.
[[nodiscard]] inline auto wire_offset(const ShardLayout& layout, const ShardLayout::Entry& entry) -> std::size_t {
  if (detail::is_counter(entry.dtype)) return layout.wire_float_bytes() + (entry.offset_bytes - layout.float_bytes());
  return entry.offset_bytes / sizeof(float) * element_bytes(layout.wire_format());
}

/// Copies a part from a block that has travelled to its position in the whole `variable`.
DISTRIB_DECL void spread_received(const ShardLayout& layout, const ShardLayout::Entry& entry, const std::byte* received,
                                  std::byte* variable);

/// Copies, in the other direction than `spread_received`, a part from the whole `variable` into a block of
/// `wire_block_bytes` that is to travel. Leaves the gaps of the block as they are.
DISTRIB_DECL void gather_to_send(const ShardLayout& layout, const ShardLayout::Entry& entry, const std::byte* variable,
                                 std::byte* to_send);

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/impl/wire_block.ipp>
#endif

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/variable_info.hpp>
#include <distrib/ps/job/gradient_rounding.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/store/wire_block.hpp>

#include <cstddef>
#include <span>

namespace distrib {
inline namespace v0 {

// The dense block of a shard in a contribution. It is the block of `wire_block.hpp`, unless gradients travel as int8
// numbers. Then it has:
// - the scales of all trained parts, each a float32: one for each block of 256 elements of the whole variable that the
//   part has elements of; zeros up to `ShardLayout::scale_bytes`;
// - a byte for each float of the shard's block, gaps included, with zeros up to `ShardLayout::gradient_float_bytes`;
// - the counters unchanged.
//
// Blocks are counted in the whole variable, so scale and bytes of an element do not depend on how variables are
// divided. A part whose elements do not lie together, because it is cut along another axis than the first, has more
// scales.

/// Returns the offset of a counter in a block of `gradient_block_bytes`, in bytes; of another part too, unless
/// gradients travel as int8 numbers.
[[nodiscard]] inline auto gradient_offset(const ShardLayout& layout, const ShardLayout::Entry& entry) -> std::size_t {
  if (!detail::is_counter(entry.dtype)) return wire_offset(layout, entry);
  return layout.gradient_float_bytes() + (entry.offset_bytes - layout.float_bytes());
}

/// Copies a part from the whole gradient of a variable into a block of `gradient_block_bytes` that is to travel. Leaves
/// the gaps of the block as they are. `rounding`: of the contribution; not used unless gradients travel as int8
/// numbers.
DISTRIB_DECL void gather_gradient(const ShardLayout& layout, const ShardLayout::Entry& entry,
                                  const GradientRounding& rounding, const std::byte* variable, std::byte* to_send);

/// Writes to `to` the dense block whose gradients have travelled as `received`, `gradient_block_bytes`, which may come
/// from an untrusted peer. `to` must have `block_bytes` and be aligned for its elements.
DISTRIB_DECL void decode_gradients(const ShardLayout& layout, ByteView received, std::span<std::byte> to) noexcept;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/impl/gradient_block.ipp>
#endif

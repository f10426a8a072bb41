// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/ps/job/shard_layout.hpp>

#include <cstddef>
#include <span>

namespace distrib {
inline namespace v0 {

/// Writes the sum of two contributions to a shard, or of two such sums, to `to`: dense blocks of the layout, in float32.
/// Variables are added by `reduce_sum`; of counters each addition is rounded separately. A shard and a worker that sums
/// before it sends add so, so they make the same bits. The gaps between parts stay zero if they are zero in all blocks;
/// between variables with different updaters and counters `to` keeps what it had. `to` may be the memory of `left`.
DISTRIB_DECL void sum_blocks(const ShardLayout& layout, ByteView left, ByteView right, std::span<std::byte> to);

namespace detail {
/// Adds a part of a counter, element by element, to `to`. Each addition is rounded separately, so that the bits depend
/// only on the order of additions.
DISTRIB_DECL void add_counter(DType dtype, ByteView part, std::span<std::byte> to);
}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/impl/sum_blocks.ipp>
#endif

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// The sorted string table of LevelDB (doc/table_format.md), as TensorFlow uses it for the index of a checkpoint.

namespace distrib {
inline namespace v0 {
namespace detail {

inline constexpr std::uint64_t table_magic = 0xDB4775248B80FB57U;
inline constexpr std::size_t table_handles_bytes = 40;  ///< Two block handles, padded with zeros.
inline constexpr std::size_t table_footer_bytes = table_handles_bytes + 8;
inline constexpr std::size_t block_trailer_bytes = 5;     ///< Kind of the block, masked CRC of block and kind.
inline constexpr std::size_t table_block_bytes = 262144;  ///< TensorFlow's size at which a block is closed.
inline constexpr std::size_t restart_interval = 16;       ///< Every so many entries a key is written whole.

}  // namespace detail
}  // namespace v0
}  // namespace distrib

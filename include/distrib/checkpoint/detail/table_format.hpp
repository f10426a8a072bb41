// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// The sorted string table of LevelDB (doc/table_format.md), as TensorFlow uses it for the index of a checkpoint.

namespace distrib {
inline namespace v0 {
namespace detail {

inline constexpr std::uint64_t table_magic = 0xDB4775248B80FB57U;
/// Bytes of two block handles, padded with zeros.
inline constexpr std::size_t table_handles_bytes = 40;
inline constexpr std::size_t table_footer_bytes = table_handles_bytes + 8;
/// Bytes after a block: its kind, and the masked CRC of block and kind.
inline constexpr std::size_t block_trailer_bytes = 5;
/// Size at which TensorFlow closes a block.
inline constexpr std::size_t table_block_bytes = 262144;
/// Number of entries after which a key is written whole again.
inline constexpr std::size_t restart_interval = 16;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

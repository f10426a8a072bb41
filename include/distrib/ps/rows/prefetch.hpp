// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Number of keys in a window: the slots and then the rows of one window are prefetched while the windows before it are
/// worked on.
inline constexpr std::size_t table_window = 16;

// Always inlined, and functions that call these must be inlined too: g++ 12 assumes that a function which only
// prefetches has no effect, and removes calls of it.

/// Prefetches the cache line of `memory` for reading.
[[gnu::always_inline]] inline void prefetch_for_read(const void* memory) noexcept { __builtin_prefetch(memory, 0, 3); }

/// Prefetches the cache line of `memory` for writing.
[[gnu::always_inline]] inline void prefetch_for_write(const void* memory) noexcept { __builtin_prefetch(memory, 1, 3); }

/// Prefetches the first 512 bytes of a row; the processor continues by itself.
[[gnu::always_inline]] inline void prefetch_row(const float* row, std::size_t row_bytes) noexcept {
  // As a number: a row may not exist, and nothing may be added to a null pointer.
  const auto begin = reinterpret_cast<std::uintptr_t>(row);
  for (std::size_t at = 0; at < std::min<std::size_t>(row_bytes, 512); at += 64) {
    prefetch_for_read(reinterpret_cast<const void*>(begin + at));
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Keys of which slots, and then rows, are on their way from memory while those before them are worked on.
inline constexpr std::size_t table_window = 16;

// Always inlined, and so must be whatever calls them: g++ 12 takes a function that only prefetches for one without
// effect and drops calls of it.

/// Asks for the cache line of `memory`, which will be read.
[[gnu::always_inline]] inline void prefetch_for_read(const void* memory) noexcept { __builtin_prefetch(memory, 0, 3); }

/// Asks for the cache line of `memory`, which will be written.
[[gnu::always_inline]] inline void prefetch_for_write(const void* memory) noexcept { __builtin_prefetch(memory, 1, 3); }

/// Asks for the first lines of a row: 512 bytes, the machine sees by itself how it goes on.
[[gnu::always_inline]] inline void prefetch_row(const float* row, std::size_t row_bytes) noexcept {
  // A number, since a row that is not there has a null pointer, to which nothing may be added.
  const auto begin = reinterpret_cast<std::uintptr_t>(row);
  for (std::size_t at = 0; at < std::min<std::size_t>(row_bytes, 512); at += 64) {
    prefetch_for_read(reinterpret_cast<const void*>(begin + at));
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

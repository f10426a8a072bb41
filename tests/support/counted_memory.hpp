// SPDX-License-Identifier: Apache-2.0
// Counts all memory that C++ allocates in this program. Include it in one file of a program.
#pragma once

#include "support/sanitizers.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace support {

/// Bytes that this thread has allocated since it started. Stays 0 unless DISTRIB_TEST_COUNTS_MEMORY.
inline thread_local std::size_t allocated = 0;

}  // namespace support

// The sanitizers have their own operators; then nothing is counted.
#define DISTRIB_TEST_COUNTS_MEMORY (!DISTRIB_TEST_ADDRESS_SANITIZER && !DISTRIB_TEST_THREAD_SANITIZER)

#if DISTRIB_TEST_COUNTS_MEMORY
// Never inlined: g++ would see `free` where it expects `delete`.
[[gnu::noinline]] auto operator new(std::size_t size) -> void* {
  support::allocated += size;
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc{};
}
[[gnu::noinline]] auto operator new(std::size_t size, std::align_val_t alignment) -> void* {
  support::allocated += size;
  const auto line = static_cast<std::size_t>(alignment);
  if (void* const memory = std::aligned_alloc(line, (size + line - 1) / line * line)) return memory;
  throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#endif

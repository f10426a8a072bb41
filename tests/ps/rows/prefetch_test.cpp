// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/rows/prefetch.hpp>

#include "support/catch.hpp"

#include <sys/mman.h>

#include <cstddef>

TEST_CASE("prefetch: does not access the memory", "[ps]") {
  // Rows are prefetched before it is known whether they exist.
  void* const memory = ::mmap(nullptr, 4'096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  distrib::detail::prefetch_for_read(memory);
  distrib::detail::prefetch_for_write(memory);
  distrib::detail::prefetch_row(static_cast<const float*>(memory), 4'096);
  distrib::detail::prefetch_row(nullptr, 512);
  CHECK(::munmap(memory, 4'096) == 0);
}

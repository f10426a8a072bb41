// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/usable_memory.hpp>

#include <unistd.h>

#include <algorithm>
#include <limits>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto usable_memory() -> std::uint64_t {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
  if (pages > 0 && page_bytes > 0) bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
  return std::min(bytes, detail::cgroup_memory("").value_or(bytes));
}

}  // namespace v0
}  // namespace distrib

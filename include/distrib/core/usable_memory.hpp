// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/detail/control_group.hpp>
#include <distrib/core/shortest_text.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Bytes that control groups allow; see `control_group_limit`.
template <class = void> auto cgroup_memory(const std::string& root) -> std::optional<std::uint64_t> {
  return control_group_limit(root, "memory", [](const std::string& group, bool is_v2) {
    return parse_whole<std::uint64_t>(read_setting(group + (is_v2 ? "/memory.max" : "/memory.limit_in_bytes")));
  });
}

}  // namespace detail

/// Bytes of memory that this process may come to use: those of the machine, or as many as its control group lets it have
/// (versions 1 and 2: `docker run --memory`, limits of Kubernetes, Slurm's). Who takes more is killed. Linux.
template <class = void> [[nodiscard]] auto usable_memory() -> std::uint64_t {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
  if (pages > 0 && page_bytes > 0) bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
  return std::min(bytes, detail::cgroup_memory("").value_or(bytes));
}

}  // namespace v0
}  // namespace distrib

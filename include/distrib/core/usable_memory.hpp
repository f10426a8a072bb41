// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/detail/control_group.hpp>
#include <distrib/core/shortest_text.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Returns the number of bytes that the control groups allow; empty if they set no limit. See `control_group_limit`.
inline auto cgroup_memory(const std::string& root) -> std::optional<std::uint64_t> {
  return control_group_limit(root, "memory", [](const std::string& group, bool is_v2) {
    return parse_whole<std::uint64_t>(read_setting(group + (is_v2 ? "/memory.max" : "/memory.limit_in_bytes")));
  });
}

}  // namespace detail

/// Returns how many bytes of memory this process may use: the memory of the machine, or the limit of its control group
/// if that is lower (versions 1 and 2: `docker run --memory`, limits of Kubernetes and Slurm). The system kills a
/// process that uses more. 2^64 - 1 if neither is known. Linux only.
[[nodiscard]] DISTRIB_DECL auto usable_memory() -> std::uint64_t;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/usable_memory.ipp>
#endif

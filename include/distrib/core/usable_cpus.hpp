// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <optional>
#include <string>

namespace distrib {
inline namespace v0 {

namespace detail {

/// CPUs that control groups allow; see `control_group_limit`.
DISTRIB_DECL auto cgroup_cpus(const std::string& root) -> std::optional<double>;

}  // namespace detail

/// How many threads of this process can run at once, at least 1: the CPUs that it may run on, or as many as its control
/// group lets it use, rounded up (versions 1 and 2: `docker run --cpus`, limits of Kubernetes, Slurm's), where
/// `std::thread::hardware_concurrency` counts those of the machine. Linux.
[[nodiscard]] DISTRIB_DECL auto usable_cpus() -> unsigned;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/usable_cpus.ipp>
#endif

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <sched.h>

#include <cstddef>
#include <optional>
#include <string>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Returns the number of CPUs that the control groups allow; empty if they set no limit. See `control_group_limit`.
DISTRIB_DECL auto cgroup_cpus(const std::string& root) -> std::optional<double>;

/// Returns the number of CPUs that the calling thread may run on, at least 1; 1 if it is unknown. `get` is
/// `sched_getaffinity`.
DISTRIB_DECL auto affinity_cpus(int (*get)(::pid_t, std::size_t, ::cpu_set_t*)) -> unsigned;

}  // namespace detail

/// Returns how many threads of this process can run at the same time, at least 1: the number of CPUs that the calling
/// thread may run on, or the limit of the process's control group, rounded up, if that is lower. Understands versions 1
/// and 2 of control groups (`docker run --cpus`, limits of Kubernetes and Slurm), which
/// `std::thread::hardware_concurrency` ignores. Linux only.
[[nodiscard]] DISTRIB_DECL auto usable_cpus() -> unsigned;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/usable_cpus.ipp>
#endif

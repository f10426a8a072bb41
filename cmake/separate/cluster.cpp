// SPDX-License-Identifier: Apache-2.0
// What depends on no model, compiled once: see ../DistribSeparate.cmake.
#include <distrib/cluster/launched_task.hpp>
#include <distrib/ps/worker/probe.hpp>

namespace distrib {
inline namespace v0 {

template auto ClusterFlags::from(std::span<const char* const>, std::string_view, std::vector<std::string>&, Error&,
                                 UnlistedTask) -> ClusterFlags;
template auto LaunchedTask::from(std::span<const char* const>, const Environment&, std::vector<std::string>&, Error&)
    -> LaunchedTask;
template auto probe(const ClusterFlags&, const AskOptions&) -> Error;

}  // namespace v0
}  // namespace distrib

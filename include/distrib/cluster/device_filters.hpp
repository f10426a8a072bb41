// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/device_spec.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Which devices of a cluster each task sees, as TensorFlow's ClusterDeviceFilters: a task with filters sees its own
/// devices and those that match one of them, a task without filters all. A value. This library does not act on it:
/// its parameter servers and workers speak only to each other. It is for programs that hand a `ServerDef` to TensorFlow.
class ClusterDeviceFilters {
 public:
  /// Filters are parts of devices, as "/job:ps" or "/job:worker/task:1"; those that the task had are gone, and no filter
  /// at all is the same as none set. Fails with `cluster_errc::bad_device`, and nothing is changed.
  void set(const TaskId& task, std::vector<std::string> filters) {
    std::error_code ec;
    set(task, std::move(filters), ec);
    if (ec) throw_error(ec, to_string(task));
  }
  DISTRIB_DECL void set(const TaskId& task, std::vector<std::string> filters, std::error_code& ec);

  /// Those of a task, as they were set.
  [[nodiscard]] auto filters(const TaskId& task) const -> std::vector<std::string> {
    const auto found = tasks_.find(task);
    return found == tasks_.end() ? std::vector<std::string>{} : found->second;
  }

  /// Whether `task` sees `device`, whose job and task must be set. What a filter does not set fits every device.
  [[nodiscard]] auto sees(const TaskId& task, const DeviceSpec& device) const -> bool {
    const auto found = tasks_.find(task);
    if (found == tasks_.end() || (device.job == task.job && device.task == task.index)) return true;
    for (const std::string& filter : found->second)
      if (device.merged_with(DeviceSpec::parse(filter)) == device) return true;
    return false;
  }

  /// Every task that has filters.
  [[nodiscard]] auto tasks() const -> const std::map<TaskId, std::vector<std::string>>& { return tasks_; }

  [[nodiscard]] auto operator==(const ClusterDeviceFilters&) const -> bool = default;

 private:
  std::map<TaskId, std::vector<std::string>> tasks_;
};

namespace detail {

/// The usual ones with parameter servers: chief and workers see the job "ps" only, and a ps sees chief and workers only.
[[nodiscard]] DISTRIB_DECL auto ps_device_filters(const ClusterSpec& cluster) -> ClusterDeviceFilters;

/// As a serialized ClusterDeviceFilters (device_filters.proto): jobs by name, tasks by index.
[[nodiscard]] DISTRIB_DECL auto write_device_filters(const ClusterDeviceFilters& filters) -> std::vector<std::byte>;

/// Reads a serialized ClusterDeviceFilters. Fails with `cluster_errc::bad_cluster_def`, `bad_device`.
[[nodiscard]] DISTRIB_DECL auto parse_device_filters(ByteView bytes, std::error_code& ec) -> ClusterDeviceFilters;
[[nodiscard]] DISTRIB_DECL auto parse_device_filters(ByteView bytes) -> ClusterDeviceFilters;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/device_filters.ipp>
#endif

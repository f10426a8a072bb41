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

/// Which devices of a cluster each task sees, as TensorFlow's ClusterDeviceFilters. A task with filters sees its own
/// devices and those that match one of its filters; a task without filters sees all. A value. It has no effect in this
/// library, whose parameter servers and workers only talk to each other. It is for programs that pass a `ServerDef` to
/// TensorFlow.
class ClusterDeviceFilters {
 public:
  /// Replaces the filters of a task. A filter is a part of a device, such as "/job:ps" or "/job:worker/task:1". An
  /// empty list removes all filters of the task.
  ///
  /// Errors (without `ec` thrown as `std::system_error`): `cluster_errc::bad_device` if a filter is not a device;
  /// nothing is changed.
  void set(const TaskId& task, std::vector<std::string> filters) {
    std::error_code ec;
    set(task, std::move(filters), ec);
    if (ec) throw_error(ec, to_string(task));
  }
  DISTRIB_DECL void set(const TaskId& task, std::vector<std::string> filters, std::error_code& ec);

  /// Returns the filters of a task, as they were set.
  [[nodiscard]] auto filters(const TaskId& task) const -> std::vector<std::string> {
    const auto found = tasks_.find(task);
    return found == tasks_.end() ? std::vector<std::string>{} : found->second;
  }

  /// True if `task` sees `device`: if the task has no filters, if the device is one of its own, or if one of its
  /// filters matches. A field that a filter does not set matches any value. A field that a filter sets does not match a
  /// device without that field: so set job and task of `device` (not checked).
  [[nodiscard]] auto sees(const TaskId& task, const DeviceSpec& device) const -> bool {
    const auto found = tasks_.find(task);
    if (found == tasks_.end() || (device.job == task.job && device.task == task.index)) return true;
    for (const std::string& filter : found->second)
      if (device.merged_with(DeviceSpec::parse(filter)) == device) return true;
    return false;
  }

  /// Returns all tasks that have filters.
  [[nodiscard]] auto tasks() const -> const std::map<TaskId, std::vector<std::string>>& { return tasks_; }

  [[nodiscard]] auto operator==(const ClusterDeviceFilters&) const -> bool = default;

 private:
  std::map<TaskId, std::vector<std::string>> tasks_;
};

namespace detail {

/// Returns the usual filters for parameter servers: chief and workers see only the job "ps", and a ps sees only chief
/// and workers.
[[nodiscard]] DISTRIB_DECL auto ps_device_filters(const ClusterSpec& cluster) -> ClusterDeviceFilters;

/// Returns the filters as a serialized ClusterDeviceFilters (device_filters.proto), sorted by job name and task index.
[[nodiscard]] DISTRIB_DECL auto write_device_filters(const ClusterDeviceFilters& filters) -> std::vector<std::byte>;

/// Reads a serialized ClusterDeviceFilters.
///
/// Errors: `cluster_errc::bad_cluster_def` (damaged bytes), `bad_device`.
[[nodiscard]] DISTRIB_DECL auto parse_device_filters(ByteView bytes, std::error_code& ec) -> ClusterDeviceFilters;
[[nodiscard]] DISTRIB_DECL auto parse_device_filters(ByteView bytes) -> ClusterDeviceFilters;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/device_filters.ipp>
#endif

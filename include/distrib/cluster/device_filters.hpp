// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_def.hpp>
#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/device_spec.hpp>
#include <distrib/cluster/error.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/protowire.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Which devices of a cluster each task sees, as TensorFlow's ClusterDeviceFilters: a task with filters sees its own
/// devices and those that match one of them, a task without filters all. A value. Nobody here acts on it: parameter
/// servers and workers speak to each other only. It is for whoever hands a `ServerDef` to TensorFlow.
class ClusterDeviceFilters {
 public:
  /// Filters are parts of devices, as "/job:ps" or "/job:worker/task:1"; those that the task had are gone, and no filter
  /// at all is the same as none set. Fails with `cluster_errc::bad_device`, and nothing is changed.
  void set(const TaskId& task, std::vector<std::string> filters) {
    std::error_code ec;
    set(task, std::move(filters), ec);
    if (ec) throw_error(ec, to_string(task));
  }
  void set(const TaskId& task, std::vector<std::string> filters, std::error_code& ec) {
    ec.clear();
    for (const std::string& filter : filters) {
      (void)DeviceSpec::parse(filter, ec);
      if (ec) return;
    }
    if (filters.empty()) tasks_.erase(task);
    else tasks_[task] = std::move(filters);
  }

  /// Those of a task, as they were set.
  [[nodiscard]] auto filters(const TaskId& task) const -> std::vector<std::string> {
    const auto found = tasks_.find(task);
    return found == tasks_.end() ? std::vector<std::string>{} : found->second;
  }

  /// Whether `task` sees a device, of which job and task must be set. What a filter does not set fits every device.
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

/// The usual ones with parameter servers: chief and workers see the job "ps" only, and a ps sees chief and workers only.
[[nodiscard]] inline auto ps_device_filters(const ClusterSpec& cluster) -> ClusterDeviceFilters {
  ClusterDeviceFilters filters;
  std::vector<std::string> workers;
  for (const std::string job : {"chief", "worker"})
    if (cluster.contains(job)) workers.push_back("/job:" + job);
  for (const std::string job : {"chief", "ps", "worker"})
    if (const ClusterSpec::Tasks* tasks = cluster.find(job))
      for (const auto& [index, address] : *tasks)
        filters.set({job, index}, job == "ps" ? workers : std::vector<std::string>{"/job:ps"});
  return filters;
}

/// As a serialized ClusterDeviceFilters (device_filters.proto): jobs by name, tasks by index.
[[nodiscard]] inline auto write_device_filters(const ClusterDeviceFilters& filters) -> std::vector<std::byte> {
  WireWriter out;
  const auto& tasks = filters.tasks();
  for (auto at = tasks.begin(); at != tasks.end();)
    out.message(1, [&, job = at->first.job](WireWriter& of_job) {
      if (!job.empty()) of_job.text(1, job);
      for (; at != tasks.end() && at->first.job == job; ++at)
        of_job.message(2, [&](WireWriter& entry) {
          entry.varint(1, at->first.index);
          entry.message(2, [&](WireWriter& list) {
            for (const std::string& filter : at->second) list.text(1, filter);
          });
        });
    });
  return out.take();
}

/// Reads a serialized ClusterDeviceFilters. Fails with `cluster_errc::bad_cluster_def`, `bad_device`.
[[nodiscard]] inline auto parse_device_filters(ByteView bytes, std::error_code& ec) -> ClusterDeviceFilters {
  ec.clear();
  ClusterDeviceFilters filters;
  const auto read_task = [&](const std::string& job, ByteView content) {
    detail::WireEntry entry;
    if (!detail::read_wire_entry(content, entry)) return false;
    std::vector<std::string> texts;
    WireReader list{entry.value};
    while (list.next())
      if (list.tag() == wire_tag(1, WireType::bytes)) texts.emplace_back(list.text());
    if (list.ok()) filters.set({job, static_cast<std::uint32_t>(entry.key)}, std::move(texts), ec);
    return list.ok() && !ec;
  };
  const auto read_job = [&](ByteView content) {
    std::string job;
    std::vector<ByteView> entries;  // the name may come after them
    WireReader reader{content};
    while (reader.next()) {
      if (reader.tag() == wire_tag(1, WireType::bytes)) job = reader.text();
      if (reader.tag() == wire_tag(2, WireType::bytes)) entries.push_back(reader.bytes());
    }
    bool good = reader.ok();
    for (const ByteView entry : entries) good = good && read_task(job, entry);
    return good;
  };
  WireReader reader{bytes};
  bool good = true;
  while (good && reader.next()) good = reader.tag() != wire_tag(1, WireType::bytes) || read_job(reader.bytes());
  if (!ec && !(good && reader.ok())) ec = cluster_errc::bad_cluster_def;
  return ec ? ClusterDeviceFilters{} : filters;
}
[[nodiscard]] inline auto parse_device_filters(ByteView bytes) -> ClusterDeviceFilters {
  std::error_code ec;
  ClusterDeviceFilters filters = parse_device_filters(bytes, ec);
  if (ec) throw_error(ec, "ClusterDeviceFilters");
  return filters;
}

}  // namespace v0
}  // namespace distrib

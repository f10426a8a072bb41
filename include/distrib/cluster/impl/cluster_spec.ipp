// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto ClusterSpec::task_address(std::string_view job, std::uint32_t index) const -> std::string {
  std::error_code ec;
  std::string address = task_address(job, index, ec);
  if (ec) throw_error(ec, "/job:" + std::string{job} + "/task:" + std::to_string(index));
  return address;
}

DISTRIB_DECL auto ClusterSpec::task_address(std::string_view job, std::uint32_t index, std::error_code& ec) const
    -> std::string {
  const Tasks* tasks = find(job, ec);
  if (tasks == nullptr) return {};
  const auto found = tasks->find(index);
  if (found != tasks->end()) return found->second;
  ec = cluster_errc::no_such_task;
  return {};
}

DISTRIB_DECL auto ClusterSpec::job_tasks(std::string_view job) const -> std::vector<std::optional<std::string>> {
  std::error_code ec;
  auto list = job_tasks(job, ec);
  if (ec) throw_error(ec, job);
  return list;
}

DISTRIB_DECL auto ClusterSpec::job_tasks(std::string_view job, std::error_code& ec) const
    -> std::vector<std::optional<std::string>> {
  const Tasks* tasks = find(job, ec);
  if (tasks == nullptr) return {};
  if (tasks->empty()) ec = cluster_errc::empty_job;
  // The highest index may be far beyond the number of tasks. A list that long is refused, not allocated.
  if (!tasks->empty() && last_index(*tasks) > tasks->size() + max_gap) ec = cluster_errc::sparse_job;
  if (ec) return {};
  std::vector<std::optional<std::string>> list(last_index(*tasks) + 1);
  for (const auto& [index, address] : *tasks) list[index] = address;
  return list;
}

DISTRIB_DECL auto ClusterSpec::operator==(const ClusterSpec& other) const -> bool {
  if (jobs_.size() != other.jobs_.size()) return false;
  for (const auto& [job, tasks] : jobs_) {
    const Tasks* theirs = other.find(job);
    if (theirs == nullptr || *theirs != tasks) return false;
  }
  return true;
}

DISTRIB_DECL auto ClusterSpec::tasks_or_throw(std::string_view job) const -> const Tasks& {
  std::error_code ec;
  const Tasks* tasks = find(job, ec);
  if (ec) throw_error(ec, job);
  return *tasks;
}

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/error.hpp>
#include <distrib/core/decl.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The tasks of a cluster: jobs by name, in the order in which they were added, and the address of each task. The
/// indices of a job may have gaps. A value. Addresses are not checked; connecting or listening does that.
///
/// Errors: a function sets `ec`; the overload without `ec` throws `std::system_error` that names job and task.
class ClusterSpec {
 public:
  /// Addresses by task index.
  using Tasks = std::map<std::uint32_t, std::string>;

  /// Makes a cluster without jobs.
  ClusterSpec() = default;

  /// Makes a cluster of jobs with the addresses of tasks 0 .. n-1: `{{"ps", {"a:1", "b:1"}}, {"worker", {"c:1"}}}`.
  /// Throws `std::system_error` with `cluster_errc::duplicate_job` if two jobs have the same name.
  ClusterSpec(std::initializer_list<std::pair<std::string_view, std::vector<std::string>>> jobs) {
    for (const auto& [job, addresses] : jobs) {
      Tasks tasks;
      for (const std::string& address : addresses) tasks.insert({static_cast<std::uint32_t>(tasks.size()), address});
      add(job, std::move(tasks));
    }
  }

  /// Makes a cluster from the addresses of each job by task index. The jobs are sorted by name.
  [[nodiscard]] static auto from_sparse(const std::map<std::string, Tasks>& jobs) -> ClusterSpec {
    ClusterSpec cluster;
    for (const auto& [job, tasks] : jobs) cluster.jobs_.push_back({job, tasks});
    return cluster;
  }

  /// Appends a job.
  ///
  /// Errors: `cluster_errc::duplicate_job` if there is a job of this name; nothing is changed.
  void add(std::string_view job, Tasks tasks) {
    std::error_code ec;
    add(job, std::move(tasks), ec);
    if (ec) throw_error(ec, job);
  }
  void add(std::string_view job, Tasks tasks, std::error_code& ec) {
    ec = contains(job) ? make_error_code(cluster_errc::duplicate_job) : std::error_code{};
    if (!ec) jobs_.push_back({std::string{job}, std::move(tasks)});
  }

  /// True if there is at least one job, even one without tasks.
  [[nodiscard]] explicit operator bool() const noexcept { return !jobs_.empty(); }

  /// True if there is a job of this name.
  [[nodiscard]] auto contains(std::string_view job) const noexcept -> bool { return find(job) != nullptr; }

  /// Returns the names of the jobs, in the order in which they were added.
  [[nodiscard]] auto jobs() const -> std::vector<std::string> {
    std::vector<std::string> names;
    for (const auto& [name, tasks] : jobs_) names.push_back(name);
    return names;
  }

  /// Returns the tasks of a job; null if there is no such job. Valid until the cluster is changed or destroyed.
  [[nodiscard]] auto find(std::string_view job) const noexcept -> const Tasks* {
    for (const auto& [name, tasks] : jobs_)
      if (name == job) return &tasks;
    return nullptr;
  }

  /// Returns the number of tasks of a job. Gaps between indices are not counted.
  ///
  /// Errors (without `ec` thrown as `std::system_error`): `cluster_errc::no_such_job` if the cluster has no job of this
  /// name; the result is then 0.
  [[nodiscard]] auto num_tasks(std::string_view job) const -> std::size_t { return tasks_or_throw(job).size(); }
  [[nodiscard]] auto num_tasks(std::string_view job, std::error_code& ec) const noexcept -> std::size_t {
    const Tasks* tasks = find(job, ec);
    return tasks == nullptr ? 0 : tasks->size();
  }

  /// Returns the indices of a job's tasks, ascending.
  ///
  /// Errors (without `ec` thrown as `std::system_error`): `cluster_errc::no_such_job` if the cluster has no job of this
  /// name; the result is then empty.
  [[nodiscard]] auto task_indices(std::string_view job) const -> std::vector<std::uint32_t> {
    return indices_of(tasks_or_throw(job));
  }
  [[nodiscard]] auto task_indices(std::string_view job, std::error_code& ec) const -> std::vector<std::uint32_t> {
    const Tasks* tasks = find(job, ec);
    return tasks == nullptr ? std::vector<std::uint32_t>{} : indices_of(*tasks);
  }

  /// Returns the address of a task.
  ///
  /// Errors (without `ec` thrown as `std::system_error`): `cluster_errc::no_such_job` if the cluster has no job of this
  /// name, `no_such_task` if the job has no task with this index; the result is then empty.
  [[nodiscard]] DISTRIB_DECL auto task_address(std::string_view job, std::uint32_t index) const -> std::string;
  [[nodiscard]] DISTRIB_DECL auto task_address(std::string_view job, std::uint32_t index, std::error_code& ec) const
      -> std::string;

  /// Returns the addresses of a job from index 0 to the highest index, with empty optionals in the gaps.
  ///
  /// Errors: `cluster_errc::no_such_job`; `cluster_errc::empty_job` if it has no tasks; `cluster_errc::sparse_job` if
  /// its highest index is more than 2^20 above the number of its tasks.
  [[nodiscard]] DISTRIB_DECL auto job_tasks(std::string_view job) const -> std::vector<std::optional<std::string>>;
  [[nodiscard]] DISTRIB_DECL auto job_tasks(std::string_view job, std::error_code& ec) const
      -> std::vector<std::optional<std::string>>;

  /// True if both have the same jobs, with the same addresses at the same indices. The order of the jobs does not
  /// matter.
  [[nodiscard]] DISTRIB_DECL auto operator==(const ClusterSpec& other) const -> bool;

  /// Returns TensorFlow's text, with the jobs sorted by name: "ClusterSpec({'ps': ['a:1'], 'worker': {1: 'c:1'}})".
  [[nodiscard]] friend auto to_string(const ClusterSpec& cluster) -> std::string {
    std::string text = "ClusterSpec({";
    std::vector<std::string> names = cluster.jobs();
    std::sort(names.begin(), names.end());
    for (const std::string& job : names) {
      const Tasks& tasks = *cluster.find(job);
      if (text.back() != '{') text += ", ";
      const bool dense = !tasks.empty() && last_index(tasks) + 1 == tasks.size();
      text.append("'").append(job).append(dense ? "': [" : "': {");
      for (const auto& [index, address] : tasks) {
        if (index != tasks.begin()->first) text += ", ";
        if (!dense) text += std::to_string(index) + ": ";
        text.append("'").append(address).append("'");
      }
      text += dense ? ']' : '}';
    }
    return text += "})";
  }

 private:
  static constexpr std::size_t max_gap = 1 << 20;

  [[nodiscard]] auto find(std::string_view job, std::error_code& ec) const noexcept -> const Tasks* {
    const Tasks* tasks = find(job);
    ec = tasks == nullptr ? make_error_code(cluster_errc::no_such_job) : std::error_code{};
    return tasks;
  }

  [[nodiscard]] DISTRIB_DECL auto tasks_or_throw(std::string_view job) const -> const Tasks&;

  [[nodiscard]] static auto indices_of(const Tasks& tasks) -> std::vector<std::uint32_t> {
    std::vector<std::uint32_t> indices;
    for (const auto& [index, address] : tasks) indices.push_back(index);
    return indices;
  }

  // `tasks` must not be empty.
  [[nodiscard]] static auto last_index(const Tasks& tasks) -> std::size_t { return std::prev(tasks.end())->first; }

  std::vector<std::pair<std::string, Tasks>> jobs_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/cluster_spec.ipp>
#endif

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

/// Who is in a cluster: jobs by name, in the order they were given, and the address of each task of a job. Indices may
/// have gaps. A value. Addresses are kept as they are: who connects or listens finds out whether they mean something.
class ClusterSpec {
 public:
  /// Addresses by task index.
  using Tasks = std::map<std::uint32_t, std::string>;

  /// A cluster without jobs.
  ClusterSpec() = default;

  /// Jobs with their addresses, tasks 0 .. n-1: `{{"ps", {"a:1", "b:1"}}, {"worker", {"c:1"}}}`. Throws
  /// `cluster_errc::duplicate_job`.
  ClusterSpec(std::initializer_list<std::pair<std::string_view, std::vector<std::string>>> jobs) {
    for (const auto& [job, addresses] : jobs) {
      Tasks tasks;
      for (const std::string& address : addresses) tasks.insert({static_cast<std::uint32_t>(tasks.size()), address});
      add(job, std::move(tasks));
    }
  }

  /// Jobs with the address of each task that there is, in the order of their names.
  [[nodiscard]] static auto from_sparse(const std::map<std::string, Tasks>& jobs) -> ClusterSpec {
    ClusterSpec cluster;
    for (const auto& [job, tasks] : jobs) cluster.jobs_.push_back({job, tasks});
    return cluster;
  }

  /// Adds a job after the others. Fails with `cluster_errc::duplicate_job`.
  void add(std::string_view job, Tasks tasks) {
    std::error_code ec;
    add(job, std::move(tasks), ec);
    if (ec) throw_error(ec, job);
  }
  void add(std::string_view job, Tasks tasks, std::error_code& ec) {
    ec = contains(job) ? make_error_code(cluster_errc::duplicate_job) : std::error_code{};
    if (!ec) jobs_.push_back({std::string{job}, std::move(tasks)});
  }

  /// Whether there is a job at all, be it one without tasks.
  [[nodiscard]] explicit operator bool() const noexcept { return !jobs_.empty(); }

  /// Whether there is a job of this name.
  [[nodiscard]] auto contains(std::string_view job) const noexcept -> bool { return find(job) != nullptr; }

  /// Names of the jobs, in the order they were given.
  [[nodiscard]] auto jobs() const -> std::vector<std::string> {
    std::vector<std::string> names;
    for (const auto& [name, tasks] : jobs_) names.push_back(name);
    return names;
  }

  /// The tasks of a job; null when there is no such job. Valid as long as the spec is neither changed nor destroyed.
  [[nodiscard]] auto find(std::string_view job) const noexcept -> const Tasks* {
    for (const auto& [name, tasks] : jobs_)
      if (name == job) return &tasks;
    return nullptr;
  }

  /// Number of tasks that there are, gaps not counted. Fails with `cluster_errc::no_such_job`.
  [[nodiscard]] auto num_tasks(std::string_view job) const -> std::size_t { return tasks_or_throw(job).size(); }
  [[nodiscard]] auto num_tasks(std::string_view job, std::error_code& ec) const noexcept -> std::size_t {
    const Tasks* tasks = find(job, ec);
    return tasks == nullptr ? 0 : tasks->size();
  }

  /// Indices of the tasks, ascending. Fails with `cluster_errc::no_such_job`.
  [[nodiscard]] auto task_indices(std::string_view job) const -> std::vector<std::uint32_t> {
    return indices_of(tasks_or_throw(job));
  }
  [[nodiscard]] auto task_indices(std::string_view job, std::error_code& ec) const -> std::vector<std::uint32_t> {
    const Tasks* tasks = find(job, ec);
    return tasks == nullptr ? std::vector<std::uint32_t>{} : indices_of(*tasks);
  }

  /// Where a task is. Fails with `cluster_errc::no_such_job`, `cluster_errc::no_such_task`.
  [[nodiscard]] DISTRIB_DECL auto task_address(std::string_view job, std::uint32_t index) const -> std::string;
  [[nodiscard]] DISTRIB_DECL auto task_address(std::string_view job, std::uint32_t index, std::error_code& ec) const
      -> std::string;

  /// Addresses from index 0 to the highest, empty optionals in the gaps. Fails with `cluster_errc::no_such_job`,
  /// `cluster_errc::empty_job`.
  [[nodiscard]] DISTRIB_DECL auto job_tasks(std::string_view job) const -> std::vector<std::optional<std::string>>;
  [[nodiscard]] DISTRIB_DECL auto job_tasks(std::string_view job, std::error_code& ec) const
      -> std::vector<std::optional<std::string>>;

  /// Same jobs with the same addresses at the same indices; the order of jobs does not matter.
  [[nodiscard]] DISTRIB_DECL auto operator==(const ClusterSpec& other) const -> bool;

  /// TensorFlow's text, jobs by name: "ClusterSpec({'ps': ['a:1'], 'worker': {1: 'c:1'}})".
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

  // Of tasks that there are.
  [[nodiscard]] static auto last_index(const Tasks& tasks) -> std::size_t { return std::prev(tasks.end())->first; }

  std::vector<std::pair<std::string, Tasks>> jobs_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/cluster_spec.ipp>
#endif

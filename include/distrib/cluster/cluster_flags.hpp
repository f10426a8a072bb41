// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/error.hpp>
#include <distrib/cluster/flag_file.hpp>
#include <distrib/cluster/flag_values.hpp>
#include <distrib/cluster/roles.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/cluster/tf_config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What becomes of a task that its job's host list does not have.
enum class UnlistedTask {
  refuse,               ///< `cluster_errc::no_such_task`.
  leave_like_upstream,  ///< It is taken as it is; `Server` refuses it. mnist.py of tensorflow/ecosystem does that.
};

/// A flag of a command line.
struct FlagInfo {
  std::string_view name;  ///< "task_index"
  std::string_view type;  ///< "integer" or "string"
  std::string_view help;  ///< A line for --help.
};

/// Which task of which cluster this process is, as its command line or TF_CONFIG says. A value.
///
/// Flags are --job_name, --task_index (0 unless told), --ps_hosts and --worker_hosts; also with one dash, as
/// --name=value or --name value; the last one of a name counts; `--` ends the flags. --flagfile stands for the flags of
/// a file, see `read_flag_files`. Only when none of the four is given is TF_CONFIG read from the environment; set but
/// empty counts as not set.
///
/// Every face fails with a `cluster_errc` or, for TF_CONFIG, a `json_errc`, and none ends the process.
struct ClusterFlags {
  /// The four flags, for a program that tells its own; `help()` is made of them.
  static constexpr std::array<FlagInfo, 4> known{{
      {"task_index", "integer", "which task of its job this process is, from 0"},
      {"ps_hosts", "string", "HOST:PORT,... of the parameter servers"},
      {"worker_hosts", "string", "HOST:PORT,... of the workers"},
      {"job_name", "string", "ps or worker; without it this process is the whole job"},
  }};

  std::string job_name;  ///< "ps", "worker"; from TF_CONFIG also "chief", "evaluator". "": no cluster, one process.
  std::uint32_t task_index = 0;  ///< Which task of that job.
  std::vector<std::string> ps_hosts;  ///< host:port of each ps task.
  std::vector<std::string> worker_hosts;  ///< host:port of each worker task.
  std::vector<std::string> chief_hosts;  ///< From TF_CONFIG only: one or none.

  /// Reads a command line on which nothing else stands. `argv[0]` is the program.
  template <class = void> [[nodiscard]] static auto parse(int argc, const char* const* argv) -> ClusterFlags {
    Error error;
    return detail::or_throw(parse(argc, argv, error), error);
  }
  template <class = void>
  [[nodiscard]] static auto parse(int argc, const char* const* argv, std::error_code& ec) -> ClusterFlags {
    return parse(argc, argv, detail::CodeOf{ec});
  }
  template <class = void>
  [[nodiscard]] static auto parse(int argc, const char* const* argv, Error& error) -> ClusterFlags {
    std::vector<std::string> rest;
    ClusterFlags flags = parse_known(argc, argv, rest, error);
    if (!rest.empty() && rest.front() == "--") rest.erase(rest.begin());
    if (error || rest.empty()) return flags;
    error = {cluster_errc::unknown_flag, rest.front()};
    return {};
  }

  /// Reads its own flags and leaves everything else in `rest`, in order, without the program's name; after `--`
  /// everything is left, `--` included.
  template <class = void>
  [[nodiscard]] static auto parse_known(int argc, const char* const* argv, std::vector<std::string>& rest)
      -> ClusterFlags {
    Error error;
    return detail::or_throw(parse_known(argc, argv, rest, error), error);
  }
  template <class = void>
  [[nodiscard]] static auto parse_known(int argc, const char* const* argv, std::vector<std::string>& rest,
                                        std::error_code& ec) -> ClusterFlags {
    return parse_known(argc, argv, rest, detail::CodeOf{ec});
  }
  template <class = void>
  [[nodiscard]] static auto parse_known(int argc, const char* const* argv, std::vector<std::string>& rest, Error& error)
      -> ClusterFlags {
    const char* tf_config = std::getenv("TF_CONFIG");  // NOLINT(concurrency-mt-unsafe): before threads, in main
    const std::vector<std::string> arguments = detail::arguments_of(argc, argv, error);
    if (error) return {};
    return from(detail::pointers_to(arguments), tf_config == nullptr ? "" : tf_config, rest, error);
  }

  /// What `parse_known` does, as a pure function of the arguments (without the program's name, and with those of flag
  /// files) and of the value that TF_CONFIG has; `unlisted` is about tasks that flags name.
  template <class = void>
  [[nodiscard]] static auto from(std::span<const char* const> arguments, std::string_view tf_config,
                                 std::vector<std::string>& rest, Error& error,
                                 UnlistedTask unlisted = UnlistedTask::refuse) -> ClusterFlags;

  /// A line for each flag, to be told with the program's own: "  --job_name ...    ps or worker; ...".
  template <class = void> [[nodiscard]] static auto help() -> std::string {
    std::string text;
    const auto line = [&](std::string_view name, std::string_view help) {
      text += "  --" + std::string{name} + std::string(std::size_t{18} - name.size(), ' ') + std::string{help} + '\n';
    };
    for (const FlagInfo& flag : known) line(flag.name, flag.help);
    line("flagfile", "PATH of a file with more flags, one a line");
    return text;
  }

  /// No job name: this process is the whole job.
  [[nodiscard]] auto local() const noexcept -> bool { return job_name.empty(); }

  /// Who this process is.
  [[nodiscard]] auto task() const -> TaskId { return {job_name, task_index}; }

  /// The chief, or worker 0 where there is no chief.
  template <class = void> [[nodiscard]] auto is_chief() const noexcept -> bool {
    return job_name == "chief" || (job_name == "worker" && task_index == 0 && chief_hosts.empty());
  }

  /// This worker as a device: "/job:worker/task:1".
  template <class = void> [[nodiscard]] auto worker_device() const -> std::string {
    return to_string(TaskId{job_name == "chief" ? "chief" : "worker", task_index});
  }

  /// Everybody: chief (when there is one), ps, worker. Empty when local.
  template <class = void> [[nodiscard]] auto cluster() const -> ClusterSpec {
    if (local()) return {};
    if (chief_hosts.empty()) return {{"ps", ps_hosts}, {"worker", worker_hosts}};
    return {{"chief", chief_hosts}, {"ps", ps_hosts}, {"worker", worker_hosts}};
  }

  [[nodiscard]] auto operator==(const ClusterFlags&) const -> bool = default;
};

namespace detail {

/// The texts of the four flags; empty where one was not given.
struct ClusterFlagTexts {
  std::optional<std::string_view> job_name;
  std::optional<std::string_view> task_index;
  std::optional<std::string_view> ps_hosts;
  std::optional<std::string_view> worker_hosts;

  template <class = void> [[nodiscard]] auto find(std::string_view name) noexcept -> std::optional<std::string_view>* {
    if (name == "job_name") return &job_name;
    if (name == "task_index") return &task_index;
    if (name == "ps_hosts") return &ps_hosts;
    if (name == "worker_hosts") return &worker_hosts;
    return nullptr;
  }

  /// Whether any of them was given.
  [[nodiscard]] auto any() const noexcept -> bool { return job_name || task_index || ps_hosts || worker_hosts; }
};

template <class = void>
auto read_cluster_flags(std::span<const char* const> arguments, std::vector<std::string>& rest, Error& error)
    -> ClusterFlagTexts {
  ClusterFlagTexts texts;
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const std::string_view argument = arguments[at];
    if (argument == "--") {
      for (; at < arguments.size(); ++at) rest.emplace_back(arguments[at]);
      break;
    }
    const std::size_t dashes = argument.starts_with("--") ? 2 : argument.starts_with('-') ? 1 : 0;
    const std::size_t equals = argument.find('=');
    auto* text = dashes == 0 ? nullptr : texts.find(argument.substr(dashes, equals - dashes));
    if (text == nullptr) {
      rest.emplace_back(argument);
    } else if (equals != std::string_view::npos) {
      *text = argument.substr(equals + 1);
    } else if (at + 1 < arguments.size()) {
      *text = arguments[++at];
    } else {
      error = {cluster_errc::missing_value, std::string{argument}};
    }
  }
  return texts;
}

/// The host list of a flag. Fails when it is missing, or a piece of it is.
template <class = void>
auto hosts_of_flag(std::string_view flag, std::optional<std::string_view> text, Error& error)
    -> std::vector<std::string> {
  if (!text || text->empty()) {
    error = {cluster_errc::missing_hosts, std::string{flag}};
    return {};
  }
  auto hosts = split_hosts(*text);
  for (const std::string& host : hosts)
    if (host.empty()) error = {cluster_errc::empty_address, std::string{flag} + "=" + std::string{*text}};
  return hosts;
}

template <class = void>
auto flags_from_texts(const ClusterFlagTexts& texts, UnlistedTask unlisted, Error& error) -> ClusterFlags {
  ClusterFlags flags;
  if (!texts.job_name || texts.job_name->empty()) return flags;  // one process, whatever the other flags say
  flags.job_name = *texts.job_name;
  if (flags.job_name != "ps" && flags.job_name != "worker") {
    error = {cluster_errc::no_such_job, "--job_name=" + flags.job_name + " (known are ps and worker)"};
    return {};
  }
  flags.ps_hosts = hosts_of_flag("--ps_hosts", texts.ps_hosts, error);
  if (!error) flags.worker_hosts = hosts_of_flag("--worker_hosts", texts.worker_hosts, error);
  if (error) return {};

  const std::string_view index_text = texts.task_index.value_or("0");
  const std::optional<std::int64_t> index = integer_flag(index_text);
  const std::size_t tasks = flags.job_name == "ps" ? flags.ps_hosts.size() : flags.worker_hosts.size();
  const std::string flag = "--task_index=" + std::string{index_text};
  if (!index || *index < 0 || *index > std::numeric_limits<std::uint32_t>::max()) {
    error = {cluster_errc::bad_integer, flag};
  } else if (unlisted == UnlistedTask::refuse && static_cast<std::uint64_t>(*index) >= tasks) {
    error = {cluster_errc::no_such_task,
             flag + ": job '" + flags.job_name + "' has " + std::to_string(tasks) + (tasks == 1 ? " host" : " hosts")};
  }
  if (error) return {};
  flags.task_index = static_cast<std::uint32_t>(*index);
  return flags;
}

/// The addresses of a job that is numbered without gaps; none when the cluster does not have it.
template <class = void>
auto dense_hosts(const ClusterSpec& cluster, std::string_view job, Error& error) -> std::vector<std::string> {
  std::vector<std::string> hosts;
  const ClusterSpec::Tasks* tasks = cluster.find(job);
  if (tasks == nullptr) return hosts;
  for (const auto& [index, address] : *tasks) {
    if (index != hosts.size()) error = {cluster_errc::sparse_job, "TF_CONFIG: job '" + std::string{job} + "'"};
    hosts.push_back(address);
  }
  return hosts;
}

template <class = void> auto flags_from_tf_config(std::string_view text, Error& error) -> ClusterFlags {
  const TfConfig config = parse_tf_config(text, error);
  if (error) {
    error.where = "TF_CONFIG at " + error.where;
    return {};
  }
  const std::vector<std::string> jobs = config.cluster.jobs();
  const bool one_process =
      jobs.empty() || (jobs.size() == 1 && jobs.front() != "ps" && config.cluster.find(jobs.front())->size() == 1);
  if (one_process) return {};

  const std::optional<TaskId> task = config.task();
  if (!task) {
    error = {config.task_type ? cluster_errc::missing_index : cluster_errc::missing_job,
             config.task_type ? "TF_CONFIG: task.index" : "TF_CONFIG: task.type"};
    return {};
  }
  std::error_code ec;
  check_role(config.cluster, *task, ec);
  ClusterFlags flags;
  flags.job_name = task->job;
  flags.task_index = task->index;
  if (ec) error = {ec, "TF_CONFIG: " + to_string(*task)};
  if (!error) flags.ps_hosts = dense_hosts(config.cluster, "ps", error);
  if (!error) flags.worker_hosts = dense_hosts(config.cluster, "worker", error);
  if (!error) flags.chief_hosts = dense_hosts(config.cluster, "chief", error);
  if (!error && flags.ps_hosts.empty()) error = {cluster_errc::empty_job, "TF_CONFIG: cluster.ps"};
  if (!error && flags.worker_hosts.empty() && flags.chief_hosts.empty())
    error = {cluster_errc::empty_job, "TF_CONFIG: cluster.worker"};
  return error ? ClusterFlags{} : flags;
}

}  // namespace detail

template <class>
auto ClusterFlags::from(std::span<const char* const> arguments, std::string_view tf_config,
                        std::vector<std::string>& rest, Error& error, UnlistedTask unlisted) -> ClusterFlags {
  error = {};
  rest.clear();
  const detail::ClusterFlagTexts texts = detail::read_cluster_flags(arguments, rest, error);
  if (error) return {};
  if (!texts.any() && !tf_config.empty()) return detail::flags_from_tf_config(tf_config, error);
  return detail::flags_from_texts(texts, unlisted, error);
}

#ifdef DISTRIB_SEPARATE_COMPILATION  // in cmake/separate/cluster.cpp
extern template auto ClusterFlags::from(std::span<const char* const>, std::string_view, std::vector<std::string>&,
                                        Error&, UnlistedTask) -> ClusterFlags;
#endif

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/roles.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/core/decl.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Which task of which cluster this process is, as its command line or TF_CONFIG says. A value.
///
/// Flags are --job_name, --task_index (0 unless told), --ps_hosts and --worker_hosts; also with one dash, as
/// --name=value or --name value; the last one of a name counts; `--` ends the flags. --flagfile stands for the flags of
/// a file, see `read_flag_files`. Only when none of the four is given is TF_CONFIG read from the environment; set but
/// empty counts as not set.
///
/// Every face fails with a `cluster_errc` or, for TF_CONFIG, a `json_errc`, and none ends the process.
struct ClusterFlags {
  /// What becomes of a task that its job's host list does not have.
  enum class UnlistedTask {
    refuse,  ///< `cluster_errc::no_such_task`.
    leave_like_upstream,  ///< It is taken as it is; `Server` refuses it. mnist.py of tensorflow/ecosystem does that.
  };

  /// A flag of a command line.
  struct FlagInfo {
    std::string_view name;  ///< "task_index"
    std::string_view type;  ///< "integer" or "string"
    std::string_view help;  ///< A line for --help.
  };

  /// The four flags, for a program that tells its own; `help()` is made of them.
  static constexpr std::array<FlagInfo, 4> known{{
      {"task_index", "integer", "which task of its job this process is, from 0"},
      {"ps_hosts", "string", "HOST:PORT,... of the parameter servers"},
      {"worker_hosts", "string", "HOST:PORT,... of the workers"},
      {"job_name", "string", "ps or worker; without it this process is the whole job"},
  }};

  /// "ps", "worker"; from TF_CONFIG also "evaluator", and "chief", which TensorFlow 1 calls "master". "": no cluster, one
  /// process.
  std::string job_name;
  std::uint32_t task_index = 0;  ///< Which task of that job.
  std::vector<std::string> ps_hosts;  ///< host:port of each ps task.
  std::vector<std::string> worker_hosts;  ///< host:port of each worker task; there may be none beside a chief.
  std::vector<std::string> chief_hosts;  ///< From TF_CONFIG only: one or none.

  /// Reads a command line on which nothing else stands. `argv[0]` is the program.
  [[nodiscard]] static auto parse(int argc, const char* const* argv) -> ClusterFlags {
    Error error;
    return detail::or_throw(parse(argc, argv, error), error);
  }
  [[nodiscard]] DISTRIB_DECL static auto parse(int argc, const char* const* argv, ErrorRef to) -> ClusterFlags;

  /// Reads its own flags and leaves everything else in `rest`, in order, without the program's name; after `--`
  /// everything is left, `--` included.
  [[nodiscard]] static auto parse_known(int argc, const char* const* argv, std::vector<std::string>& rest)
      -> ClusterFlags {
    Error error;
    return detail::or_throw(parse_known(argc, argv, rest, error), error);
  }
  [[nodiscard]] DISTRIB_DECL static auto parse_known(int argc, const char* const* argv, std::vector<std::string>& rest,
                                                     ErrorRef to) -> ClusterFlags;

  /// What `parse_known` does, as a pure function of the arguments (without the program's name, and with those of flag
  /// files) and of the value that TF_CONFIG has; `unlisted` is about tasks that flags name.
  [[nodiscard]] DISTRIB_DECL static auto from(std::span<const char* const> arguments, std::string_view tf_config,
                                              std::vector<std::string>& rest, Error& error,
                                              UnlistedTask unlisted = UnlistedTask::refuse) -> ClusterFlags;

  /// A line for each flag, to be told with the program's own: "  --job_name ...    ps or worker; ...".
  [[nodiscard]] DISTRIB_DECL static auto help() -> std::string;

  /// No job name: this process is the whole job.
  [[nodiscard]] auto local() const noexcept -> bool { return job_name.empty(); }

  /// Who this process is.
  [[nodiscard]] auto task() const -> TaskId { return {job_name, task_index}; }

  /// The chief, or worker 0 where there is no chief.
  [[nodiscard]] auto is_chief() const noexcept -> bool {
    return job_name == "chief" || (job_name == "worker" && task_index == 0 && chief_hosts.empty());
  }

  /// This worker as a device: "/job:worker/task:1".
  [[nodiscard]] auto worker_device() const -> std::string {
    return to_string(TaskId{job_name == "chief" ? "chief" : "worker", task_index});
  }

  /// Everybody: chief (when there is one), ps, worker (when there are any). Empty when local.
  [[nodiscard]] auto cluster() const -> ClusterSpec {
    if (local()) return {};
    if (chief_hosts.empty()) return {{"ps", ps_hosts}, {"worker", worker_hosts}};
    if (worker_hosts.empty()) return {{"chief", chief_hosts}, {"ps", ps_hosts}};
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

  [[nodiscard]] DISTRIB_DECL auto find(std::string_view name) noexcept -> std::optional<std::string_view>*;

  /// Whether any of them was given.
  [[nodiscard]] auto any() const noexcept -> bool { return job_name || task_index || ps_hosts || worker_hosts; }
};

DISTRIB_DECL auto read_cluster_flags(std::span<const char* const> arguments, std::vector<std::string>& rest,
                                     Error& error) -> ClusterFlagTexts;

DISTRIB_DECL auto flags_from_texts(const ClusterFlagTexts& texts, ClusterFlags::UnlistedTask unlisted, Error& error)
    -> ClusterFlags;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/cluster_flags.ipp>
#endif

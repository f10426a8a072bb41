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

/// The task that this process is, and its cluster, as the command line or TF_CONFIG says. A value.
///
/// The flags are --job_name, --task_index (default 0), --ps_hosts and --worker_hosts. One dash works too, and both
/// --name=value and --name value. If a flag occurs several times, the last one counts. `--` ends the flags. --flagfile
/// inserts the flags of a file, one flag per line; a file may name others. An evaluator has the host lists of the other
/// tasks and index 0. An onlooker has these lists and any index. Both are in none of the lists. Only if none of the
/// four flags is present, reads TF_CONFIG from the environment; an empty TF_CONFIG counts as not set. A TF_CONFIG with
/// no task, or with one task and no ps, describes no cluster: this process is the whole job.
///
/// --ranks says how many ranks the job has, if its workers are not one rank each, and --most_ranks how many it may come
/// to have while it runs. Both may stand beside TF_CONFIG, too; --most_ranks also where this process is the whole job.
///
/// Errors: `parse` and `parse_known` set `to`; the overloads without `to` throw `std::system_error`. The error is a
/// `cluster_errc`, a `json_errc` for TF_CONFIG, or the system's code for a flag file. No function ends the process.
struct ClusterFlags {
  /// What happens if the host list of the job has no entry for the task.
  enum class UnlistedTask {
    refuse,  ///< Fails with `cluster_errc::no_such_task`.
    leave_like_upstream,  ///< Accepts the task; `Server` refuses it later. As mnist.py of tensorflow/ecosystem does.
  };

  /// A flag, as a program's own --help describes it.
  struct FlagInfo {
    std::string_view name;  ///< "task_index"
    std::string_view type;  ///< "integer" or "string"
    std::string_view help;  ///< One line for --help.
  };

  /// The four flags, for a program that writes its own help. `help()` returns them as text.
  static constexpr std::array<FlagInfo, 4> known{{
      {"task_index", "integer", "index of this process in its job, from 0"},
      {"ps_hosts", "string", "HOST:PORT,... of the parameter servers"},
      {"worker_hosts", "string", "HOST:PORT,... of the workers"},
      {"job_name", "string", "ps, worker, evaluator or onlooker; without it this process is the whole job"},
  }};

  /// "ps", "worker", "evaluator" or "onlooker"; from TF_CONFIG also "chief" (TensorFlow 1's "master"). "": there is no
  /// cluster, and this process is the whole job.
  std::string job_name;
  std::uint32_t task_index = 0;  ///< Index of this task in its job.
  std::vector<std::string> ps_hosts;  ///< host:port of each ps task.
  std::vector<std::string> worker_hosts;  ///< host:port of each worker task. May be empty if there is a chief.
  std::vector<std::string> chief_hosts;  ///< host:port of the chief; only from TF_CONFIG. At most one.
  /// Ranks of the job, which are dealt to the workers that are there; 0: each worker is one rank. Then the list of
  /// workers says only how many processes there may be.
  std::uint32_t ranks = 0;
  /// The ranks of the job may change while it runs, and are below this number: as `TrainerBuilder::with_most_ranks`, which
  /// it replaces. 0: as the program says.
  std::uint32_t most_ranks = 0;

  /// Reads a command line that has no other arguments than these flags. `argv[0]` is the program. Any other argument
  /// fails with `cluster_errc::unknown_flag`; a bare `--` before it is skipped.
  [[nodiscard]] static auto parse(int argc, const char* const* argv) -> ClusterFlags {
    Error error;
    return detail::or_throw(parse(argc, argv, error), error);
  }
  [[nodiscard]] DISTRIB_DECL static auto parse(int argc, const char* const* argv, ErrorRef to) -> ClusterFlags;

  /// Reads its own flags, and replaces the contents of `rest` by all other arguments, in order, without the program's
  /// name. All arguments from `--` on count as other arguments, `--` included.
  [[nodiscard]] static auto parse_known(int argc, const char* const* argv, std::vector<std::string>& rest)
      -> ClusterFlags {
    Error error;
    return detail::or_throw(parse_known(argc, argv, rest, error), error);
  }
  [[nodiscard]] DISTRIB_DECL static auto parse_known(int argc, const char* const* argv, std::vector<std::string>& rest,
                                                     ErrorRef to) -> ClusterFlags;

  /// Does what `parse_known` does, as a pure function of the arguments and of the value of TF_CONFIG. `arguments`:
  /// without the program's name, and with the flags of flag files inserted. `unlisted` applies to a task that the flags
  /// name, not to one from TF_CONFIG.
  [[nodiscard]] DISTRIB_DECL static auto from(std::span<const char* const> arguments, std::string_view tf_config,
                                              std::vector<std::string>& rest, Error& error,
                                              UnlistedTask unlisted = UnlistedTask::refuse) -> ClusterFlags;

  /// Returns one line of help for each flag, to print with the program's own: "  --job_name ...    ps, worker or
  /// evaluator; ...".
  [[nodiscard]] DISTRIB_DECL static auto help() -> std::string;

  /// True if there is no job name: this process is the whole job.
  [[nodiscard]] auto local() const noexcept -> bool { return job_name.empty(); }

  /// Returns the task that this process is.
  [[nodiscard]] auto task() const -> TaskId { return {job_name, task_index}; }

  /// True for the chief, or for worker 0 if there is no chief.
  [[nodiscard]] auto is_chief() const noexcept -> bool {
    return job_name == "chief" || (job_name == "worker" && task_index == 0 && chief_hosts.empty());
  }

  /// Returns this worker as a device: "/job:worker/task:1".
  [[nodiscard]] auto worker_device() const -> std::string {
    return to_string(TaskId{job_name == "chief" ? "chief" : "worker", task_index});
  }

  /// Returns the whole cluster: the chief (if there is one), ps, and workers (if there are any). Empty if `local()`.
  [[nodiscard]] auto cluster() const -> ClusterSpec {
    if (local()) return {};
    if (chief_hosts.empty()) return {{"ps", ps_hosts}, {"worker", worker_hosts}};
    if (worker_hosts.empty()) return {{"chief", chief_hosts}, {"ps", ps_hosts}};
    return {{"chief", chief_hosts}, {"ps", ps_hosts}, {"worker", worker_hosts}};
  }

  [[nodiscard]] auto operator==(const ClusterFlags&) const -> bool = default;
};

namespace detail {

/// The texts of the four flags; empty for a flag that is not on the command line.
struct ClusterFlagTexts {
  std::optional<std::string_view> job_name;
  std::optional<std::string_view> task_index;
  std::optional<std::string_view> ps_hosts;
  std::optional<std::string_view> worker_hosts;
  std::optional<std::string_view> ranks;  // beside the four, as is the next
  std::optional<std::string_view> most_ranks;

  /// Returns the field for the flag `name`, also "ranks" and "most_ranks"; null for other names.
  [[nodiscard]] DISTRIB_DECL auto find(std::string_view name) noexcept -> std::optional<std::string_view>*;

  /// True if any of the four flags is present.
  [[nodiscard]] auto any() const noexcept -> bool { return job_name || task_index || ps_hosts || worker_hosts; }
};

/// Returns the texts of the four flags in `arguments`, and appends all other arguments to `rest`. Sets `error` to
/// `cluster_errc::missing_value` if a flag has no value; otherwise `error` does not change.
DISTRIB_DECL auto read_cluster_flags(std::span<const char* const> arguments, std::vector<std::string>& rest,
                                     Error& error) -> ClusterFlagTexts;

/// Returns the flags that have these texts. Without a job name returns the whole job, and the other texts do not count.
/// On failure sets `error`.
DISTRIB_DECL auto flags_from_texts(const ClusterFlagTexts& texts, ClusterFlags::UnlistedTask unlisted, Error& error)
    -> ClusterFlags;

/// Sets `ranks` and `most_ranks` in `flags`, if there are such texts. Sets `error` to `cluster_errc::bad_integer` if one
/// is not a number from 1 to 2^20. On an earlier error does nothing.
DISTRIB_DECL void set_ranks(const ClusterFlagTexts& texts, ClusterFlags& flags, Error& error);

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/cluster_flags.ipp>
#endif

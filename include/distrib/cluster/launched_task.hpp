// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/cluster/environment.hpp>
#include <distrib/cluster/flag_file.hpp>
#include <distrib/core/decl.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Where the information about this process's task comes from. The first source in this order that has any counts; the
/// others are ignored.
enum class Launcher : std::uint8_t {
  flags,  ///< --job_name, --task_index, --ps_hosts or --worker_hosts on the command line.
  variables,  ///< DISTRIB_JOB_NAME, DISTRIB_PS_HOSTS or DISTRIB_WORKER_HOSTS in the environment, not empty.
  tf_config,  ///< TF_CONFIG in the environment, not empty.
  /// flux run: FLUX_TASK_RANK. If it has started only one task, `open_mpi`, `mvapich2`, and PMI with several ranks have
  /// priority.
  flux,
  /// mpirun: OMPI_COMM_WORLD_RANK. Before Slurm: inside an salloc, Slurm's variables describe mpirun's own daemons.
  open_mpi,
  mvapich2,  ///< mpirun_rsh: MV2_COMM_WORLD_RANK.
  jsm,  ///< jsrun: JSM_NAMESPACE_RANK.
  slurm,  ///< srun: SLURM_PROCID and SLURM_STEP_NUM_TASKS. Not the script of sbatch, which is not a task of a step.
  pmi,  ///< PMI_RANK. Before Slurm if PMI_SIZE is not the size of the step, as for MPICH's mpiexec inside an salloc.
  pmix,  ///< prterun: PMIX_RANK; the number of ranks is unknown. Before Slurm if PMIX_NAMESPACE was not set by srun.
  pals,  ///< mpiexec of HPE: PALS_RANKID; the number of ranks is unknown.
  alps,  ///< aprun: ALPS_APP_PE; the number of ranks is unknown.
  nobody,  ///< None: this process is the whole job.
};

/// Returns the name of the enumerator: "open_mpi".
[[nodiscard]] inline auto to_string(Launcher launcher) -> std::string {
  constexpr const char* words[] = {"flags", "variables", "tf_config", "flux", "open_mpi", "mvapich2", "jsm",
                                   "slurm", "pmi",       "pmix",      "pals", "alps",     "nobody"};
  return words[static_cast<std::size_t>(launcher)];
}

/// The task that this process is, and its cluster: from the sources that `ClusterFlags` reads, or from the environment
/// variables of the launcher (mpirun, srun, a scheduler). A value.
///
///     const auto task = distrib::LaunchedTask::find(argc, argv, rest);
///     train(...).build(pool, task.flags).run();
///
/// DISTRIB_JOB_NAME, DISTRIB_TASK_INDEX, DISTRIB_PS_HOSTS and DISTRIB_WORKER_HOSTS stand for the four flags. Without
/// DISTRIB_TASK_INDEX the index is DISTRIB_TASK_SLOT - 1 (Swarm's {{.Task.Slot}} counts from 1), otherwise
/// JOB_COMPLETION_INDEX (Indexed Jobs of Kubernetes), otherwise 0. If both host lists are set without a job name, the
/// rank from mpirun or srun selects the task: first the ps, then the workers. DISTRIB_RANKS and
/// DISTRIB_MOST_RANKS stand for the flags --ranks and --most_ranks, whatever the source is.
///
/// If there are only ranks, the first DISTRIB_PS of them are ps and the others workers. Default of DISTRIB_PS: the
/// number of ranks of the first program of `mpirun ps : worker`, or of the first group of `srun ps : worker`. Ports
/// start at DISTRIB_PORT_BASE; default: the ports that srun has reserved, otherwise from 8888 on. Slurm describes the
/// hosts. The other launchers do not, so their ranks must all be on one machine, or the host lists must be set. If even
/// the number of ranks is unknown (`pmix`, `pals`, `alps`), the host lists or the flags must be set: one of many
/// processes must not take itself for the whole job.
struct LaunchedTask {
  ClusterFlags flags;  ///< For `build(pool, flags)`. `local()` if the launcher has started only one task.
  Launcher launcher = Launcher::nobody;  ///< The source that was used.
  std::optional<std::string> visible_devices;  ///< See `SlurmTask`; only from Slurm.
  int retry_exit_code = 1;  ///< Value of DISTRIB_RETRY_EXIT_CODE, 1 to 255.

  /// Returns the code that `main` should return when `run()` returned `code`: `retry_exit_code` instead of 1 ("start
  /// this task again"), otherwise `code`. Set DISTRIB_RETRY_EXIT_CODE for a scheduler that does not restart on 1: a
  /// Kubeflow TFJob with restart policy ExitCode restarts only on 128 and above, for example 138.
  [[nodiscard]] auto exit_code(int code) const noexcept -> int { return code == 1 ? retry_exit_code : code; }

  /// Returns the task of this process. Reads its own flags and replaces the contents of `rest` by all other arguments,
  /// as `ClusterFlags::parse_known` does, then reads the environment.
  ///
  /// Errors (without `to` thrown as `std::system_error`): a `cluster_errc`, `json_errc` or `scheduler_errc`, or the
  /// system's code for a flag file.
  [[nodiscard]] DISTRIB_DECL static auto find(int argc, const char* const* argv, std::vector<std::string>& rest,
                                              ErrorRef to) -> LaunchedTask;
  [[nodiscard]] DISTRIB_DECL static auto find(int argc, const char* const* argv, std::vector<std::string>& rest)
      -> LaunchedTask;

  /// Does what `find` does, as a pure function of the arguments (without the program's name, with the flags of flag
  /// files inserted) and the environment.
  [[nodiscard]] DISTRIB_DECL static auto from(std::span<const char* const> arguments, const Environment& environment,
                                              std::vector<std::string>& rest, Error& error) -> LaunchedTask;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/launched_task.ipp>
#endif

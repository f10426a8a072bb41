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

/// Who says which task this process is. The first of these, in this order, that says anything is the one that counts;
/// what the others say is not looked at.
enum class Launcher : std::uint8_t {
  flags,      ///< --job_name, --task_index, --ps_hosts or --worker_hosts on the command line.
  variables,  ///< DISTRIB_JOB_NAME, DISTRIB_PS_HOSTS or DISTRIB_WORKER_HOSTS in the environment, and not empty.
  tf_config,  ///< TF_CONFIG, not empty.
  flux,  ///< flux run: FLUX_TASK_RANK. In a job of one task it is asked after `open_mpi`, `mvapich2` and `pmi`.
  open_mpi,  ///< mpirun: OMPI_COMM_WORLD_RANK. Before Slurm, whose variables are of mpirun's own daemons in an salloc.
  mvapich2,  ///< mpirun_rsh: MV2_COMM_WORLD_RANK.
  jsm,  ///< jsrun: JSM_NAMESPACE_RANK.
  slurm,  ///< srun: SLURM_PROCID and SLURM_STEP_NUM_TASKS; not the script of sbatch, which is no step's task.
  pmi,  ///< PMI_RANK; before Slurm where PMI_SIZE is not the step's, as MPICH's mpiexec in an salloc has it.
  pmix,  ///< prterun: PMIX_RANK, without a size. Before Slurm where PMIX_NAMESPACE is not srun's.
  pals,  ///< mpiexec of HPE: PALS_RANKID, without a size.
  alps,  ///< aprun: ALPS_APP_PE, without a size.
  nobody,  ///< One process is the whole job.
};

/// The word of the enum: "open_mpi".
[[nodiscard]] inline auto to_string(Launcher launcher) -> std::string {
  constexpr const char* words[] = {"flags", "variables", "tf_config", "flux", "open_mpi", "mvapich2", "jsm",
                                   "slurm", "pmi",       "pmix",      "pals", "alps",     "nobody"};
  return words[static_cast<std::size_t>(launcher)];
}

/// The task that this process is, and its cluster: from what `ClusterFlags` reads, or from what the launcher of this
/// process (mpirun, srun, a scheduler) put into its environment. A value.
///
///     const auto task = distrib::LaunchedTask::find(argc, argv, rest);
///     train(...).build(pool, task.flags).run();
///
/// DISTRIB_JOB_NAME, DISTRIB_TASK_INDEX, DISTRIB_PS_HOSTS and DISTRIB_WORKER_HOSTS are the four flags. Where no index
/// is given, DISTRIB_TASK_SLOT counts, which is one more (Swarm's {{.Task.Slot}}), then JOB_COMPLETION_INDEX, of
/// Indexed Jobs. Where both host lists are given without a job name, the ranks of mpirun or srun tell the tasks: ps
/// first, then workers.
///
/// Otherwise ranks become tasks by DISTRIB_PS, the number of those that are ps; unless told, those of the first program
/// of `mpirun ps : worker`, or of the first group of `srun ps : worker`. Ports start at DISTRIB_PORT_BASE; unless
/// told, they are those that srun has reserved, or start at 8888. Slurm tells hosts; the others do not, so their ranks
/// must be on one machine, or the host lists given. Where not even the number of ranks is told (`pmix`, `pals`, `alps`),
/// the lists must be given, or the flags: one of many processes is never taken for the whole job.
struct LaunchedTask {
  ClusterFlags flags;  ///< For `build(pool, flags)`. One task alone is local.
  Launcher launcher = Launcher::nobody;  ///< Who says so.
  std::optional<std::string> visible_devices;  ///< See `SlurmTask`.
  int retry_exit_code = 1;  ///< DISTRIB_RETRY_EXIT_CODE, from 1 to 255.

  /// What `main` returns where `run()` gave `code`. The same, but 1 ("start it again") becomes the code that the launcher
  /// takes for that: Kubeflow's TFJob (ExitCode) starts a task again only from 128 up, so 138 there.
  [[nodiscard]] auto exit_code(int code) const noexcept -> int { return code == 1 ? retry_exit_code : code; }

  /// Reads its own flags and leaves everything else in `rest`, as `ClusterFlags::parse_known`; then looks at the
  /// environment. Fails with a `cluster_errc`, `json_errc` or `scheduler_errc`.
  [[nodiscard]] DISTRIB_DECL static auto find(int argc, const char* const* argv, std::vector<std::string>& rest,
                                              ErrorRef to) -> LaunchedTask;
  [[nodiscard]] DISTRIB_DECL static auto find(int argc, const char* const* argv, std::vector<std::string>& rest)
      -> LaunchedTask;

  /// What `find` does, as a pure function of the arguments (without the program's name, and with those of flag files)
  /// and the environment.
  [[nodiscard]] DISTRIB_DECL static auto from(std::span<const char* const> arguments, const Environment& environment,
                                              std::vector<std::string>& rest, Error& error) -> LaunchedTask;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/launched_task.ipp>
#endif

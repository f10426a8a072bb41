// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/retention.hpp>
#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/runtime_variables.hpp>
#include <distrib/core/variables.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/placement/round_robin.hpp>
#include <distrib/placement/strategy.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/plan_parts.hpp>
#include <distrib/ps/job/wire_format.hpp>
#include <distrib/sharding/fixed_shards.hpp>
#include <distrib/sharding/partitioner.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// How variables are kept for functions. All tasks need the same.
struct ParameterOptions {
  AnyUpdater updater = Sgd{};  ///< How a push changes the variables.
  std::uint64_t seed = 0;      ///< Of their initial values.
  std::uint32_t shards_per_task = 1;  ///< Shards of each parameter server.
  WireFormat wire_format = {};  ///< Of values and gradients in messages.
  bool check_numerics = false;  ///< True: a push that is not finite is refused, and the job ends.
  /// The variables begin with the values of this checkpoint (a prefix). Empty: as their initializers say.
  std::string initial_checkpoint = {};
  bool initial_allow_missing = false;  ///< True: what the initial checkpoint lacks begins as its initializer says.
  /// Where the parameter servers keep their cuts, an absolute path; a parameter server that is started again continues
  /// from there. Empty: only in memory, and lost with its process.
  std::string directory = {};
  std::uint64_t checkpoint_every = 0;  ///< A checkpoint is made after each so many pushes of all workers; 0: none.
  Retention retention = {};  ///< Which checkpoints are kept.
  /// Most bytes of its own pushes that a worker keeps, to send them again to a parameter server that comes back.
  std::size_t replay_budget_bytes = std::size_t{256} << 20;
};

/// The variables that functions pull and push, as an asynchronous job without a last step; made by
/// `make_parameter_job`. A value.
struct ParameterJob {
  Job job;
  CutSettings cuts;
  std::size_t replay_budget_bytes = 0;
  std::vector<std::string> ps_hosts;  ///< HOST:PORT of each parameter server.
};

namespace detail {

/// Returns the job without its parts. Throws as `make_parameter_job`.
DISTRIB_DECL auto parameter_job_without_parts(const RuntimeVariables& variables, const ClusterSpec& cluster,
                                              const ParameterOptions& options) -> ParameterJob;
/// Sets what depends on the parts.
DISTRIB_DECL void complete_parameter_job(ParameterJob& made, const ParameterOptions& options);

}  // namespace detail

/// Describes the variables of functions: `variables` (a `VariableList` or `RuntimeVariables`) on the tasks "ps" of the
/// cluster, each worker a rank. `partitioner` and `placement` decide where their pieces are, as in a training. Every
/// worker must make the same job; the parameter servers are ordinary `Server`s, which get it from the workers.
///
/// Errors: throws `coordinator_errc::bad_job` with the name of a table, or of a variable with a `CustomInitializer`;
/// `cluster_errc::no_such_job` if the cluster lacks "ps" or "worker"; and what `plan_parts` throws.
template <class Variables, Partitioner Cut = FixedShardsPartitioner, PlacementStrategy Placement = RoundRobinStrategy>
[[nodiscard]] auto make_parameter_job(const Variables& variables, const ClusterSpec& cluster,
                                      const ParameterOptions& options = {}, const Cut& partitioner = Cut{1},
                                      Placement placement = {}) -> ParameterJob {
  ParameterJob made = detail::parameter_job_without_parts(detail::run_time_list(variables), cluster, options);
  made.job.parts =
      plan_parts(made.job.variables, partitioner, std::move(placement), made.job.tasks, made.job.shards_per_task);
  detail::complete_parameter_job(made, options);
  return made;
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/coordinator/impl/parameter_job.ipp>
#endif

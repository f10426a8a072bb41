// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/coordinator/parameter_job.hpp>

#include <distrib/coordinator/error.hpp>
#include <distrib/ps/job/consistency.hpp>
#include <distrib/ps/job/cut_interval.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto parameter_job_without_parts(const RuntimeVariables& variables, const ClusterSpec& cluster,
                                              const ParameterOptions& options) -> ParameterJob {
  for (const TableInfo& table : variables.table_infos()) throw_error(coordinator_errc::bad_job, "table " + table.name);
  for (const VariableInfo& variable : variables.infos())
    if (variable.initializer.is_custom()) throw_error(coordinator_errc::bad_job, "variable " + variable.name);
  ParameterJob made;
  Job& job = made.job;
  job.seed = options.seed;
  job.initial_checkpoint = options.initial_checkpoint;
  job.initial_allow_missing = options.initial_allow_missing;
  job.variables = variables.infos();
  job.tasks = static_cast<std::uint32_t>(cluster.num_tasks("ps"));
  job.ranks = static_cast<std::uint32_t>(cluster.num_tasks("worker"));
  job.shards_per_task = options.shards_per_task;
  job.updater = options.updater.text();
  job.check_numerics = options.check_numerics;
  job.wire_format = options.wire_format;
  job.consistency = AsynchronousParallel{};
  job.data = "functions";
  job.total_steps = open_end;
  made.cuts = {.directory = options.directory, .keep_every = options.checkpoint_every, .retention = options.retention};
  made.replay_budget_bytes = options.replay_budget_bytes;
  for (const auto& [index, host] : *cluster.find("ps")) made.ps_hosts.push_back(host);
  return made;
}

DISTRIB_DECL void complete_parameter_job(ParameterJob& made, const ParameterOptions& options) {
  made.job.cut_interval = cut_interval(made.job, options.checkpoint_every, options.replay_budget_bytes);
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

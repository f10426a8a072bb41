// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/updater_list.hpp>
#include <distrib/sim/detail/cluster.hpp>
#include <distrib/sim/detail/hosted_shard.hpp>
#include <distrib/sim/detail/program.hpp>
#include <distrib/sim/options.hpp>

#include <span>
#include <string>
#include <utility>
#include <vector>

/// The simulated cluster of `sim::run` for jobs without a trainer.
namespace simulation {

/// The model of a job, with its data. `HashedModel` is one.
template <class T>
concept ClusterModel =
    requires(T& model, distrib::Step step, distrib::Rank rank, std::vector<distrib::SharedBuffer> values) {
      model.wanted(step, rank);  // the rows that the contribution needs, one entry per shard; empty: no tables
      model.contribution(step, rank, values);  // one block per shard
    };

/// Returns the contribution of a model. A model of a job whose ranks change is given the number of the contribution.
template <ClusterModel Model>
auto made_by(Model& model, const distrib::Compute& work, distrib::Rank rank) {
  if constexpr (requires { model.contribution_of(work, rank); }) return model.contribution_of(work, rank);
  else return model.contribution(work.step, rank, {work.values.begin(), work.values.end()});
}

/// The result of a run.
struct ClusterRun {
  distrib::sim::Outcome outcome;
  std::vector<distrib::SharedBuffer> result;  ///< The values at the end, as rank 0 got them.
  std::vector<std::string> refusals;  ///< The error text of each worker that ended with `ps_errc::not_finite`.
};

/// Trains `job`, if nothing else is said with the updaters of the library. Cuts are kept in memory, unless the options
/// have a directory. A model may have `initial_values()`, contribution 0. `make`: the host of a shard.
template <ClusterModel Model>
auto run_cluster(const distrib::Job& job, Model& model, const distrib::sim::Options& options,
                 distrib::ShardKinds kinds = distrib::shard_kinds(distrib::StandardUpdaters{}),
                 distrib::sim::detail::MakeShard make =
                     distrib::sim::detail::make_shard<distrib::sim::detail::ShardCores>) -> ClusterRun {
  namespace simulated = distrib::sim::detail;
  ClusterRun run;
  const auto start = [&](distrib::Rank rank) {
    simulated::Program program{[&model, rank](distrib::Step step) { return model.wanted(step, rank); },
                               [&model, rank](const distrib::Compute& work) { return made_by(model, work, rank); },
                               [&run](std::vector<distrib::SharedBuffer> values) { run.result = std::move(values); }};
    if constexpr (requires { model.initial_values(); }) program.initial_values = model.initial_values();
    return program;
  };
  simulated::Cluster cluster{{job, std::move(kinds), start}, {}, options, make};
  run.outcome = cluster.run();
  run.refusals = cluster.refusals();
  return run;
}

}  // namespace simulation

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sim/detail/simulation.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/protocol/any_shard.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/sim/detail/cluster.hpp>
#include <distrib/sim/detail/program.hpp>
#include <distrib/sim/dice.hpp>
#include <distrib/tensor/runtime_values.hpp>
#include <distrib/train/any_model.hpp>
#include <distrib/train/assemble.hpp>
#include <distrib/train/parameters_sha256.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace sim {

namespace detail {

/// Trains a plan in a simulated cluster. Hooks hear nothing.
class Simulation {
 public:
  Simulation(const TrainingPlan& plan, const Options& options, MakeShard make_shard)
      : plan_{plan},
        options_{options},
        make_shard_{make_shard},
        model_{plan.model().open()},
        planned_{plan.cluster_job(*model_, options.ps,
                                  options.workers != 0 ? options.workers : plan.options().local.workers,
                                  options.replay_budget_bytes)} {
    planned_.job.cut_interval = interval();
  }

  [[nodiscard]] auto run() -> Outcome {
    const auto start = [this](Rank rank) { return program(rank); };
    Cluster cluster{job_, shard_kinds(plan_.updater_finder()), plan_.cut_settings(), start, options_, make_shard_};
    Outcome outcome = cluster.run();
    if (outcome.wrong.empty() && !cluster.refusals().empty())
      outcome.wrong = "seed " + std::to_string(options_.seed) + ": refused: " + cluster.refusals().front();
    if (outcome.wrong.empty()) outcome.parameters_sha256 = sha256_;
    return outcome;
  }

 private:
  // What each process of this worker computes with.
  auto program(Rank rank) -> Program {
    const std::shared_ptr<AnyContributor> contributor = model_->contributor(job_, planned_.layouts);
    Program program;
    program.initial_values = planned_.initial_values;
    program.prepare = [contributor, rank](Step step) { return contributor->prepare(rank, step); };
    program.contribute = [this, contributor, rank](Step step, std::span<const SharedBuffer> values) {
      std::vector<std::shared_ptr<AlignedBuffer>> gradients;
      for (const ShardLayout& layout : planned_.layouts)
        gradients.push_back(std::make_shared<AlignedBuffer>(layout.wire_block_bytes()));
      (*contributor)(rank, step, values, gradients);
      return std::vector<SharedBuffer>{gradients.begin(), gradients.end()};
    };
    program.finish = [this, contributor, rank](const std::vector<SharedBuffer>& blocks) {
      RuntimeValues values{job_.variables, job_.tables.size()};
      assemble(planned_.layouts, blocks, values);
      sha256_ = parameters_sha256(job_, values, contributor->digests(rank, job_.steps_of(rank) + 1, blocks));
    };
    return program;
  }

  // With checkpoints, the interval that a cluster has. Else drawn from the seed and not longer than that, so that a short
  // job has a few cuts, too.
  [[nodiscard]] auto interval() const -> std::uint64_t {
    if (options_.cut_interval != 0) return options_.cut_interval;
    const std::uint64_t most = job_.cut_interval;
    if (plan_.save()) return most;
    return Dice{options_.seed ^ 0xc075}.between(1, std::max<std::uint64_t>(1, std::min(most, job_.total_steps / 3)));
  }

  const TrainingPlan& plan_;
  const Options& options_;
  const MakeShard make_shard_;
  const std::unique_ptr<OpenModel> model_;
  PlannedJob planned_;
  const Job& job_ = planned_.job;
  std::string sha256_;
};

DISTRIB_DECL auto simulate(const TrainingPlan& plan, const Options& options, MakeShard make_shard) -> Outcome {
  return Simulation{plan, options, make_shard}.run();
}

}  // namespace detail

}  // namespace sim
}  // namespace v0
}  // namespace distrib

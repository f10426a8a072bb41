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
#include <distrib/train/job/assemble.hpp>
#include <distrib/train/parameters_sha256.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace sim {

namespace detail {

/// One plan as a job of a simulated cluster. Its hooks receive nothing.
class SimulatedJob {
 public:
  SimulatedJob(const TrainingPlan& plan, const Options& options)
      : plan_{plan},
        model_{plan.model().open()},
        planned_{plan.cluster_job(*model_, options.ps,
                                  options.workers != 0 ? options.workers : plan.options().local.workers,
                                  options.replay_budget_bytes)} {
    planned_.job.cut_interval = interval(options);
  }

  [[nodiscard]] auto job() const -> const Job& { return planned_.job; }

  /// Returns the job with the programs of its processes. `finished` receives the SHA-256 of the values at the end.
  [[nodiscard]] auto start(std::function<void(std::string sha256)> finished) -> StartedJob {
    return {planned_.job, shard_kinds(plan_.updater_finder()),
            [this, finished = std::move(finished)](Rank rank) { return program(rank, finished); }};
  }

 private:
  auto program(Rank rank, const std::function<void(std::string sha256)>& finished) -> Program {
    const Job& job = planned_.job;
    const std::shared_ptr<AnyContributor> contributor = model_->contributor(job, planned_.layouts);
    Program program;
    program.initial_values = planned_.initial_values;
    program.prepare = [contributor, rank](Step step) { return contributor->prepare(rank, step); };
    program.contribute = [this, contributor, rank](const Compute& work) {
      std::vector<std::shared_ptr<AlignedBuffer>> gradients;
      for (const ShardLayout& layout : planned_.layouts)
        gradients.push_back(std::make_shared<AlignedBuffer>(layout.gradient_block_bytes()));
      if (work.entry != nullptr) contributor->set_number(rank, work.step, *work.entry, work.number);
      (*contributor)(rank, work.step, work.values, gradients);
      return std::vector<SharedBuffer>{gradients.begin(), gradients.end()};
    };
    program.finish = [this, &job, finished, contributor, rank](const std::vector<SharedBuffer>& blocks) {
      RuntimeValues values{plan_.model().variables()};
      assemble(planned_.layouts, blocks, values);
      finished(parameters_sha256(job, values, contributor->digests(rank, job.steps_of(rank) + 1, blocks)));
    };
    return program;
  }

  // Returns the steps between two cuts. With SaveCheckpoint: as in a cluster. Otherwise drawn from the seed, and at
  // most a third of the job, so that a short job has a few cuts, too.
  [[nodiscard]] auto interval(const Options& options) const -> std::uint64_t {
    if (options.cut_interval != 0) return options.cut_interval;
    const Job& job = planned_.job;
    const std::uint64_t most = job.cut_interval;
    if (plan_.save()) return most;
    return Dice{options.seed ^ 0xc075}.between(1, std::max<std::uint64_t>(1, std::min(most, job.total_steps / 3)));
  }

  const TrainingPlan& plan_;
  const std::unique_ptr<OpenModel> model_;
  PlannedJob planned_;
};

DISTRIB_DECL auto simulate(const TrainingPlan& plan, const TrainingPlan* after, const Options& options,
                           MakeShard make_shard) -> Outcome {
  std::string sha256;
  const auto finished = [&sha256](std::string of) { sha256 = std::move(of); };
  SimulatedJob first{plan, options};
  std::optional<SimulatedJob> second;
  if (after != nullptr) second.emplace(*after, options);
  CutSettings cuts = plan.cut_settings();
  cuts.exports = {};  // the simulator has no thread of files for them
  Cluster cluster{first.start(finished), cuts, options, make_shard};
  if (second) cluster.change_to(second->start(finished));
  Outcome outcome = cluster.run();
  if (outcome.wrong.empty() && !cluster.refusals().empty())
    outcome.wrong = "seed " + std::to_string(options.seed) + ": refused: " + cluster.refusals().front();
  if (outcome.wrong.empty()) outcome.parameters_sha256 = sha256;
  return outcome;
}

}  // namespace detail

}  // namespace sim
}  // namespace v0
}  // namespace distrib

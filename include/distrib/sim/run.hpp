// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/data/batch_source.hpp>
#include <distrib/ps/job/cut_interval.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/protocol/async_worker_core.hpp>
#include <distrib/ps/protocol/sync_worker_core.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/sim/detail/cluster.hpp>
#include <distrib/sim/detail/program.hpp>
#include <distrib/sim/dice.hpp>
#include <distrib/sim/options.hpp>
#include <distrib/tensor/values.hpp>
#include <distrib/train/assemble.hpp>
#include <distrib/train/builder.hpp>
#include <distrib/train/contributor.hpp>
#include <distrib/train/initial_values.hpp>
#include <distrib/train/model.hpp>
#include <distrib/train/trainer.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace sim {

namespace detail {

/// Trains what a recipe says, in a simulated cluster. Hooks hear nothing.
template <Model M, Dataset D>
class Simulation : public Trainer<M, D> {
  using Base = Trainer<M, D>;
  using Variables = typename M::Variables;

 public:
  template <class R>
  explicit Simulation(const R& recipe) : Base{recipe, nullptr} {}

  [[nodiscard]] auto run(const Options& options) -> Outcome {
    return this->options_.consistency.is_synchronous() ? run<SyncWorkerCore>(options) : run<AsyncWorkerCore>(options);
  }

 private:
  template <class WorkerCore>
  auto run(const Options& options) -> Outcome {
    const auto source = this->data_.open();
    Job job = this->make_job(source, options.ps, options.workers != 0 ? options.workers : this->options_.local.workers,
                             this->options_.replicas);
    job.cut_interval = interval(job, options);
    const std::vector<SharedBuffer> initial = make_initial_values(this->model_, job);
    const std::vector<ShardLayout> layouts = shard_layouts(job);
    std::string sha256;
    const auto start = [&](Rank rank) -> Program {
      using ContributorType = Contributor<M, std::remove_const_t<decltype(source)>>;
      const auto contributor = std::make_shared<ContributorType>(this->model_, source, job, layouts);
      const Step last = job.steps_of(rank);
      Program program;
      program.initial_values = initial;
      program.prepare = [contributor, rank, last](Step step) -> std::vector<WantedRows> {
        if (step <= last) return contributor->prepare(rank, step);
        return step == last + 1 ? contributor->prepare_end(rank, step, {}) : std::vector<WantedRows>{};
      };
      program.contribute = [contributor, rank, &layouts](Step step, std::span<const SharedBuffer> values) {
        std::vector<std::shared_ptr<AlignedBuffer>> gradients;
        for (const ShardLayout& layout : layouts)
          gradients.push_back(std::make_shared<AlignedBuffer>(layout.wire_block_bytes()));
        (*contributor)(rank, step, values, gradients);
        return std::vector<SharedBuffer>{gradients.begin(), gradients.end()};
      };
      program.finish = [&, contributor, rank, last](const std::vector<SharedBuffer>& blocks) {
        Values<Variables> values{job.variables};
        assemble(layouts, blocks, values);
        sha256 = parameters_sha256(job, values, contributor->digests(rank, last + 1, blocks));
      };
      return program;
    };
    Cluster<WorkerCore> cluster{job, shard_kinds(this->updaters()), cuts(), start, options};
    Outcome outcome = cluster.run();
    if (outcome.wrong.empty() && !cluster.refusals().empty())
      outcome.wrong = "seed " + std::to_string(options.seed) + ": refused: " + cluster.refusals().front();
    if (outcome.wrong.empty()) outcome.parameters_sha256 = sha256;
    return outcome;
  }

  // With checkpoints as a cluster has it, else up to that, so that there are a few in a short job, too.
  auto interval(const Job& job, const Options& options) const -> std::uint64_t {
    if (options.cut_interval != 0) return options.cut_interval;
    const std::uint64_t most =
        cut_interval(job, this->save_ ? this->save_->every_steps : 0, options.replay_budget_bytes);
    if (this->save_) return most;
    return Dice{options.seed ^ 0xc075}.between(1, std::max<std::uint64_t>(1, std::min(most, job.total_steps / 3)));
  }

  auto cuts() const -> CutSettings {
    if (!this->save_) return {};
    return {{}, this->save_->every_steps, this->save_->retention()};
  }
};

}  // namespace detail

/// Trains what a trainer's recipe says in a simulated cluster, with all that goes wrong there:
/// `sim::run(distrib::train(MyModel{}).with_data(...), {.seed = 7})`. All runs on the caller's thread, in no time but what
/// the model takes. Of the hooks StopAtStep and SaveCheckpoint count as settings; none is told anything.
///
/// A synchronous job ends with the parameters of local mode with as many workers, bit for bit: compare
/// `parameters_sha256` with `Trainer::result()`. Throws what model or data throw, and what `build` throws.
template <class R>
[[nodiscard]] auto run(const TrainerBuilder<R>& trainer, const Options& options) -> Outcome {
  auto simulation = trainer.template build_as<detail::Simulation>();
  if constexpr (std::same_as<decltype(simulation), distrib::detail::NoTrainer>) return {};
  else return simulation.run(options);
}

// After a sentence of ours nothing more is reported.
inline auto run(const distrib::detail::NoTrainer&, const Options&) -> Outcome { return {}; }

}  // namespace sim
}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/sha256.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/net/signals.hpp>
#include <distrib/ps/plan_parts.hpp>
#include <distrib/tensor/values.hpp>
#include <distrib/train/checkpoint_store.hpp>
#include <distrib/train/contributor.hpp>
#include <distrib/train/error.hpp>
#include <distrib/train/evaluate.hpp>
#include <distrib/train/events.hpp>
#include <distrib/train/hook.hpp>
#include <distrib/train/local_job.hpp>
#include <distrib/train/recipe.hpp>
#include <distrib/train/save_checkpoint.hpp>
#include <distrib/train/stop_at_step.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

/// SHA-256 of all variables' bytes in the order of their names, as lower-case hex.
template <class Variables>
[[nodiscard]] auto parameters_sha256(const std::vector<VariableInfo>& infos, const Values<Variables>& values)
    -> std::string {
  std::map<std::string, std::size_t> by_name;
  for (std::size_t i = 0; i < infos.size(); ++i) by_name[infos[i].name] = i;
  Sha256 hash;
  for (const auto& [name, i] : by_name) hash.update({values.data(i), infos[i].size_bytes()});
  return to_hex(hash.finish());
}

/// Trains what a recipe says, in one process: N workers, M shards, no socket. Made by `train(model)....build()`.
///
/// Threads: one at a time; `run()` blocks its thread and handles SIGINT and SIGTERM meanwhile.
template <class R>
class Trainer {
 public:
  /// `pool` may be null: then everything runs on the thread of `run()`. It must outlive the trainer.
  Trainer(R recipe, IoPool* pool) : recipe_{std::move(recipe)}, pool_{pool} {}

  /// Trains to the last step, or until a signal asks to stop. Returns the exit code: 0 done; 1 interrupted, what was
  /// done is saved and a new start goes on from there. Throws `std::system_error` that says what and where.
  [[nodiscard]] auto run() -> int {
    const auto source = recipe_.data.open();
    const Job job = make_job(source);
    const std::vector<ShardLayout> layouts = shard_layouts(job);
    const Evaluation evaluation = make_evaluation(job, layouts);
    std::optional<CheckpointStore> store;
    find_save([&](const SaveCheckpoint& setting) { store.emplace(setting, job, U::slots); });

    result_ = {};
    result_.mode = C::mode;
    result_.workers = job.ranks;
    result_.shards = job.shards();
    JobStart start{.first_step = 0, .last_step = job.total_steps, .workers = job.ranks,
                   .examples_per_step = source.batch_size() * ranks_per_step(), .restored_from = {}};
    std::vector<Cut> restored;
    if (store) {
      RestoredCuts found = store->restore();
      for (const Event& event : found.events) detail::tell(recipe_.hooks, event);
      restored = std::move(found.cuts);
      start.restored_from = result_.checkpoint = found.prefix;
      if (!restored.empty()) start.first_step = restored.front().step;
    }
    detail::tell(recipe_.hooks, start);

    Contributor<M, std::remove_const_t<decltype(source)>> contributor{recipe_.model, source, job, layouts};
    const std::vector<SharedBuffer> blocks =
        train(job, start, restored, store ? &*store : nullptr, std::ref(contributor), evaluation);
    finish(job, layouts, blocks, evaluation);
    return result_.complete ? 0 : 1;
  }

  /// What the last `run()` came to.
  [[nodiscard]] auto result() const noexcept -> const TrainingResult& { return result_; }

 private:
  using M = typename R::ModelType;
  using C = typename R::ConsistencyType;
  using U = typename R::UpdaterType;

  // What `Evaluate` asks for; `measure` is empty when it is not among the hooks.
  struct Evaluation {
    std::uint64_t every_steps = 0;
    std::function<Metrics(const std::vector<SharedBuffer>& blocks)> measure;
  };

  // Contributions that one global step takes.
  auto ranks_per_step() const -> std::uint64_t { return C::synchronous ? recipe_.local.workers : 1; }

  template <class F>
  void find_save(F&& found) const {
    detail::find_hook<SaveCheckpoint>(recipe_.hooks, std::forward<F>(found));
  }

  template <class Source>
  auto make_job(const Source& source) const -> Job {
    if (recipe_.local.workers == 0 || recipe_.local.shards == 0) throw_error(train_errc::no_workers, "LocalMode");
    Job job;
    job.seed = recipe_.seed;
    job.variables = recipe_.model.variables().infos();
    job.shards_per_task = recipe_.local.shards;
    job.parts = plan_parts(job.variables, recipe_.partitioner, recipe_.placement, job.tasks, job.shards_per_task);
    job.updater = std::string{U::name} + " " + recipe_.updater.describe();
    job.consistency = recipe_.consistency.describe();
    job.data = source.describe();
    job.ranks = recipe_.local.workers;
    job.total_steps = last_step(source);

    // Nothing is replayed to a shard here, so a cut is due as seldom as the user wants a checkpoint.
    job.cut_interval = job.total_steps;
    find_save([&](const SaveCheckpoint& save) { job.cut_interval = std::max<std::uint64_t>(save.every_steps, 1); });
    return job;
  }

  // The end of the job: what StopAtStep says, and not more than the data give.
  template <class Source>
  auto last_step(const Source& source) const -> Step {
    std::optional<Step> last;
    detail::find_hook<StopAtStep>(recipe_.hooks, [&](const StopAtStep& stop) { last = stop.last_step; });
    if (const auto batches = source.batches()) last = std::min(last.value_or(*batches), *batches / ranks_per_step());
    if (!last) throw_error(train_errc::no_end, "StopAtStep");
    if (*last == 0) throw_error(train_errc::too_little_data, source.describe());
    return *last;
  }

  auto make_evaluation(const Job& job, const std::vector<ShardLayout>& layouts) const -> Evaluation {
    Evaluation evaluation;
    if constexpr (EvaluatedModel<M>)
      detail::find_evaluate(recipe_.hooks, [&](const auto& setting) {
        evaluation.every_steps = setting.every_steps;
        evaluation.measure = [this, &job, &layouts, source = setting.data.open()](const auto& blocks) {
          Values<typename M::Variables> values{job.variables};
          assemble<typename M::Variables>(layouts, blocks, values);
          return evaluate(recipe_.model, source, values);
        };
      });
    return evaluation;
  }

  // Returns the values at the end, one block a shard.
  auto train(const Job& job, const JobStart& start, const std::vector<Cut>& restored, CheckpointStore* store,
             Contribute contribute, const Evaluation& evaluation) -> std::vector<SharedBuffer> {
    std::optional<LocalJob<C, U>> local;
    LocalJobEvents events;
    events.step_done = [&](Step step, float loss) {
      result_.loss = loss;
      detail::tell(recipe_.hooks, StepDone{step, loss, start.examples_per_step});
      if (evaluation.measure && evaluation.every_steps != 0 && step % evaluation.every_steps == 0 &&
          step != job.total_steps)
        measure_in_background(*local, step, evaluation);
    };
    events.cut_due = [&](Step step, std::vector<Cut> cuts) { save_in_background(*local, step, std::move(cuts), store); };
    local.emplace(job, recipe_.consistency, recipe_.updater, restored, std::move(contribute), std::move(events), pool_);

    const auto begun = std::chrono::steady_clock::now();
    {
      const Signals signals{local->context(), [&] {
                              detail::tell(recipe_.hooks, Event{Event::Kind::interrupted, "local", {}, {},
                                                                "asked to stop: finishing the steps in flight, saving"});
                              local->stop();
                            }};
      local->run();
    }
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begun;
    result_.steps = local->step();
    result_.complete = result_.steps >= job.total_steps;
    result_.seconds = spent.count();
    if (spent.count() > 0) result_.steps_per_second = static_cast<double>(result_.steps - start.first_step) / spent.count();
    result_.examples_per_second = result_.steps_per_second * static_cast<double>(start.examples_per_step);
    return local->values();
  }

  void save_in_background(LocalJob<C, U>& local, Step step, std::vector<Cut> cuts, CheckpointStore* store) {
    auto kept = std::make_shared<std::vector<Cut>>(std::move(cuts));
    auto prefix = std::make_shared<std::string>();
    local.in_background(
        [store, step, kept, prefix] {
          if (store != nullptr) *prefix = store->save(step, *kept);
        },
        [this, &local, step, kept, prefix] {
          kept->clear();  // on this thread, where blocks are taken again
          if (!prefix->empty()) {
            result_.checkpoint = *prefix;
            detail::tell(recipe_.hooks, CheckpointSaved{step, *prefix});
          }
          local.cut_saved(step);
        });
  }

  void measure_in_background(LocalJob<C, U>& local, Step step, const Evaluation& evaluation) {
    auto blocks = std::make_shared<std::vector<SharedBuffer>>(local.values());
    auto evaluated = std::make_shared<Evaluated>(Evaluated{step, {}});
    local.in_background([&evaluation, blocks, evaluated] { evaluated->metrics = evaluation.measure(*blocks); },
                        [this, blocks, evaluated] {
                          blocks->clear();
                          detail::tell(recipe_.hooks, *evaluated);
                        });
  }

  void finish(const Job& job, const std::vector<ShardLayout>& layouts, const std::vector<SharedBuffer>& blocks,
              const Evaluation& evaluation) {
    Values<typename M::Variables> values{job.variables};
    assemble<typename M::Variables>(layouts, blocks, values);
    result_.parameters_sha256 = parameters_sha256(job.variables, values);
    if (evaluation.measure && result_.complete) {
      result_.metrics = evaluation.measure(blocks);
      detail::tell(recipe_.hooks, Evaluated{result_.steps, result_.metrics});
    }
    detail::tell(recipe_.hooks, JobEnd{result_});
  }

  R recipe_;
  IoPool* pool_;
  TrainingResult result_;
};

}  // namespace distrib::inline v0

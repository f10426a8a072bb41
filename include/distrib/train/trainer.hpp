// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/files.hpp>
#include <distrib/data/batch_source.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/net/signals.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/optimizer/updater_list.hpp>
#include <distrib/ps/cut/initial_cut.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/plan_parts.hpp>
#include <distrib/ps/protocol/any_shard.hpp>
#include <distrib/ps/protocol/batch_keys.hpp>
#include <distrib/ps/store/key_lists.hpp>
#include <distrib/ps/store/table_digest.hpp>
#include <distrib/tensor/runtime_values.hpp>
#include <distrib/tensor/values.hpp>
#include <distrib/train/assemble.hpp>
#include <distrib/train/checkpoint_store.hpp>
#include <distrib/train/contributor.hpp>
#include <distrib/train/error.hpp>
#include <distrib/train/evaluation.hpp>
#include <distrib/train/events.hpp>
#include <distrib/train/hook_set.hpp>
#include <distrib/train/initial_values.hpp>
#include <distrib/train/local_job.hpp>
#include <distrib/train/make_local_job.hpp>
#include <distrib/train/model.hpp>
#include <distrib/train/parameters_sha256.hpp>
#include <distrib/train/recipe.hpp>
#include <distrib/train/save_checkpoint.hpp>
#include <distrib/train/stop_at_step.hpp>
#include <distrib/train/training_options.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Trains what a recipe says, in one process: N workers, M shards, no socket. Made by `train(model)....build()`.
///
/// Threads: one at a time; `run()` blocks its thread and handles SIGINT and SIGTERM meanwhile.
template <Model M, Dataset D>
class Trainer {
 public:
  /// Takes the roles out of a Recipe; all but model and data leave no trace in the trainer's type, so that trainers that
  /// differ only in these are compiled once. `pool` may be null: then everything runs on the thread of
  /// `run()`. It must outlive the trainer.
  template <class R>
  Trainer(const R& recipe, IoPool* pool)
      : model_{recipe.model},
        data_{recipe.data},
        options_{recipe.options},
        hooks_{recipe.hooks},
        pool_{pool},
        kind_{{options_.updater}} {
    options_.initial_checkpoint = detail::absolute_path(options_.initial_checkpoint);
    for (const auto& [prefix, updater] : options_.updaters_of) {
      check_prefix(prefix);
      kind_.updaters.push_back(updater);
    }
    detail::find_hook<StopAtStep>(recipe.hooks, [this](const StopAtStep& stop) { stop_ = stop; });
    detail::find_hook<SaveCheckpoint>(recipe.hooks, [this](const SaveCheckpoint& save) { save_ = save; });
    if constexpr (EvaluatedModel<M>)
      detail::find_evaluate(recipe.hooks, [this](const auto& setting) {
        evaluate_every_ = setting.every_steps;
        open_evaluation_ = [data = setting.data](const M& model) -> Measure {
          auto evaluation = std::make_shared<Evaluation<M, decltype(data.open())>>(model, data.open());
          return {[evaluation](auto& values) { return (*evaluation)(values); }, evaluation->keys()};
        };
      });
  }

  /// Trains to the last step, or until a signal asks to stop. Returns the exit code: 0 done; 1 interrupted: with
  /// `SaveCheckpoint` what was done is saved, and a new start goes on from there. Throws `std::system_error` that says
  /// what and where.
  [[nodiscard]] auto run() -> int {
    const auto source = data_.open();
    if (options_.local.workers == 0 || options_.local.shards == 0) throw_error(train_errc::no_workers, "LocalMode");
    Job job = make_job(source, 1, options_.local.workers);
    // Nothing is replayed to a shard here, so a cut is due as seldom as the user wants a checkpoint.
    job.cut_interval = save_ ? std::max<std::uint64_t>(save_->every_steps, 1) : job.total_steps;
    std::vector<SharedBuffer> initial = make_initial_values(model_, job);
    const std::vector<ShardLayout> layouts = shard_layouts(job);
    const Measure measure = open_evaluation_ ? open_evaluation_(model_) : Measure{};
    BatchKeys measured{job, layouts};  // the rows that the evaluation needs
    measured.find({}, measure.keys);
    std::optional<CheckpointStore> store;
    if (save_) store.emplace(*save_, job, kind_.updaters);

    JobStart start = begin(job, source);
    std::vector<Cut> restored;
    if (store) {
      RestoredCuts found = store->restore();
      for (const Event& event : found.events) hooks_.tell(event);
      restored = std::move(found.cuts);
      start.restored_from = result_.checkpoint = found.prefix;
      if (!restored.empty()) start.first_step = restored.front().step;
    }
    if (restored.empty() && !job.initial_checkpoint.empty()) {
      for (const ShardLayout& layout : layouts) restored.push_back(initial_cut(job, layout, kind_.updaters));
      hooks_.tell(Event{Event::Kind::restored,
                        "local",
                        job.initial_checkpoint,
                        {},
                        "beginning with values of " + job.initial_checkpoint});
    }
    hooks_.tell(start);

    Contributor<M, std::remove_const_t<decltype(source)>> contributor{model_, source, job, layouts};
    const auto whole = [&](const std::vector<SharedBuffer>& blocks) {
      Values<typename M::Variables> values{job.variables};
      assemble(layouts, blocks, values);
      if constexpr (M::Variables::tables != 0)
        for (std::size_t table = 0; table < measure.keys.size(); ++table) {
          values.rows(table).resize(measure.keys[table].size(), job.tables[table].dim);
          measured.collect(blocks, table, values.rows(table).data());
        }
      return values;
    };
    MeasureBlocks measure_blocks;
    if (measure.of)
      measure_blocks = [&](const std::vector<SharedBuffer>& blocks) {
        auto values = whole(blocks);
        return measure.of(values);
      };
    const auto local = train(job, start, restored, std::move(initial), store ? &*store : nullptr, contributor, measured,
                             measure_blocks);
    measured.find({}, measure.keys, true);
    const std::vector<SharedBuffer> blocks = local->values(measured.requests());
    auto values = whole(blocks);
    std::vector<TableDigest> digests;
    for (std::size_t table = 0; table < job.tables.size(); ++table) digests.push_back(measured.digest(blocks, table));
    finish(job, values, digests, measure);
    return result_.complete ? 0 : 1;
  }

  /// What the last `run()` came to.
  [[nodiscard]] auto result() const noexcept -> const TrainingResult& { return result_; }

 protected:
  /// Measures the model on the evaluation data; empty when `Evaluate` is not among the hooks.
  struct Measure {
    std::function<Metrics(Values<typename M::Variables>&)> of;
    KeyLists keys;  ///< Of each table the keys whose rows it needs, in their order.
  };
  using MeasureBlocks = std::function<Metrics(const std::vector<SharedBuffer>&)>;

  // Counters have no updater.
  void check_prefix(const std::string& prefix) const {
    std::string names;
    const auto look_at = [&](const std::string& name) {
      names += (names.empty() ? "" : ", ") + name;
      return !prefix.empty() && name.starts_with(prefix);
    };
    for (const VariableInfo& variable : model_.variables().infos())
      if (!is_counter(variable.dtype) && look_at(variable.name)) return;
    for (const TableInfo& table : model_.variables().table_infos())
      if (look_at(table.name)) return;
    throw_error(train_errc::no_such_variable, "with_updater: '" + prefix + "'; there are " + names);
  }

  // Batches that one global step uses up; those of backup workers are among them.
  [[nodiscard]] auto batches_per_step(std::uint32_t ranks) const -> std::uint64_t {
    return options_.consistency.is_synchronous() ? ranks : 1;
  }

  // All but the interval of cuts.
  template <class Source>
  auto make_job(const Source& source, std::uint32_t tasks, std::uint32_t ranks, std::uint32_t replicas = 1) const
      -> Job {
    if (replicas != 1 && (replicas != 2 || tasks < 2 || !options_.consistency.can_have_replicas()))
      throw_error(train_errc::no_replicas, std::to_string(replicas) + " replicas, " + std::to_string(tasks) +
                                               " parameter servers, " + options_.consistency.describe());
    Job job;
    job.replicas = replicas;
    job.seed = options_.seed;
    job.initial_checkpoint = options_.initial_checkpoint;
    job.variables = model_.variables().infos();
    job.tables = model_.variables().table_infos();
    job.tasks = tasks;
    job.shards_per_task = options_.local.shards;
    job.parts = plan_parts(job.variables, options_.partitioner, options_.placement, tasks, options_.local.shards);
    job.updater = kind_.updaters.front().text();
    for (const auto& [prefix, updater] : options_.updaters_of) job.updaters_of.push_back({prefix, updater.text()});
    throw_if(check_table_updaters(job, kind_.updaters));
    job.row_mean = options_.row_mean;
    job.check_numerics = options_.check_numerics;
    job.wire_format = options_.wire_format;
    job.consistency = options_.consistency;
    job.data = source.describe();
    job.ranks = ranks;
    if (const std::uint32_t counted = options_.consistency.replicas_to_aggregate(ranks); counted > ranks)
      throw_error(train_errc::too_few_workers,
                  "replicas_to_aggregate=" + std::to_string(counted) + ", " + std::to_string(ranks) + " workers");
    job.total_steps = last_step(source, ranks);
    return job;
  }

  // Those of this program, with whatever hyper-parameters the workers were given, and the library's.
  auto updaters() const -> UpdaterFinder {
    return [own = kind_.updaters](std::string_view text) -> std::optional<AnyUpdater> {
      for (const AnyUpdater& updater : own)
        if (auto found = updater.parse(text)) return found;
      return StandardUpdaters{}(text);
    };
  }

  template <class Source>
  auto begin(const Job& job, const Source& source) -> JobStart {
    result_ = {};
    result_.mode = options_.consistency.mode();
    result_.workers = job.ranks;
    result_.shards = job.shards();
    return {.first_step = 0,
            .last_step = job.total_steps,
            .workers = job.ranks,
            .examples_per_step = source.batch_size() * options_.consistency.replicas_to_aggregate(job.ranks),
            .restored_from = {}};
  }

  // The end of the job: what StopAtStep says, and not more than the data give.
  template <class Source>
  auto last_step(const Source& source, std::uint32_t ranks) const -> Step {
    std::optional<Step> last;
    if (stop_) last = stop_->last_step;
    if (const auto batches = source.batches())
      last = std::min(last.value_or(*batches), *batches / batches_per_step(ranks));
    if (!last || (stop_ && stop_->last_step == 0)) throw_error(train_errc::no_end, "StopAtStep");
    if (*last == 0) throw_error(train_errc::too_little_data, source.describe());
    return *last;
  }

  // Returns the job at its end. `measured`: the rows that come with the blocks to measure.
  template <class Source>
  auto train(const Job& job, const JobStart& start, const std::vector<Cut>& restored, std::vector<SharedBuffer> initial,
             const CheckpointStore* store, Contributor<M, Source>& contributor, const BatchKeys& measured,
             const MeasureBlocks& measure) -> std::unique_ptr<LocalJob> {
    std::unique_ptr<LocalJob> local;
    LocalJobCallbacks callbacks;
    if (!job.tables.empty())
      callbacks.prepare = [&](Rank rank, Step step) {
        const bool made = step <= job.steps_of(rank);
        return made ? contributor.prepare(rank, step) : contributor.prepare_end(rank, step, {});
      };
    callbacks.step_done = [&](Step step, float loss) {
      result_.loss = loss;
      hooks_.tell(StepDone{step, loss, start.examples_per_step});
      if (measure && evaluate_every_ != 0 && step % evaluate_every_ == 0 && step != job.total_steps)
        measure_in_background(*local, step, measured, measure);
    };
    callbacks.cut_due = [&](Step step, std::vector<Cut> cuts) {
      save_in_background(*local, step, std::move(cuts), store);
    };
    local =
        make_local_job(job, kind_, restored, std::ref(contributor), std::move(callbacks), pool_, std::move(initial));

    const auto begun = std::chrono::steady_clock::now();
    {
      const Signals signals{
          local->context(), [&] {
            local->stop([&] {
              hooks_.tell(Event{Event::Kind::interrupted,
                                "local",
                                {},
                                {},
                                store != nullptr ? "asked to stop: finishing the steps in flight, saving"
                                                 : "asked to stop: finishing the steps in flight; nothing is "
                                                   "saved, because there is no SaveCheckpoint"});
            });
          }};
      local->run();
    }
    sum_up(job, start, local->step(), std::chrono::steady_clock::now() - begun);
    return local;
  }

  // How far the run came, and how fast.
  void sum_up(const Job& job, const JobStart& start, Step steps, std::chrono::duration<double> spent) {
    result_.steps = steps;
    result_.complete = steps >= job.total_steps;
    result_.seconds = spent.count();
    if (spent.count() > 0) result_.steps_per_second = static_cast<double>(steps - start.first_step) / spent.count();
    result_.examples_per_second = result_.steps_per_second * static_cast<double>(start.examples_per_step);
  }

  void save_in_background(LocalJob& local, Step step, std::vector<Cut> cuts, const CheckpointStore* store) {
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
            hooks_.tell(CheckpointSaved{step, *prefix});
          }
          local.cut_saved(step);
        });
  }

  void measure_in_background(LocalJob& local, Step step, const BatchKeys& measured, const MeasureBlocks& measure) {
    auto blocks = std::make_shared<std::vector<SharedBuffer>>(local.values(measured.requests()));
    auto evaluated = std::make_shared<Evaluated>(Evaluated{step, {}});
    local.in_background([&measure, blocks, evaluated] { evaluated->metrics = measure(*blocks); },
                        [this, blocks, evaluated] {
                          blocks->clear();
                          result_.metrics = evaluated->metrics;
                          hooks_.tell(*evaluated);
                        });
  }

  // `values` have the rows that `measure` needs.
  void finish(const Job& job, Values<typename M::Variables>& values, std::span<const TableDigest> tables,
              const Measure& measure) {
    result_.parameters_sha256 = parameters_sha256(job, values, tables);
    if (measure.of && result_.complete) {
      result_.metrics = measure.of(values);
      hooks_.tell(Evaluated{result_.steps, result_.metrics});
    }
    hooks_.tell(JobEnd{result_});
  }

  M model_;
  D data_;
  TrainingOptions options_;
  HookSet hooks_;
  IoPool* pool_;
  ShardKind kind_;  // the updaters in the order of the job
  std::optional<StopAtStep> stop_;
  std::optional<SaveCheckpoint> save_;
  std::uint64_t evaluate_every_ = 0;
  std::function<Measure(const M&)> open_evaluation_;
  TrainingResult result_;
};

}  // namespace v0
}  // namespace distrib

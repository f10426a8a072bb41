// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/training_plan.hpp>

#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/nearest_names.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/core/table_info.hpp>
#include <distrib/core/variable_info.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/optimizer/averaged_updater.hpp>
#include <distrib/optimizer/updater_list.hpp>
#include <distrib/ps/cut/object_checkpoints.hpp>
#include <distrib/ps/job/cut_interval.hpp>
#include <distrib/ps/job/export_settings.hpp>
#include <distrib/ps/job/parse_job.hpp>
#include <distrib/ps/job/plan_parts.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/rank_text.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/record/error.hpp>
#include <distrib/train/error.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {

namespace detail {

// How the text of an error names an entry of the names for the initial checkpoint.
DISTRIB_DECL auto told_initial_name(const InitialName& entry) -> std::string {
  return "with_initial_checkpoint: '" + entry.in_checkpoint + "' for '" + entry.of_job + "'";
}

}  // namespace detail

DISTRIB_DECL TrainingPlan::TrainingPlan(TrainingOptions options, std::shared_ptr<const AnyModel> model, HookSet hooks,
                                        HookSettings settings)
    : options_{std::move(options)}, model_{std::move(model)}, hooks_{std::move(hooks)}, settings_{std::move(settings)} {
  if (!detail::is_url(options_.initial_checkpoint))
    options_.initial_checkpoint = detail::absolute_path(options_.initial_checkpoint);
  hooks_.use_object_stores(options_.object_stores);
  check_forms();
}

DISTRIB_DECL void TrainingPlan::check() const {
  if (measures_averages() && !options_.moving_average) throw_error(train_errc::no_averages, "with_moving_average");
  static_cast<void>(chosen_updaters());
  check_local_steps();
}

DISTRIB_DECL auto TrainingPlan::chosen_updaters() const -> ChosenUpdaters {
  check_initial_names();
  return choose_updaters(options_, model_->variables(), model_->updaters());
}

DISTRIB_DECL auto TrainingPlan::updater_finder() const -> UpdaterFinder {
  JobUpdaters own{options_.updater};
  for (const auto& [prefix, updater] : options_.updaters_of) own.push_back(updater);
  for (const auto& [predicate, updater] : options_.updater_groups) own.push_back(updater);
  return [own = std::move(own), model = model_](std::string_view text) {
    return find_averaged(text, [&](std::string_view plain) -> std::optional<AnyUpdater> {
      for (const AnyUpdater& updater : own)
        if (auto found = updater.parse(plain)) return found;
      if (auto found = StandardUpdaters{}(plain)) return found;
      for (const auto& [name, updater] : model->updaters())
        if (auto found = updater.parse(plain)) return found;
      return std::nullopt;
    });
  };
}

DISTRIB_DECL auto TrainingPlan::local_job(const OpenModel& model, Step done) const -> PlannedJob {
  check_directory();
  if (wait().wait_until_step != 0) throw_error(train_errc::cannot_wait, "GlobalStepWaiter");
  if (exports()) throw_error(train_errc::cannot_export, "a job in one process");
  PlannedJob planned = make_job(model, 1, options_.local.workers, 1, done);
  // Nothing is sent again to a shard here, so a cut is due only when the user wants a checkpoint.
  planned.job.cut_interval = every_steps() != 0 ? every_steps() : planned.job.total_steps;
  return complete(std::move(planned));
}

DISTRIB_DECL auto TrainingPlan::cluster_job(const OpenModel& model, std::uint32_t tasks, std::uint32_t ranks,
                                            std::size_t replay_budget_bytes) const -> PlannedJob {
  if (counts_from_start()) throw_error(train_errc::only_in_one_process, "StopAtStep::num_steps");
  if (settings_.asks_for_checkpoints) throw_error(train_errc::only_in_one_process, "a hook with wants_checkpoint()");
  if (wait().wait_until_step != 0 && options_.consistency.mode() != "async")
    throw_error(train_errc::cannot_wait, "GlobalStepWaiter");
  check_directory();
  PlannedJob planned = make_job(model, tasks, ranks, options_.replicas, 0);
  if (exports()) check_exports(planned.job);
  if (planned.job.erases_keys && !save())  // otherwise a shard that is killed would lose its log
    throw_error(train_errc::cannot_erase_keys, "no SaveCheckpoint");
  planned.job.cut_interval = cut_interval(planned.job, every_steps(), replay_budget_bytes);
  return complete(std::move(planned));
}

DISTRIB_DECL auto TrainingPlan::dealt_job(const OpenModel& model, std::uint32_t tasks, std::uint32_t ranks,
                                          std::size_t replay_budget_bytes) const -> PlannedJob {
  PlannedJob planned = cluster_job(model, tasks, ranks, replay_budget_bytes / std::max(ranks, options_.most_ranks));
  const Job& job = planned.job;
  std::string why;
  if (!job.can_reduce_in_tree())
    why = job.consistency.describe() + ", " + std::to_string(job.tables.size()) + " tables";
  else if (job.reduction != ReductionOrder::tree)
    why = "it adds in rank order: say with_reduction(ReductionOrder::tree)";
  else if (!job.replayable) why = "OwnBatches";
  else if (exports()) why = "ExportModel";
  else if (model.waits()) why = "batches that come while the job runs";
  if (!why.empty()) throw_error(train_errc::cannot_deal, "--ranks " + std::to_string(ranks) + ": " + why);
  return planned;
}

DISTRIB_DECL auto TrainingPlan::cut_settings() const -> CutSettings {
  CutSettings cuts;
  const auto everywhere = [](const std::string& name) {
    return detail::is_url(name) ? name : detail::absolute_path(name);
  };
  if (save()) {
    cuts = {.directory = everywhere(save()->directory),
            .keep_every = save()->every_steps,
            .retention = save()->retention(),
            .incremental = save()->incremental};
  }
  if (exports())
    cuts.exports = {.directory = everywhere(exports()->to),
                    .every_steps = exports()->every.steps,
                    .every = exports()->every.time,
                    .rows_as = exports()->rows_as};
  return cuts;
}

DISTRIB_DECL void TrainingPlan::check_exports(const Job& job) const {
  const ExportModel& exported = *exports();
  if (exported.every.steps == 0 && exported.every.time.count() <= 0)
    throw_error(train_errc::bad_hook, "ExportModel: every is 0");
  if (exported.rows_as == FloatFormat::float16)
    throw_error(train_errc::bad_hook, "ExportModel: rows_as is float16; rows are exported as float32 or bfloat16");
  if (!has_repeatable_steps(job)) throw_error(train_errc::cannot_export, job.consistency.describe());
  for (const TableInfo& table : job.tables)
    if (table.kept_as == FloatFormat::float16)
      throw_error(train_errc::cannot_export, "table " + table.name + ", which is kept as float16");
  if (!detail::is_url(exported.to)) return;
  if (!options_.object_stores) throw_error(record_errc::no_object_store, detail::shown_url(exported.to));
  Error error;
  static_cast<void>(options_.object_stores(exported.to, error));
  throw_if(error);
}

DISTRIB_DECL void TrainingPlan::check_directory() const {
  for (const std::string& kept : settings_.kept)
    if (save() && detail::is_url(kept) != detail::is_url(save()->directory))
      throw_error(train_errc::bad_hook, "a hook that keeps checkpoints: " + detail::shown_url(kept) +
                                            " must be where the checkpoints are, on file systems or in one bucket: " +
                                            detail::shown_url(save()->directory));
  if (!save() || !detail::is_url(save()->directory)) return;
  Error error;
  static_cast<void>(open_directory(save()->directory, options_.object_stores, error));
  throw_if(error);
}

// Checks the names for the initial checkpoint, as far as that is possible without the model. Sorts them, because they
// are part of the job's text, which must not depend on the order in which the user wrote them.
DISTRIB_DECL void TrainingPlan::check_forms() {
  std::vector<InitialName>& names = options_.initial_checkpoint_options.names;
  std::ranges::sort(names, {}, &InitialName::of_job);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool is_twice = i != 0 && names[i].of_job == names[i - 1].of_job;
    if (is_twice || !names[i].is_valid())
      throw_error(train_errc::bad_initial_name, detail::told_initial_name(names[i]));
  }
}

// Checks that each of these names fits a variable or table.
DISTRIB_DECL void TrainingPlan::check_initial_names() const {
  for (const InitialName& entry : options_.initial_checkpoint_options.names)
    detail::check_name(model_->variables(), detail::told_initial_name(entry), entry.of_job,
                       [&entry](const std::string& name) { return entry.is_of(name); });
}

// Throws `train_errc::bad_local_steps` if the job cannot have the local steps of the recipe.
DISTRIB_DECL void TrainingPlan::check_local_steps() const {
  if (!options_.local_steps) return;
  const std::uint32_t count = options_.local_steps->count;
  const auto refuse = [count](const std::string& what) {
    throw_error(train_errc::bad_local_steps, "with_local_steps: " + std::to_string(count) + " steps" + what);
  };
  if (count == 0 || count > max_local_steps) refuse("");
  if (const auto& tables = model_->variables().table_infos(); !tables.empty())
    refuse(", table '" + tables.front().name + "'");
  if (!settings_.stop) return;
  const std::uint64_t stop = std::max(settings_.stop->last_step, settings_.stop->num_steps);
  if (stop % count != 0) refuse(", StopAtStep of " + std::to_string(stop));
}

// Throws `train_errc::cannot_change_ranks` if the recipe asks for changes that the job cannot have.
DISTRIB_DECL void TrainingPlan::check_changes(const OpenModel& model, const PlannedJob& planned) const {
  const Job& job = planned.job;
  const std::vector<RankEntry>& changes = options_.local.changes;
  const auto refuse = [&job](const std::string& why) {
    throw_error(train_errc::cannot_change_ranks, "with_most_ranks(" + std::to_string(job.most_ranks) + "): " + why);
  };
  if (job.most_ranks == 0) {
    if (!changes.empty()) refuse("LocalMode::changes has " + std::to_string(changes.size()) + " entries");
    return;
  }
  if (job.most_ranks < job.ranks || job.most_ranks > max_job_ranks)
    refuse("the job begins with " + std::to_string(job.ranks) + " ranks, and there are at most " +
           std::to_string(max_job_ranks));
  if (!job.consistency.can_have_replicas(job.ranks)) refuse(job.consistency.describe());
  if (!job.tables.empty()) refuse("table '" + job.tables.front().name + "'");
  if (job.replicas != 1) refuse(std::to_string(job.replicas) + " replicas");
  if (!job.replayable) refuse("OwnBatches");
  if (model.waits()) refuse("batches that come while the job runs");
  for (const RankEntry& entry : changes)
    if (!is_rank_entry(entry, job.most_ranks)) refuse("LocalMode::changes: " + to_text(entry));
  if (std::ranges::any_of(changes, [](const RankEntry& entry) { return entry.rate != RankRate{}; }) &&
      !can_scale_rates(job, planned.updaters))
    refuse("LocalMode::changes with a rate, and local steps or an updater without scales_rate");
}

// Throws `train_errc::cannot_erase_keys` if the recipe lets keys be erased that cannot be.
DISTRIB_DECL void TrainingPlan::check_erased(const Job& job) const {
  const auto refuse = [](const std::string& why) { throw_error(train_errc::cannot_erase_keys, why); };
  const std::vector<ErasedKeys>& erased = options_.local.erased;
  if (!job.erases_keys && !erased.empty())
    refuse("LocalMode::erased has " + std::to_string(erased.size()) + " entries, without with_erasable_keys");
  if (!job.erases_keys) return;
  if (!job.consistency.can_have_replicas(job.ranks)) refuse(job.consistency.describe());
  if (job.replicas != 1) refuse(std::to_string(job.replicas) + " replicas");
  if (job.most_ranks != 0) refuse("with_most_ranks");
  if (!job.replayable) refuse("OwnBatches");
  if (!job.can_erase_keys()) refuse("no table of any keys");
  for (const ErasedKeys& entry : erased)
    if (entry.after == 0 || entry.keys.empty() || std::ranges::none_of(job.tables, [&entry](const TableInfo& table) {
          return table.name == entry.table && table.any_key();
        }))
      refuse("LocalMode::erased: table '" + entry.table + "', " + std::to_string(entry.keys.size()) +
             " keys after step " + std::to_string(entry.after));
}

// Throws `train_errc::bad_embedding` if the rows of a table cannot come and go as it says.
DISTRIB_DECL void TrainingPlan::check_rows(const TableInfo& table) {
  if (table.has_good_options()) return;
  std::string text = "'" + table.name + "': rows " + std::to_string(table.rows) + ", min_count " +
                     std::to_string(table.min_count) + ", evict_after " + std::to_string(table.evict_after);
  if (table.evict_in_turns) text += ", evict_in_turns";
  if (table.max_rows != 0) text += ", max_rows " + std::to_string(table.max_rows);
  if (table.half_life != 0) text += ", half_life " + std::to_string(table.half_life);
  if (table.max_new_keys != 0) text += ", max_new_keys " + std::to_string(table.max_new_keys);
  throw_error(train_errc::bad_embedding, text);
}

// Returns the whole job, except the interval of cuts and the digests of the model's own initial values.
DISTRIB_DECL auto TrainingPlan::make_job(const OpenModel& model, std::uint32_t tasks, std::uint32_t ranks,
                                         std::uint32_t replicas, Step done) const -> PlannedJob {
  const Consistency& consistency = options_.consistency;
  const std::uint32_t shards = options_.local.shards;
  if (tasks == 0 || ranks == 0 || shards == 0)
    throw_error(train_errc::no_workers, "workers " + std::to_string(ranks) + ", parameter servers " +
                                            std::to_string(tasks) + ", shards of each " + std::to_string(shards));
  if (replicas != 1 && (replicas != 2 || !model.is_replayable() || tasks < 2 || !consistency.can_have_replicas(ranks)))
    throw_error(train_errc::no_replicas, std::to_string(replicas) + " replicas, " + std::to_string(tasks) +
                                             " parameter servers, " + consistency.describe());
  ChosenUpdaters chosen = chosen_updaters();
  PlannedJob planned;
  Job& job = planned.job;
  job.replicas = replicas;
  job.seed = options_.seed;
  job.initial_checkpoint = options_.initial_checkpoint;
  job.initial_allow_missing = options_.initial_checkpoint_options.allow_missing;
  job.initial_names = options_.initial_checkpoint_options.names;
  job.variables = model_->variables().infos();
  job.tables = model_->variables().table_infos();
  for (const TableInfo& table : job.tables) check_rows(table);
  job.tasks = tasks;
  job.shards_per_task = shards;
  job.parts = plan_parts(job.variables, options_.partitioner, options_.placement, tasks, job.shards_per_task);
  job.updater = chosen.updaters.front().text();
  job.updaters_of = std::move(chosen.updaters_of);
  planned.updaters = std::move(chosen.updaters);
  throw_if(check_table_updaters(job, planned.updaters));
  job.row_mean = options_.row_mean;
  job.gradient_accumulation = options_.gradient_accumulation;
  if (job.gradient_accumulation == 0 || job.gradient_accumulation > max_gradient_accumulation)
    throw_error(train_errc::bad_accumulation, std::to_string(job.gradient_accumulation));
  if (options_.local_steps) {
    check_local_steps();
    job.local_steps = options_.local_steps->count;
    job.local_updater = options_.local_steps->updater.text();
  }
  job.gradient_clipping = options_.gradient_clipping;
  job.check_numerics = options_.check_numerics;
  job.wire_format = options_.wire_format;
  job.consistency = consistency;
  job.data = model.describe();
  job.replayable = model.is_replayable();
  job.arithmetic = model_->arithmetic();
  if (!is_arithmetic(job.arithmetic)) throw_error(train_errc::bad_description, detail::quoted_name(job.arithmetic));
  job.ranks = ranks;
  job.most_ranks = options_.most_ranks;
  check_changes(model, planned);
  job.erases_keys = options_.erases_keys;
  check_erased(job);
  if (const std::uint32_t counted = consistency.replicas_to_aggregate(ranks); counted > ranks)
    throw_error(train_errc::too_few_workers,
                "replicas_to_aggregate=" + std::to_string(counted) + ", " + std::to_string(ranks) + " workers");
  const bool is_large = job.rank_names() > most_ranks_in_order && job.can_reduce_in_tree();
  job.reduction = options_.reduction.value_or(is_large ? ReductionOrder::tree : ReductionOrder::rank_order);
  if (job.reduction == ReductionOrder::tree && !job.can_reduce_in_tree())
    throw_error(train_errc::no_tree, consistency.describe() + ", " + std::to_string(job.tables.size()) + " tables");
  job.total_steps = last_step(model, job, done);
  return planned;
}

DISTRIB_DECL auto TrainingPlan::complete(PlannedJob planned) const -> PlannedJob {
  planned.initial_values = model_->initial_values(planned.job);
  planned.layouts = shard_layouts(planned.job);
  return planned;
}

// Returns the last step of the job: the step of StopAtStep, or the end of the data if that comes first. A synchronous
// step uses the batches of one contribution of each rank, including backup workers, and of as many ranks as there may be.
DISTRIB_DECL auto TrainingPlan::last_step(const OpenModel& model, const Job& job, Step done) const -> Step {
  const std::uint64_t contributions = options_.consistency.is_synchronous() ? job.rank_names() : 1;
  const std::uint64_t batches_per_step = contributions * options_.gradient_accumulation * local_steps();
  std::optional<Step> last;
  std::error_code ec;
  if (settings_.stop) settings_.stop->check(ec);
  if (ec) throw_error(ec, "StopAtStep: give one of last_step and num_steps");
  if (settings_.stop) last = settings_.stop->last_step_from(done * local_steps()) / local_steps();
  if (const auto batches = model.batches()) last = std::min(last.value_or(*batches), *batches / batches_per_step);
  if (!last) throw_error(train_errc::no_end, "StopAtStep");
  if (*last == 0) throw_error(train_errc::too_little_data, model.describe());
  return *last;
}

}  // namespace v0
}  // namespace distrib

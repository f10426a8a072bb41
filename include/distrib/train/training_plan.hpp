// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/train/any_model.hpp>
#include <distrib/train/choose_updaters.hpp>
#include <distrib/train/export_model.hpp>
#include <distrib/train/hook_set.hpp>
#include <distrib/train/recipe.hpp>
#include <distrib/train/save_checkpoint.hpp>
#include <distrib/train/training_options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A job, and what is computed from the job and the model before training begins.
struct PlannedJob {
  Job job;
  JobUpdaters updaters;                      ///< In the order of `Job::updater_of`.
  std::vector<SharedBuffer> initial_values;  ///< Contribution 0, see `WorkerOptions`; empty if there is none.
  std::vector<ShardLayout> layouts;          ///< One per shard.
};

/// A recipe without the user's types, as all kinds of trainers hold it. It makes the job for a number of tasks and
/// ranks, with its last step and its interval of cuts, and says where cuts are kept and when the model is measured.
/// Asks the model only in the members that say so.
///
/// A value; copies share the model and the hooks. Threads: const members from any thread.
class TrainingPlan {
 public:
  /// Throws `train_errc::bad_initial_name` if an entry of `InitialCheckpointOptions::names` is malformed or two entries
  /// are for the same name.
  DISTRIB_DECL TrainingPlan(TrainingOptions options, std::shared_ptr<const AnyModel> model, HookSet hooks,
                            HookSettings settings);

  /// Returns the same plan with what the command line says of the job: `ClusterFlags::most_ranks`, if it is set, in
  /// place of `TrainerBuilder::with_most_ranks`.
  [[nodiscard]] auto with_flags(const ClusterFlags& flags) const -> TrainingPlan {
    TrainingPlan plan = *this;
    if (flags.most_ranks != 0) plan.options_.most_ranks = flags.most_ranks;
    return plan;
  }

  [[nodiscard]] auto options() const noexcept -> const TrainingOptions& { return options_; }
  [[nodiscard]] auto model() const noexcept -> const AnyModel& { return *model_; }
  [[nodiscard]] auto hooks() const -> HookSet { return hooks_; }
  /// Returns where and how checkpoints are saved; empty if they are not saved.
  [[nodiscard]] auto save() const noexcept -> const std::optional<SaveCheckpoint>& { return settings_.save; }
  /// Returns where and how often the model is exported; empty if it is not exported.
  [[nodiscard]] auto exports() const noexcept -> const std::optional<ExportModel>& { return settings_.exports; }
  /// True if the last step of a run depends on the step from which it continues.
  [[nodiscard]] auto counts_from_start() const noexcept -> bool {
    return settings_.stop && settings_.stop->num_steps != 0;
  }
  /// Returns the step of the job at which `StopAtStep::last_step` ends it; 0 if that is not set.
  [[nodiscard]] auto stop_step() const noexcept -> Step {
    return settings_.stop ? settings_.stop->last_step / local_steps() : 0;
  }
  /// True if in a cluster a task `evaluator` measures the model instead of the chief.
  [[nodiscard]] auto by_evaluator() const noexcept -> bool { return settings_.by_evaluator; }
  /// Returns when this worker begins.
  [[nodiscard]] auto wait() const noexcept -> const GlobalStepWaiter& { return settings_.wait; }
  /// Returns the directories in which hooks write files.
  [[nodiscard]] auto written() const noexcept -> const std::vector<std::string>& { return settings_.written; }

  /// Asks the model for its variables and updaters, and checks that the recipe fits them: throws what `choose_updaters`
  /// throws, `train_errc::bad_local_steps` if the job cannot have the local steps of the recipe, `train_errc::no_such_variable` if an entry of `InitialCheckpointOptions::names` matches no variable or
  /// table, `train_errc::no_averages` if `Evaluate` needs averages without `with_moving_average`, and what the model
  /// throws.
  DISTRIB_DECL void check() const;

  /// Returns a function that finds the updaters of this program and of the library by their text. The hyper-parameters
  /// are those in the text: they come from the workers, and this program, as a parameter server, may have been started
  /// with others. The function asks the model for its updaters only if neither the recipe nor the library has one.
  [[nodiscard]] DISTRIB_DECL auto updater_finder() const -> UpdaterFinder;

  /// Returns the job in one process. Asks the model. Throws what `check` throws, `train_errc` if the options do not
  /// make a job, and what the policies, `make_initial_values` and `check_directory` throw. `done`: steps of the checkpoint from which it
  /// continues, from which `StopAtStep::num_steps` counts.
  [[nodiscard]] DISTRIB_DECL auto local_job(const OpenModel& model, Step done = 0) const -> PlannedJob;

  /// Returns the job on `tasks` parameter servers and `ranks` workers. Each worker keeps at most `replay_budget_bytes`
  /// of its contributions until a cut contains them. Throws as `local_job`.
  [[nodiscard]] DISTRIB_DECL auto cluster_job(const OpenModel& model, std::uint32_t tasks, std::uint32_t ranks,
                                              std::size_t replay_budget_bytes) const -> PlannedJob;

  /// Returns the job as `cluster_job` does, with `ranks` that are dealt to any number of processes. Each process may
  /// come to serve all ranks, and keeps at most `replay_budget_bytes` of the contributions of all together. Throws also
  /// `train_errc::cannot_deal`.
  [[nodiscard]] DISTRIB_DECL auto dealt_job(const OpenModel& model, std::uint32_t tasks, std::uint32_t ranks,
                                            std::size_t replay_budget_bytes) const -> PlannedJob;

  /// Returns where the shards of a cluster keep their cuts, which cuts are checkpoints of the user, and what is exported.
  /// Without `SaveCheckpoint` the directory is empty: cuts are only in memory.
  [[nodiscard]] DISTRIB_DECL auto cut_settings() const -> CutSettings;

  /// Throws `record_errc::no_object_store` if `SaveCheckpoint::directory` is a URL and the recipe has no
  /// `with_object_stores`, or what that reports; `train_errc::bad_hook` if checkpoints are in an object store and a hook
  /// keeps some of them elsewhere.
  DISTRIB_DECL void check_directory() const;

  /// True if the model is measured with the moving averages of the values.
  [[nodiscard]] auto measures_averages() const noexcept -> bool { return settings_.evaluate_averages; }

  /// True if the model must be measured after `step`, when it was last considered after `before`: if a multiple of
  /// `Evaluate::every_steps` is in (before, step]. Does not cover the measurement at the end of the job.
  [[nodiscard]] auto is_measured_between(Step before, Step step) const noexcept -> bool {
    const std::uint64_t every = settings_.evaluate_every;
    return every != 0 && step / every != before / every;
  }

  /// True if batches are measured before they are trained on: see `ProgressiveValidation`.
  [[nodiscard]] auto validates() const noexcept -> bool { return settings_.validate_every != 0; }
  /// True if what was measured must be told after `step`, when it was last considered after `before`.
  [[nodiscard]] auto is_validated_between(Step before, Step step) const noexcept -> bool {
    const std::uint64_t every = settings_.validate_every;
    return every != 0 && step / every != before / every;
  }

 private:
  DISTRIB_DECL void check_forms();
  DISTRIB_DECL void check_initial_names() const;
  DISTRIB_DECL auto chosen_updaters() const -> ChosenUpdaters;
  DISTRIB_DECL void check_local_steps() const;
  DISTRIB_DECL void check_changes(const OpenModel& model, const PlannedJob& planned) const;
  DISTRIB_DECL void check_erased(const Job& job) const;
  DISTRIB_DECL static void check_rows(const TableInfo& table);
  DISTRIB_DECL void check_exports(const Job& job) const;
  // The steps of `StopAtStep` that are one step of the job.
  [[nodiscard]] auto local_steps() const noexcept -> std::uint64_t {
    return options_.local_steps ? std::max(1U, options_.local_steps->count) : 1;
  }
  [[nodiscard]] auto every_steps() const noexcept -> std::uint64_t { return save() ? save()->every_steps : 0; }
  DISTRIB_DECL auto make_job(const OpenModel& model, std::uint32_t tasks, std::uint32_t ranks, std::uint32_t replicas,
                             Step done) const -> PlannedJob;
  DISTRIB_DECL auto complete(PlannedJob planned) const -> PlannedJob;
  DISTRIB_DECL auto last_step(const OpenModel& model, const Job& job, Step done) const -> Step;

  TrainingOptions options_;
  std::shared_ptr<const AnyModel> model_;
  HookSet hooks_;
  HookSettings settings_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/training_plan.ipp>
#endif

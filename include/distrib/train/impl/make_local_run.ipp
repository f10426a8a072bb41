// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/make_local_run.hpp>

#include <distrib/checkpoint/file_names.hpp>
#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/net/signals.hpp>
#include <distrib/ps/cut/cut_object.hpp>
#include <distrib/ps/cut/initial_checkpoint.hpp>
#include <distrib/ps/cut/initial_cut.hpp>
#include <distrib/ps/cut/object_access.hpp>
#include <distrib/ps/cut/patience.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/protocol/any_shard.hpp>
#include <distrib/ps/protocol/batch_keys.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/store/key_lists.hpp>
#include <distrib/ps/store/table_digest.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/rpc/nonce.hpp>
#include <distrib/tensor/runtime_values.hpp>
#include <distrib/train/any_model.hpp>
#include <distrib/train/checkpoint_store.hpp>
#include <distrib/train/cluster_mode.hpp>
#include <distrib/train/job/assemble.hpp>
#include <distrib/train/job/data_wait.hpp>
#include <distrib/train/job/gradient_norms.hpp>
#include <distrib/train/job/local_job.hpp>
#include <distrib/train/job/make_local_job.hpp>
#include <distrib/train/job/step_examples.hpp>
#include <distrib/train/kept_steps.hpp>
#include <distrib/train/metrics.hpp>
#include <distrib/train/named_values.hpp>
#include <distrib/train/writer_locks.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// The implementation: everything on the owner's thread, except measuring, saving and, on a pool, computing.
class LocalRun final : public TrainingRun {
 public:
  LocalRun(const TrainingPlan& plan, IoPool* pool, TrainingReport& report, ComputeOn compute_on)
      : plan_{plan},
        pool_{pool},
        report_{report},
        compute_on_{compute_on},
        model_{plan_.model().open()},
        planned_{plan_.local_job(*model_, steps_done())},
        evaluation_{plan_.model().open_evaluation()} {
    ask(false);
    locks_.hold_local(plan_);
    if (plan_.save()) store_.emplace(*plan_.save(), job_, planned_.updaters, object_access());
    if (pool_ == nullptr && in_object_store()) saver_.emplace(1);
    start_ = report_.begin(job_, model_->batch_size(), 0);
    examples_ = {job_, start_.examples_per_step};
    const std::vector<Cut> restored = restore();
    report_.reached(start_.first_step);
    report_.tell(start_);
    contributor_ = model_->contributor(job_, planned_.layouts);
    contributor_->continue_after(start_.first_step);
    if (plan_.validates()) contributor_->validate();
    begin(restored);
  }
  LocalRun(const LocalRun&) = delete;
  auto operator=(const LocalRun&) -> LocalRun& = delete;
  ~LocalRun() override { patience_.end(); }

  [[nodiscard]] auto next() -> bool override {
    // Without a pool a checkpoint is saved before the training goes on, as in a directory of files.
    while (beside_ != 0 && context_->run_one() != 0) {
    }
    return local_->next();
  }
  auto make() -> float override {
    local_->make();
    return made_;
  }
  void stop(const std::string& reason) override { stop_job("asked to stop by the program, " + reason, reason); }
  [[nodiscard]] auto stopping() const noexcept -> bool override { return stopping_; }
  void abandon() override { local_->abandon(); }

  [[nodiscard]] auto end() -> int override {
    signals_.reset();
    report_.reached(local_->step());
    report_.took(job_, start_, std::chrono::steady_clock::now() - begun_,
                 examples_.between(start_.first_step, report_.result().steps));
    finish();
    patience_.end();
    if (store_ && report_.result().complete) store_->finish();
    return report_.result().complete || !report_.result().stop_reason.empty() ? 0 : 1;
  }

 private:
  // Returns the steps of the checkpoint that the job continues from, if its last step depends on them; otherwise 0.
  auto steps_done() -> Step {
    if (!plan_.counts_from_start() || !plan_.save()) return 0;
    if (in_object_store()) {  // only the job knows which cut it continues from, and the cut does not depend on the steps
      const PlannedJob any = plan_.local_job(*model_);
      const RestoredCuts found = CheckpointStore{*plan_.save(), any.job, any.updaters, object_access()}.restore();
      return found.cuts.empty() ? 0 : found.cuts.front().step;
    }
    std::vector<Error> refused;
    const auto reader = newest_complete(plan_.save()->directory, refused);
    return reader ? static_cast<Step>(checkpoint_step(reader->prefix()).value_or(0)) : 0;
  }

  [[nodiscard]] auto in_object_store() const -> bool { return plan_.save() && is_url(plan_.save()->directory); }

  // What claims in an object store say of this process, and how it looks at other claims.
  auto object_access() -> ObjectAccess {
    ObjectAccess access;
    access.open = plan_.options().object_stores;
    access.nonce = nonce_;
    access.owner = this_process("local job", {});
    access.answers = [this](const ClaimOwner& owner, std::uint64_t nonce) {
      const ClusterMode& mode = plan_.options().cluster;
      return still_answers(owner, nonce, {.secret = mode.secret, .tls = mode.tls});
    };
    access.pause = [this](std::chrono::milliseconds time) { return patience_.wait(time); };
    access.tell = [this](const std::string& text) {
      const Event event{Event::Kind::waiting, "local", {}, {}, text};
      if (context_ != nullptr) asio::post(*context_, [this, event] { report_.tell(event); });
      else report_.tell(event);
    };
    return access;
  }

  // Does what a hook has asked for.
  void heed_hooks() {
    if (report_.wants_checkpoint()) local_->save();
    std::string reason = report_.stop_reason();
    if (reason.empty() || report_.result().steps >= job_.total_steps) return;
    // In a handler of its own: the one that has told the hooks goes on with its work.
    asio::post(local_->context(),
               [this, reason = std::move(reason)] { stop_job("asked to stop by a hook, " + reason, reason); });
  }

  // Returns the cuts that the job continues from, one per shard; an empty list if it starts from its initializers.
  auto restore() -> std::vector<Cut> {
    std::vector<Cut> cuts;
    if (store_) {
      RestoredCuts found = store_->restore();
      for (const Event& event : found.events) report_.tell(event);
      cuts = std::move(found.cuts);
      start_.restored_from = found.prefix;
      report_.has_checkpoint(std::move(found.prefix));
    }
    if (!cuts.empty()) start_.first_step = cuts.front().step;
    if (!cuts.empty() || job_.initial_checkpoint.empty()) return cuts;
    const auto initial = InitialCheckpoint::of(job_, plan_.options().object_stores);
    for (const ShardLayout& layout : planned_.layouts)
      cuts.push_back(initial_cut(job_, layout, planned_.updaters, initial));
    report_.tell(Event{Event::Kind::restored,
                       "local",
                       job_.initial_checkpoint,
                       {},
                       beginning_with(job_.initial_checkpoint, initial->missing())});
    return cuts;
  }

  void begin(const std::vector<Cut>& restored) {
    const bool has_values = planned_.initial_values.empty();  // otherwise the workers bring them
    local_ = make_local_job(
        job_, {planned_.updaters}, restored,
        [this](Rank rank, Step step, auto values, auto gradients) {
          const float loss = (*contributor_)(rank, step, values, gradients);
          norms_.add(step, contributor_->gradient_norm(rank));
          return loss;
        },
        callbacks(), pool_, std::move(planned_.initial_values), compute_on_, plan_.options().local.changes,
        plan_.options().local.erased);
    context_ = &local_->context();
    begun_ = std::chrono::steady_clock::now();
    signals_.emplace(local_->context(), [this] {
      patience_.end();
      stop_job("asked to stop", {});
    });
    if (report_.wants_checkpoint() && has_values) save_begin();
    heed_hooks();
  }

  auto callbacks() -> LocalJobCallbacks {
    LocalJobCallbacks callbacks;
    if (!job_.tables.empty())
      callbacks.prepare = [this](Rank rank, Step step) { return contributor_->prepare(rank, step); };
    callbacks.numbered = [this](Rank rank, Step step, const RankEntry& entry, std::uint64_t number) {
      contributor_->set_number(rank, step, entry, number);
      if (rank == 0) examples_.told(step, entry);
    };
    if (model_->waits()) callbacks.ready = [this](Rank rank, Step step) { return is_ready(rank, step); };
    callbacks.contributed = [this](Rank rank, Step step, float loss, std::span<const SharedBuffer> blocks) {
      made_ = loss;
      if (plan_.validates()) validated_.merge(contributor_->validated(rank));
      const NamedValues values{plan_.model().variables(), planned_.layouts, blocks};
      report_.tell(ContributionMade{step, rank, loss, &values, rank == 0});
      heed_hooks();
    };
    callbacks.measured = report_.phases_of("local");
    callbacks.step_done = [this](Step step, float loss) { step_done(step, loss); };
    callbacks.cut_due = [this](Step step, std::vector<Cut> cuts) { save_in_background(step, std::move(cuts)); };
    return callbacks;
  }

  auto is_ready(Rank rank, Step step) -> bool {
    const bool ready = contributor_->is_ready(rank, step);
    if (wait_.is_worth_telling(step, ready)) report_.tell(wait_.event("local"));
    return ready;
  }

  // `asked`: how the event begins. `reason`: that of a hook or of the program; empty: a signal asks to stop.
  void stop_job(const std::string& asked, const std::string& reason) {
    stopping_ = true;
    local_->stop([&] {
      report_.stopped_by(reason);
      report_.tell(Event{Event::Kind::interrupted,
                         "local",
                         {},
                         {},
                         asked + ": " +
                             (store_ ? "finishing the steps in flight, saving"
                                     : "finishing the steps in flight; nothing is saved, because there is no "
                                       "SaveCheckpoint")});
    });
  }

  void step_done(Step step, float loss) {
    report_.reached(step, loss);
    report_.tell(StepDone{step, loss, examples_.between(step - 1, step), norms_.take(step)});
    if (plan_.is_validated_between(step - 1, step))
      report_.tell(ValidatedProgressively{step, std::exchange(validated_, {})});
    if (evaluation_ != nullptr && step != job_.total_steps && plan_.is_measured_between(step - 1, step))
      measure_in_background(step);
    heed_hooks();
  }

  // Saves the state of step 0, if the run begins there: the shards do not make a cut of it, because it follows from the
  // job.
  void save_begin() {
    if (!store_ || start_.first_step != 0 || !job_.tables.empty()) return;
    report_.tell(CheckpointBegun{0});
    std::vector<Cut> cuts;
    for (const ShardLayout& layout : planned_.layouts) cuts.push_back(initial_cut(job_, layout, planned_.updaters));
    report_.saved(0, store_->save(0, cuts));
  }

  void save_in_background(Step step, std::vector<Cut> cuts) {
    auto kept = std::make_shared<std::vector<Cut>>(std::move(cuts));
    auto prefix = std::make_shared<std::string>();
    auto phase = std::make_shared<Phase>(Phase{Phase::Kind::save, 0, step, {}, {}, false});
    if (store_) report_.tell(CheckpointBegun{step});
    beside(
        [this, step, kept, prefix, phase] {
          phase->begin = std::chrono::steady_clock::now();
          if (store_) *prefix = store_->save(step, *kept);
          phase->end = std::chrono::steady_clock::now();
        },
        [this, step, kept, prefix, phase] {
          if (const PhaseObserver measured = report_.phases_of("local"); store_ && measured) measured(*phase);
          kept->clear();  // on this thread, which takes blocks from the pool again
          if (!prefix->empty()) report_.saved(step, std::move(*prefix));
          if (const std::optional<Step> oldest = kept_.saved(step)) contributor_->let_go(*oldest);
          local_->cut_saved(step);
          heed_hooks();
        });
  }

  // As `LocalJob::in_background`. Without a pool, work with an object store has a thread of its own: it may wait for the
  // store, and meanwhile a signal must reach the job.
  void beside(std::function<void()> work, std::function<void()> done) {
    if (!saver_) return local_->in_background(std::move(work), std::move(done));
    ++beside_;
    asio::post(saver_->executor(), [this, work = std::move(work), done = std::move(done)]() mutable {
      std::exception_ptr failure;
      try {
        work();
      } catch (...) {
        failure = std::current_exception();
      }
      asio::post(local_->context(),
                 [this, failure = std::move(failure), work = std::move(work), done = std::move(done)]() mutable {
                   local_->in_background(
                       [this, failure = std::move(failure)] {
                         --beside_;
                         if (failure) std::rethrow_exception(failure);
                       },
                       std::move(done));
                 });
    });
  }

  void measure_in_background(Step step) {
    auto blocks = std::make_shared<std::vector<SharedBuffer>>(
        plan_.measures_averages() ? local_->averages(measured_.requests()) : local_->values(measured_.requests()));
    auto evaluated = std::make_shared<Evaluated>(Evaluated{step, {}});
    local_->in_background(
        [this, blocks, evaluated] {
          RuntimeValues values = whole(*blocks);
          evaluated->metrics = (*evaluation_)(values);
        },
        [this, blocks, evaluated] {
          blocks->clear();
          report_.evaluated(*evaluated);
          heed_hooks();
        });
  }

  // Returns the values in these blocks as whole variables, with the rows that the evaluation needs.
  [[nodiscard]] auto whole(const std::vector<SharedBuffer>& blocks) const -> RuntimeValues {
    RuntimeValues values{plan_.model().variables()};
    assemble(planned_.layouts, blocks, values);
    assemble_rows(job_, measured_, blocks, values);
    return values;
  }

  // Sets which rows are asked for together with values: those that the evaluation needs. `digests`: also the digests of
  // the tables.
  void ask(bool digests) { measured_.find({}, evaluation_ == nullptr ? KeyLists{} : evaluation_->keys(), digests); }

  void finish() {
    std::optional<RuntimeValues> averages;
    if (plan_.measures_averages()) averages = whole(local_->averages(measured_.requests()));
    ask(true);
    const std::vector<SharedBuffer> blocks = local_->values(measured_.requests());
    RuntimeValues values = whole(blocks);
    std::vector<TableDigest> digests;
    for (std::size_t table = 0; table < job_.tables.size(); ++table) digests.push_back(measured_.digest(blocks, table));
    report_.end(job_, values, digests, evaluation_.get(), averages ? *averages : values);
  }

  const TrainingPlan& plan_;
  IoPool* pool_;
  TrainingReport& report_;
  const ComputeOn compute_on_;
  const std::uint64_t nonce_ = load_le<std::uint64_t>(draw_nonce().data());  // of this process, in object stores
  Patience patience_;  // with object stores
  asio::io_context* context_ = nullptr;  // of the job, when there is one
  const std::unique_ptr<OpenModel> model_;
  PlannedJob planned_;
  const Job& job_ = planned_.job;
  const std::unique_ptr<const AnyEvaluation> evaluation_;
  BatchKeys measured_{job_, planned_.layouts};  // the rows that the evaluation needs
  WriterLocks locks_;
  std::optional<CheckpointStore> store_;
  KeptSteps kept_{plan_.save()};
  DataWait wait_;
  JobStart start_;
  StepExamples examples_{job_, 0};
  std::unique_ptr<AnyContributor> contributor_;
  GradientNorms norms_;
  Metrics validated_;  // since the last event
  float made_ = 0;  // the loss of the newest contribution
  std::chrono::steady_clock::time_point begun_{};
  bool stopping_ = false;
  std::unique_ptr<LocalJob> local_;
  std::optional<IoPool> saver_;  // ends before the job
  int beside_ = 0;  // what `saver_` has not done yet
  std::optional<Signals> signals_;
};

}  // namespace detail

DISTRIB_DECL auto make_local_run(const TrainingPlan& plan, IoPool* pool, TrainingReport& report, ComputeOn compute_on)
    -> std::unique_ptr<TrainingRun> {
  return std::make_unique<detail::LocalRun>(plan, pool, report, compute_on);
}

}  // namespace v0
}  // namespace distrib

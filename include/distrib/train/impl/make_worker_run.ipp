// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/make_worker_run.hpp>

#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>
#include <distrib/cluster/roles.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/net/page_server.hpp>
#include <distrib/net/page_thread.hpp>
#include <distrib/net/signals.hpp>
#include <distrib/ps/cut/cut_tensors.hpp>
#include <distrib/ps/cut/finished_job.hpp>
#include <distrib/ps/cut/object_access.hpp>
#include <distrib/ps/cut/object_checkpoints.hpp>
#include <distrib/ps/cut/patience.hpp>
#include <distrib/ps/job/client_rules.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/exit_code.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/phase.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/store/key_lists.hpp>
#include <distrib/ps/store/pull_rows.hpp>
#include <distrib/ps/store/shard_store.hpp>
#include <distrib/ps/store/wire_block.hpp>
#include <distrib/ps/wire/shard_status.hpp>
#include <distrib/ps/worker/ask_status.hpp>
#include <distrib/ps/worker/worker_meter.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/tensor/runtime_values.hpp>
#include <distrib/train/any_model.hpp>
#include <distrib/train/checkpoint_store.hpp>
#include <distrib/train/checkpoint_values.hpp>
#include <distrib/train/cluster_mode.hpp>
#include <distrib/train/error.hpp>
#include <distrib/train/job/assemble.hpp>
#include <distrib/train/job/cluster_job.hpp>
#include <distrib/train/job/data_wait.hpp>
#include <distrib/train/job/make_cluster_job.hpp>
#include <distrib/train/job/make_ranks_job.hpp>
#include <distrib/train/job/step_examples.hpp>
#include <distrib/train/job/training_run.hpp>
#include <distrib/train/kept_steps.hpp>
#include <distrib/train/metrics.hpp>
#include <distrib/train/named_values.hpp>
#include <distrib/train/writer_locks.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// The implementation: everything on the owner's thread, except measuring.
class WorkerRun final : public TrainingRun {
 public:
  WorkerRun(const TrainingPlan& plan, IoPool& pool, const ClusterFlags& flags, TrainingReport& report,
            std::optional<std::chrono::milliseconds> ready_within)
      : plan_{plan},
        pool_{pool},
        flags_{flags},
        report_{report},
        model_{plan_.model().open()},
        planned_{plan_job()},
        contributor_{model_->contributor(job_, planned_.layouts)},
        start_{report_.begin(job_, model_->batch_size(), job_.tasks)} {
    if (is_dealt_ && ready_within) throw_error(train_errc::cannot_deal, "--ranks: a session");
    if (chief_ && plan_.validates()) contributor_->validate();
    // Signals are handled between local steps, because a round may be longer than the time before SIGKILL.
    contributor_->ask_between([this] {
      running_->context().poll();
      return !stopping_;
    });
    if (chief_) locks_.hold_chief(plan_, task_);
    if (const std::string uneven = chief_ ? uneven_shards(planned_.layouts) : std::string{}; !uneven.empty())
      report_.tell(Event{Event::Kind::uneven_shards, task_, {}, {}, uneven});
    if (chief_ && !plan_.by_evaluator()) evaluation_ = plan_.model().open_evaluation();
    if (plan_.options().cluster.worker_metrics) show_metrics(*plan_.options().cluster.worker_metrics);
    // Until the first step is known: after a late start the job may be done already.
    start_.first_step = job_.total_steps;
    check_certificate();
    if (ready_within && !chief_ && !wait_for_chief(*ready_within)) return;
    if (!wait_for_step()) return;
    running_ = is_dealt_ ? make_ranks_job(job_, {index_, chief_, plan_.options().cluster.sum_ranks}, addresses(),
                                          options(), cuts_, ranks_callbacks())
                         : make_cluster_job(job_, rank_, addresses(), options(), cuts_, callbacks());
    signals_.emplace(running_->context(), [this] { stop_job("asked to stop", {}); });
    if (ready_within) limit_start(*ready_within);
  }
  WorkerRun(const WorkerRun&) = delete;
  auto operator=(const WorkerRun&) -> WorkerRun& = delete;
  ~WorkerRun() override { wait_for_measures(); }  // also after an exception: measurements use this object

  [[nodiscard]] auto next() -> bool override { return running_ != nullptr && running_->next(); }
  auto make() -> float override {
    try {
      running_->make();
    } catch (const RoundLeft&) {  // asked to stop: another process makes the contribution
      running_->abandon();
    }
    return loss_;
  }
  void stop(const std::string& reason) override { stop_job("asked to stop by the program, " + reason, reason); }
  [[nodiscard]] auto stopping() const noexcept -> bool override { return stopping_; }
  void abandon() override { running_->abandon(); }

  [[nodiscard]] auto end() -> int override {
    if (running_ == nullptr) return exit_code::again;  // a signal ended the wait before the start
    WorkerEnd end = running_->end();
    signals_.reset();
    limit_.reset();
    const auto spent = std::chrono::steady_clock::now() - begun_;
    wait_for_measures();
    running_.reset();
    if (end.code == exit_code::again && end.why) end = look_for_result(std::move(end));
    if (end.code == exit_code::refused) throw_if(end.why);
    if (end.why)
      report_.tell(
          Event{Event::Kind::ended, task_, end.why.where, end.why.code, end.why.where + ": " + end.why.code.message()});
    if (end.code == exit_code::done) report_.reached(job_.total_steps);
    const bool came_on = report_.result().steps >= start_.first_step;
    if (came_on) report_.took(job_, start_, spent, examples_.between(start_.first_step, report_.result().steps));
    if (chief_ && end.code == exit_code::done) finish(end.result);
    else if (chief_ && came_on) report_.end();
    return end.code;
  }

 private:
  [[nodiscard]] auto plan_job() const -> PlannedJob {
    const auto tasks = static_cast<std::uint32_t>(flags_.ps_hosts.size());
    const std::size_t budget = plan_.options().cluster.replay_budget_bytes;
    if (is_dealt_) return plan_.dealt_job(*model_, tasks, flags_.ranks, budget);
    if (plan_.options().most_ranks != 0)
      throw_error(train_errc::cannot_change_ranks, "with_most_ranks(" + std::to_string(plan_.options().most_ranks) +
                                                       "): each worker is one rank: start all tasks with --ranks");
    return plan_.cluster_job(*model_, tasks, static_cast<std::uint32_t>(rank_count(cluster_)), budget);
  }

  // Fails at once if the parameter servers cannot accept the certificate of this task.
  void check_certificate() const {
    Error error;
    if (const auto& tls = plan_.options().cluster.tls) tls->check({}, client_rules(cluster_), error);
    throw_if(error);
  }

  [[nodiscard]] auto addresses() const -> std::vector<Address> {
    std::vector<Address> servers;
    for (const std::string& host : flags_.ps_hosts) servers.push_back(Address::parse(host));
    return servers;
  }

  [[nodiscard]] auto options() -> WorkerClientOptions {
    const ClusterMode& mode = plan_.options().cluster;
    WorkerClientOptions options;
    options.rpc.secret = mode.secret;
    options.rpc.transport = mode.tls;
    options.accepted = std::make_shared<const ClientRules>(client_rules(cluster_));
    options.start_within = mode.start_within;
    // The job is done: this worker only says goodbye to servers that still wait for it.
    if (is_done()) options.start_within = std::min(options.start_within, options.goodbye_within);
    options.lost_after = bounded_time(mode.lease) + bounded_time(mode.restart_window);
    options.worker.replay_budget_bytes = mode.replay_budget_bytes / (is_dealt_ ? job_.rank_names() : 1);
    options.worker.initial_values = std::move(planned_.initial_values);
    options.worker.wants_result = chief_;
    if (meter_) options.replay_changed = [this](std::int64_t change) { meter_->replay_changed(change); };
    return options;
  }

  auto callbacks() -> ClusterJobCallbacks {
    return {
        .contribute = [this](Step step, auto values,
                             auto gradients) { return contribute(rank_, step, values, gradients); },
        .prepare = [this](Step step) { return contributor_->prepare(rank_, step, measured_before(step)); },
        .ready = model_->waits() ? std::function<bool(Step)>{[this](Step step) { return is_ready(step); }} : nullptr,
        .started = [this](Step first) { started(first); },
        .step_done = [this](Step step, float loss, const auto& values) { step_done(step, loss, values); },
        .saved = [this](Step step) { saved(step); },
        .told = [this](const Event& event) { told(event); },
        .measured = measured()};
  }

  auto ranks_callbacks() -> RanksJobCallbacks {
    return {.contribute = [this](Rank rank, Step step, auto values,
                                 auto gradients) { return contribute(rank, step, values, gradients); },
            .prepare = [this](Rank rank, Step step) { contributor_->prepare(rank, step, none_); },
            .numbered =
                [this](Rank rank, Step step, const RankEntry& entry, std::uint64_t number) {
                  contributor_->set_number(rank, step, entry, number);
                  if (rank == 0) examples_.told(step, entry);
                },
            .started = [this](Step first) { started(first); },
            .step_done = [this](Step step, float loss, const auto& values) { step_done(step, loss, values); },
            .saved = [this](Step step) { saved(step); },
            .told = [this](const Event& event) { told(event); },
            .measured = measured(),
            .serves =
                [this](std::size_t ranks) {
                  if (meter_) meter_->serves(ranks);
                }};
  }

  auto is_ready(Step step) -> bool {
    const bool ready = contributor_->is_ready(rank_, step);
    if (wait_.is_worth_telling(step, ready)) report_.tell(wait_.event(task_));
    return ready;
  }

  void told(const Event& event) {
    if (meter_) meter_->told(event);
    report_.tell(event);
  }

  [[nodiscard]] auto measured() -> PhaseObserver {
    PhaseObserver hooks = report_.phases_of(task_);
    if (!meter_) return hooks;
    return [this, hooks = std::move(hooks)](const Phase& phase) {
      meter_->spent(phase);
      if (hooks) hooks(phase);
    };
  }

  void show_metrics(const Address& address) {
    const ClusterMode& mode = plan_.options().cluster;
    meter_.emplace(index_, !is_dealt_, model_->batch_size() * job_.batches_per_contribution(), job_.total_steps);
    ClientRules rules = client_rules(cluster_);
    rules.needs_certificate = mode.metrics_need_certificate;
    std::vector<PageServer::Served> pages;
    pages.push_back({{"/metrics", std::string{metrics_content_type}},
                     [this](const PageServer::Show& show) { show(meter_->text()); }});
    page_.emplace(address, std::move(pages), page_listening(mode.tls, std::move(rules)));
  }

  // Waits until the job has done the steps that `GlobalStepWaiter` names. Returns false if a signal asks to stop.
  auto wait_for_step() -> bool {
    const GlobalStepWaiter& wait = plan_.wait();
    if (wait.may_begin(0)) return true;
    return wait_until([&wait](const ShardStatus& status) { return wait.may_begin(status.step); }, Instant::max());
  }

  // Waits until the chief has joined or the job has done a step: then the variables have their values. Returns false if
  // a signal asks to stop.
  auto wait_for_chief(std::chrono::milliseconds within) -> bool {
    return wait_until(
        [](const ShardStatus& status) {
          return status.step > 0 || (!status.of_ranks.empty() && status.of_ranks.front().here);
        },
        instant_after(std::chrono::steady_clock::now(), within));
  }

  // Asks the first shard for its status until `is_enough` holds, or no server can be reached for as long as a worker
  // tries to reach one at its start. Returns false if a signal asks to stop. Throws `train_errc::not_ready` at
  // `deadline`.
  auto wait_until(const std::function<bool(const ShardStatus&)>& is_enough, Instant deadline) -> bool {
    asio::io_context here{1};
    SteadyTimer pause{here};
    bool stopped = false;
    const Signals signals{here, [&] {
                            stopped = true;
                            here.stop();
                          }};
    const auto limit = bounded_time(plan_.options().cluster.start_within);
    auto answered = std::chrono::steady_clock::now();
    const AskOptions how{.within = GlobalStepWaiter::poll_every,
                         .secret = plan_.options().cluster.secret,
                         .tls = plan_.options().cluster.tls};
    const std::function<void()> poll = [&] {
      Error error;
      const ShardStatus status = ask_shard(addresses().front(), 0, how, error);
      const auto now = std::chrono::steady_clock::now();
      if (!error) answered = now;
      if ((!error && is_enough(status)) || now - answered >= limit) return here.stop();
      if (now >= deadline) throw_error(train_errc::not_ready, task_ + ": the chief has not joined");
      pause.expires_at(std::min(deadline, now + GlobalStepWaiter::poll_every));
      pause.async_wait([&](const std::error_code& ec) {
        if (!ec) poll();
      });
    };
    asio::post(here, poll);
    here.run();
    return !stopped;
  }

  auto contribute(Rank rank, Step step, std::span<const SharedBuffer> values,
                  std::span<const std::shared_ptr<AlignedBuffer>> gradients) -> float {
    const float loss = loss_ = (*contributor_)(rank, made_ = step, values, gradients);
    if (chief_ && plan_.validates()) validated_.merge(contributor_->validated(rank));
    if (meter_) {
      meter_->contributed(rank, step, loss);
      meter_->has_read(contributor_->reading());
    }
    const NamedValues named{plan_.model().variables(), planned_.layouts, values};
    report_.tell(ContributionMade{step, rank, loss, &named, true});
    heed_hooks();
    return loss;
  }

  // The first `next` throws if this worker has not begun by then.
  void limit_start(std::chrono::milliseconds within) {
    limit_.emplace(running_->context());
    limit_->expires_at(instant_after(std::chrono::steady_clock::now(), within));
    limit_->async_wait([this](const std::error_code& ec) {
      if (!ec) throw_error(train_errc::not_ready, task_ + ": no values from the parameter servers");
    });
  }

  // `asked`: how the event begins. `reason`: that of a hook or of the program; empty: a signal asks to stop.
  void stop_job(const std::string& asked, const std::string& reason) {
    if (std::exchange(stopping_, true)) return;
    report_.stopped_by(reason);
    const std::string last =
        job_.local_steps == 0 ? ": finishing the step in flight" : ": leaving after the local step";
    report_.tell(Event{Event::Kind::interrupted, task_, {}, {}, asked + last});
    running_->stop();
  }

  // Does what a hook has asked for.
  void heed_hooks() {
    const std::string reason = report_.stop_reason();
    if (!reason.empty() && report_.result().steps < job_.total_steps)
      stop_job("asked to stop by a hook, " + reason, reason);
  }

  // Returns the keys whose rows are pulled together with the values for contribution `step`, to measure these values:
  // the keys of the evaluation every `every_steps` steps and at the end, otherwise none.
  [[nodiscard]] auto measured_before(Step step) const -> const KeyLists& {
    if (evaluation_ == nullptr || plan_.measures_averages()) return none_;
    const std::uint64_t ranks = job_.consistency.is_synchronous() ? 1 : job_.ranks;  // global steps per contribution
    const bool due = step > 1 && plan_.is_measured_between((step - 2) * ranks, (step - 1) * ranks);
    return step > last_ || due ? evaluation_->keys() : none_;
  }

  void started(Step first) {
    is_started_ = true;
    limit_.reset();
    start_.first_step = told_ = measured_to_ = first;
    report_.reached(first);
    if (meter_) meter_->reached(first);
    begun_ = std::chrono::steady_clock::now();
    contributor_->continue_after(first);
    if (!chief_) return;
    report_.tell(start_);
    heed_hooks();
  }

  void step_done(Step step, float loss, const std::vector<SharedBuffer>& values) {
    report_.reached(step, loss);
    if (meter_) meter_->reached(step);
    const Step before = std::exchange(told_, step);
    if (!chief_) return;
    report_.tell(StepDone{step, loss, examples_.between(before, step), contributor_->gradient_norm(rank_)});
    heed_hooks();
    if (plan_.is_validated_between(before, step))
      report_.tell(ValidatedProgressively{step, std::exchange(validated_, {})});
    if (evaluation_ == nullptr || plan_.measures_averages() || step >= job_.total_steps) return;
    const bool has_tables = !job_.tables.empty();
    if (!has_tables && !plan_.is_measured_between(before, step)) return;
    if (has_tables && measured_before(made_).empty()) return;
    auto whole = std::make_shared<RuntimeValues>(plan_.model().variables());
    if (has_tables && !contributor_->take_others(rank_, made_, values, *whole)) return;
    // `whole` has the rows that the evaluation needs.
    measure_in_background(step, [this, values, whole] {
      assemble(planned_.layouts, values, *whole);
      return std::optional{(*evaluation_)(*whole)};
    });
  }

  // Measures on one thread of the pool, so that the results come in order; passes them to the hooks on the thread of
  // `run()`. If `measure` returns nothing, there is nothing to pass.
  void measure_in_background(Step step, std::function<std::optional<Metrics>()> measure) {
    ++measures_;
    asio::post(pool_.executor(0), [this, step, measure = std::move(measure)] {
      std::optional<Metrics> metrics;
      std::exception_ptr failure;
      try {
        metrics = measure();
      } catch (...) {
        failure = std::current_exception();
      }
      asio::post(running_->context(), [this, step, metrics = std::move(metrics), failure = std::move(failure)] {
        if (failure) std::rethrow_exception(failure);
        if (!metrics) return;
        report_.evaluated({step, *metrics});
        heed_hooks();
      });
      --measures_;
      measures_.notify_all();
    });
  }
  void wait_for_measures() {
    for (int left = measures_; left != 0; left = measures_) measures_.wait(left);
  }

  void saved(Step step) {
    if (!chief_ || !plan_.save() || step == 0 || !cuts_.is_users(step, job_.total_steps)) return;
    const std::string prefix = prefix_of(step);
    report_.saved(step, prefix);
    if (const std::optional<Step> oldest = kept_.saved(step)) contributor_->let_go(*oldest);
    heed_hooks();
    if (evaluation_ == nullptr || !plan_.measures_averages() || step >= job_.total_steps) return;
    if (plan_.is_measured_between(std::exchange(measured_to_, step), step))
      measure_in_background(step, [this, prefix] { return measured_averages(prefix); });
  }

  [[nodiscard]] auto prefix_of(Step step) const -> std::string {
    return plan_.save()->directory + "/model.ckpt-" + std::to_string(step);
  }

  // Returns what the averages in a checkpoint measure; nothing if the checkpoint has been removed meanwhile.
  [[nodiscard]] auto measured_averages(const std::string& prefix) const -> std::optional<Metrics> {
    try {
      RuntimeValues averages = checkpoint_values(plan_, evaluation_->keys(), prefix);
      return (*evaluation_)(averages);
    } catch (const std::system_error& error) {
      const bool is_gone = is_url(prefix) ? error.code() == checkpoint_errc::no_such_checkpoint
                                          : !std::filesystem::exists(index_file_name(prefix));
      if (!is_gone) throw;
      return std::nullopt;
    }
  }

  // True if there is a checkpoint of the last step.
  [[nodiscard]] auto is_done() const -> bool {
    const std::string prefix = plan_.save() ? finished() : std::string{};
    return !prefix.empty() && checkpoint_step(prefix) == static_cast<std::int64_t>(job_.total_steps);
  }

  // Returns the prefix of the checkpoint of the last step; empty: there is none.
  [[nodiscard]] auto finished() const -> std::string {
    return finished_checkpoint(plan_.save()->directory, plan_.options().object_stores);
  }

  // As `finished`; waits for a store that does not answer, and says so.
  [[nodiscard]] auto finished_at_last() -> std::string {
    constexpr std::chrono::seconds within{60};
    const std::string& directory = plan_.save()->directory;
    const auto deadline = std::chrono::steady_clock::now() + within;
    Patience pause;
    Error unread;
    std::string found = finished_checkpoint(directory, plan_.options().object_stores, unread);
    if (!may_pass(unread.code)) return found;
    const auto tell = [&](const std::string& what) {
      report_.tell(Event{Event::Kind::waiting, task_, directory, unread.code,
                         "the object store of the checkpoints does not answer, " + what + ": " + unread.where + ": " +
                             unread.code.message()});
    };
    tell("waiting");
    while (may_pass(unread.code) && std::chrono::steady_clock::now() < deadline && pause.wait(std::chrono::seconds{1}))
      found = finished_checkpoint(directory, plan_.options().object_stores, unread);
    if (may_pass(unread.code)) tell("the result does not name the last checkpoint, " + prefix_of(job_.total_steps));
    return found;
  }

  // Returns the cuts of all shards from the newest checkpoint.
  [[nodiscard]] auto restored() const -> std::vector<Cut> {
    const SaveCheckpoint& save = *plan_.save();
    if (!is_url(save.directory)) return CheckpointStore{save, job_, planned_.updaters}.restore().cuts;
    Error error;
    const std::string prefix = newest_prefix(save.directory, plan_.options().object_stores, error);
    throw_if(error);
    const auto reader = open_checkpoint(prefix, plan_.options().object_stores, error);
    throw_if(error);
    std::vector<Cut> cuts;
    for (std::uint32_t shard = 0; shard < job_.shards(); ++shard)
      cuts.push_back(CutTensors{job_, shard, planned_.updaters}.read(*reader));
    return cuts;
  }

  // After a late start there may be no server left, because the other workers have finished the job: then takes the
  // result from the last checkpoint.
  auto look_for_result(WorkerEnd end) -> WorkerEnd {
    contributor_->prepare(rank_, last_ + 1, measured_before(last_ + 1));
    if (!is_done()) return end;
    const std::span<const PullRows> rows = contributor_->requests(rank_, last_ + 1);
    WorkerEnd done;
    const std::vector<Cut> cuts = restored();
    for (std::uint32_t shard = 0; shard < cuts.size(); ++shard) {
      if (job_.tables.empty()) {
        done.result.push_back(wire_block(planned_.layouts[shard], cuts[shard].values));
      } else {
        ShardStore store{job_, shard, planned_.updaters, std::numeric_limits<std::uint64_t>::max()};
        store.load(cuts[shard]);
        done.result.push_back(store.values(rows[shard]));
      }
    }
    if (!is_started_) started(job_.total_steps);
    return done;
  }

  // Reports the end of a job that is done, at the chief. `blocks`: the final values.
  void finish(const std::vector<SharedBuffer>& blocks) {
    if (plan_.save()) report_.has_checkpoint(finished_at_last());
    RuntimeValues whole{plan_.model().variables()};
    assemble(planned_.layouts, blocks, whole);
    contributor_->take_others(rank_, last_ + 1, blocks, whole);
    std::optional<RuntimeValues> averages;
    if (plan_.measures_averages()) {
      const std::string& last = report_.result().checkpoint;
      // Without a last checkpoint: an error, which names the file.
      averages = checkpoint_values(plan_, evaluation_->keys(), last.empty() ? prefix_of(job_.total_steps) : last);
    }
    report_.end(job_, whole, contributor_->digests(rank_, last_ + 1, blocks), evaluation_.get(),
                averages ? *averages : whole);
  }

  const TrainingPlan& plan_;
  IoPool& pool_;
  const ClusterFlags& flags_;
  TrainingReport& report_;
  const std::string task_ = to_string(flags_.task());
  const ClusterSpec cluster_ = flags_.cluster();
  const bool is_dealt_ = flags_.ranks != 0;
  const std::uint32_t index_ = id_in_cluster(cluster_, flags_.task());
  const Rank rank_ = is_dealt_ ? 0 : index_;  // with dealt ranks: the one that the chief serves
  const bool chief_ = is_chief(cluster_, flags_.task());
  const std::unique_ptr<OpenModel> model_;
  PlannedJob planned_;
  const Job& job_ = planned_.job;
  const Step last_ = job_.steps_of(rank_);  // the last step of this worker
  const CutSettings cuts_ = plan_.cut_settings();
  const KeyLists none_;
  const std::unique_ptr<AnyContributor> contributor_;
  WriterLocks locks_;  // held by the chief only
  KeptSteps kept_{plan_.save()};
  DataWait wait_;
  std::unique_ptr<const AnyEvaluation> evaluation_;  // null if this is not the chief, or without Evaluate
  JobStart start_;
  StepExamples examples_{job_, start_.examples_per_step};
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  bool is_started_ = false;
  bool stopping_ = false;
  Step made_ = 0;  // step of the newest contribution: `step_done` gets the values that it was computed from
  Step told_ = 0;  // the newest step that was passed to `step_done`
  Step measured_to_ = 0;  // the newest checkpoint of this run; with averages: it is measured if it is due
  Metrics validated_;  // since the last event
  float loss_ = 0;  // of the newest contribution
  std::atomic<int> measures_ = 0;
  std::optional<WorkerMeter> meter_;  // empty: no metrics
  std::optional<PageThread> page_;
  std::unique_ptr<ClusterJob> running_;  // null: a signal ended the wait before the start
  std::optional<Signals> signals_;
  std::optional<SteadyTimer> limit_;
};

}  // namespace detail

DISTRIB_DECL auto make_worker_run(const TrainingPlan& plan, IoPool& pool, const ClusterFlags& flags,
                                  TrainingReport& report, std::optional<std::chrono::milliseconds> ready_within)
    -> std::unique_ptr<TrainingRun> {
  return std::make_unique<detail::WorkerRun>(plan, pool, flags, report, ready_within);
}

}  // namespace v0
}  // namespace distrib

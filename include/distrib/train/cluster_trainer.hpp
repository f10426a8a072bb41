// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/cluster/roles.hpp>
#include <distrib/core/event.hpp>
#include <distrib/core/files.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/net/signals.hpp>
#include <distrib/ps/cut/finished_job.hpp>
#include <distrib/ps/job/cut_interval.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/exit_code.hpp>
#include <distrib/ps/server/server.hpp>
#include <distrib/ps/store/key_lists.hpp>
#include <distrib/ps/store/pull_rows.hpp>
#include <distrib/ps/store/shard_store.hpp>
#include <distrib/ps/store/wire_block.hpp>
#include <distrib/train/assemble.hpp>
#include <distrib/train/checkpoint_store.hpp>
#include <distrib/train/cluster_job.hpp>
#include <distrib/train/cluster_mode.hpp>
#include <distrib/train/initial_values.hpp>
#include <distrib/train/make_cluster_job.hpp>
#include <distrib/train/trainer.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <limits>
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

/// Trains what a recipe says, in the role that the flags give: a parameter server, a worker, or, without a job name, all
/// of them in this one process. Made by `train(model)....build(pool, flags)`.
///
/// The chief (worker 0 where there is none) evaluates and tells hooks everything; the hooks of all other tasks hear
/// `on_event` only. Threads: one at a time; `run()` blocks its thread and handles SIGINT and SIGTERM meanwhile.
template <Model M, Dataset D> class ClusterTrainer : public Trainer<M, D> {
  using Base = Trainer<M, D>;
  using Whole = Values<typename M::Variables>;

 public:
  /// See `Trainer`. Throws `train_errc::no_evaluator` when that is what the flags say.
  template <class R>
  ClusterTrainer(const R& recipe, IoPool& pool, ClusterFlags flags)
      : Base{recipe, &pool}, flags_{std::move(flags)}, mode_{recipe.options.cluster} {
    if (flags_.job_name == "evaluator") throw_error(train_errc::no_evaluator, to_string(flags_.task()));
  }

  /// As `Trainer::run` in one process. In a cluster the protocol's exit code: 0 the job is done; 1 this task was asked
  /// to stop, or nobody came: start it again; 70 somebody is lost for good, and `on_event` has told whom; 74 a cut could
  /// not be written. Throws `std::system_error` that says what and where, for what another start will not mend.
  [[nodiscard]] auto run() -> int {
    if (flags_.local()) return Base::run();
    return flags_.job_name == "ps" ? serve() : work();
  }

 private:
  // --- a parameter server ---

  auto serve() -> int {
    asio::io_context here{1};  // hooks are called on this thread
    ServerOptions options;
    if (this->save_) options.directory = detail::absolute_path(this->save_->directory);
    options.shard.lease = mode_.lease;
    options.shard.restart_window = mode_.restart_window;
    options.metrics = mode_.metrics;
    options.rpc.secret = mode_.secret;
    options.observer = [this, &here](const Event& event) {
      asio::post(here, [this, event] { this->hooks_.tell(event); });
    };
    Server server{*this->pool_,      flags_.cluster(), flags_.job_name,
                  flags_.task_index, this->updaters(), std::move(options)};
    const int code = server.join(here);
    if (code == exit_code::refused) throw_if(server.why());
    tell_end(server.why());
    return code;
  }

  // --- a worker ---

  auto work() -> int { return Worker{*this}.run(); }

  /// One run of it, all on the thread of `run()` but for what is measured.
  class Worker {
    using Source = std::remove_cvref_t<decltype(std::declval<D&>().open())>;

   public:
    explicit Worker(ClusterTrainer& trainer)
        : trainer_{trainer},
          source_{trainer.data_.open()},
          job_{make_job()},
          initial_{make_initial_values(trainer.model_, job_)},
          layouts_{shard_layouts(job_)},
          contributor_{trainer.model_, source_, job_, layouts_},
          start_{trainer.begin(job_, source_)} {
      if (chief_ && trainer.open_evaluation_) measure_ = trainer.open_evaluation_(trainer.model_);
      start_.first_step = job_.total_steps;  // until it is known: who starts late may find that all is done
      trainer.result_.ps = job_.tasks;
    }
    Worker(const Worker&) = delete;
    ~Worker() { wait_for_measures(); }  // whatever was thrown

    auto run() -> int {
      running_ = make_cluster_job(job_, rank_, addresses(), options(), cuts(), callbacks());
      WorkerEnd end = run_job();
      const auto spent = std::chrono::steady_clock::now() - begun_;
      wait_for_measures();
      running_.reset();
      if (end.code == exit_code::again && end.why) end = look_for_result(std::move(end));
      if (end.code == exit_code::refused) throw_if(end.why);
      trainer_.tell_end(end.why);
      if (end.code == exit_code::done) trainer_.result_.steps = job_.total_steps;
      const bool came_on = trainer_.result_.steps >= start_.first_step;
      if (came_on) trainer_.sum_up(job_, start_, trainer_.result_.steps, spent);
      if (chief_ && end.code == exit_code::done) finish(end.result);
      else if (chief_ && came_on) trainer_.hooks_.tell(JobEnd{trainer_.result_});
      return end.code;
    }

   private:
    auto make_job() const -> Job {
      Job job =
          trainer_.make_job(source_, static_cast<std::uint32_t>(trainer_.flags_.ps_hosts.size()),
                            static_cast<std::uint32_t>(worker_count(cluster_, "worker")), trainer_.options_.replicas);
      const std::uint64_t every = trainer_.save_ ? trainer_.save_->every_steps : 0;
      job.cut_interval = cut_interval(job, every, trainer_.mode_.replay_budget_bytes);
      return job;
    }

    [[nodiscard]] auto addresses() const -> std::vector<Address> {
      std::vector<Address> servers;
      for (const std::string& host : trainer_.flags_.ps_hosts) servers.push_back(Address::parse(host));
      return servers;
    }

    [[nodiscard]] auto options() -> WorkerClientOptions {
      const ClusterMode& mode = trainer_.mode_;
      WorkerClientOptions options;
      options.rpc.secret = mode.secret;
      options.start_within = mode.start_within;
      // All that is left is to say goodbye, to whoever waits for it.
      if (is_done()) options.start_within = std::min(options.start_within, options.goodbye_within);
      options.lost_after = mode.lease + mode.restart_window;
      options.worker.replay_budget_bytes = mode.replay_budget_bytes;
      options.worker.initial_values = std::move(initial_);
      options.worker.wants_result = chief_;
      return options;
    }

    [[nodiscard]] auto cuts() const -> CutSettings {
      const auto& save = trainer_.save_;
      if (!save) return {};
      return {detail::absolute_path(save->directory), save->every_steps, save->retention()};
    }

    auto callbacks() -> ClusterJobCallbacks {
      return {.contribute = [this](Step step, auto values,
                                   auto gradients) { return contributor_(rank_, made_ = step, values, gradients); },
              .prepare = [this](Step step) { return prepare(step); },
              .started = [this](Step first) { started(first); },
              .step_done = [this](Step step, float loss, const auto& values) { step_done(step, loss, values); },
              .saved = [this](Step step) { saved(step); },
              .told = [this](const Event& event) { trainer_.hooks_.tell(event); }};
    }

    auto run_job() -> WorkerEnd {
      const Signals signals{running_->context(), [this] {
                              trainer_.hooks_.tell(Event{Event::Kind::interrupted,
                                                         to_string(trainer_.flags_.task()),
                                                         {},
                                                         {},
                                                         "asked to stop: finishing the step in flight"});
                              running_->stop();
                            }};
      return running_->run();
    }

    // Rows that the evaluation needs come with the values that it measures.
    auto prepare(Step step) -> std::vector<WantedRows> {
      const KeyLists none;
      const KeyLists& others = is_measured_before(step) ? measure_.keys : none;
      if (step <= last_) return contributor_.prepare(rank_, step, others);
      if (step == last_ + 1) return contributor_.prepare_end(rank_, step, others);
      return {};
    }

    // Whether the values that the contribution `step` is made of are measured: every so many contributions of all, and
    // at the end.
    [[nodiscard]] auto is_measured_before(Step step) const -> bool {
      if (step > last_) return true;
      const std::uint64_t every = trainer_.evaluate_every_;
      const std::uint64_t ranks = job_.consistency.is_synchronous() ? 1 : job_.ranks;  // that make a step
      return every != 0 && step > 1 && (step - 1) * ranks / every != (step - 2) * ranks / every;
    }

    void started(Step first) {
      is_started_ = true;
      start_.first_step = trainer_.result_.steps = told_ = first;
      begun_ = std::chrono::steady_clock::now();
      if (chief_) trainer_.hooks_.tell(start_);
    }

    void step_done(Step step, float loss, const std::vector<SharedBuffer>& values) {
      trainer_.result_.loss = loss;
      trainer_.result_.steps = step;
      const Step before = std::exchange(told_, step);
      if (!chief_) return;
      trainer_.hooks_.tell(StepDone{step, loss, (step - before) * start_.examples_per_step});
      const std::uint64_t every = trainer_.evaluate_every_;
      if (!measure_.of || every == 0 || step >= job_.total_steps) return;
      auto whole = std::make_shared<Whole>(job_.variables);
      const bool due = measure_.keys.empty() ? step / every != before / every
                                             : contributor_.take_others(rank_, made_, values, *whole);
      if (due) measure_in_background(step, values, std::move(whole));
    }

    // On one thread of the pool, so that they come in order; what came of it is told on the thread of `run()`.
    // `whole` has the rows that are needed.
    void measure_in_background(Step step, const std::vector<SharedBuffer>& blocks, std::shared_ptr<Whole> whole) {
      ++measures_;
      asio::post(trainer_.pool_->executor(0), [this, step, blocks, whole = std::move(whole)] {
        Evaluated evaluated{step, {}};
        std::exception_ptr failure;
        try {
          assemble(layouts_, blocks, *whole);
          evaluated.metrics = measure_.of(*whole);
        } catch (...) {
          failure = std::current_exception();
        }
        asio::post(running_->context(), [this, evaluated = std::move(evaluated), failure = std::move(failure)] {
          if (failure) std::rethrow_exception(failure);
          trainer_.result_.metrics = evaluated.metrics;
          trainer_.hooks_.tell(evaluated);
        });
        --measures_;
        measures_.notify_all();
      });
    }
    void wait_for_measures() {
      for (int left = measures_; left != 0; left = measures_) measures_.wait(left);
    }

    void saved(Step step) {
      const auto& save = trainer_.save_;
      if (!chief_ || !save || step == 0) return;
      if (step != job_.total_steps && (save->every_steps == 0 || step % save->every_steps != 0)) return;
      trainer_.result_.checkpoint = save->directory + "/model.ckpt-" + std::to_string(step);
      trainer_.hooks_.tell(CheckpointSaved{step, trainer_.result_.checkpoint});
    }

    // Whether there is a checkpoint of the last step.
    [[nodiscard]] auto is_done() const -> bool {
      const std::string prefix = trainer_.save_ ? finished_checkpoint(trainer_.save_->directory) : std::string{};
      return !prefix.empty() && checkpoint_step(prefix) == static_cast<std::int64_t>(job_.total_steps);
    }

    // A worker that starts late finds nobody any more: the job may have been done without it.
    auto look_for_result(WorkerEnd end) -> WorkerEnd {
      contributor_.prepare_end(rank_, last_ + 1, measure_.keys);
      if (!is_done()) return end;
      const std::vector<AnyUpdater>& updaters = trainer_.kind_.updaters;
      const std::span<const PullRows> rows = contributor_.requests(rank_, last_ + 1);
      WorkerEnd done;
      const RestoredCuts restored = CheckpointStore{*trainer_.save_, job_, updaters}.restore();
      for (std::uint32_t shard = 0; shard < restored.cuts.size(); ++shard) {
        if constexpr (M::Variables::tables == 0) {
          done.result.push_back(wire_block(layouts_[shard], restored.cuts[shard].values));
        } else {
          ShardStore store{job_, shard, updaters, std::numeric_limits<std::uint64_t>::max()};
          store.load(restored.cuts[shard]);
          done.result.push_back(store.values(rows[shard]));
        }
      }
      if (!is_started_) started(job_.total_steps);
      return done;
    }

    // The chief's last words. `blocks`: the values at the end.
    void finish(const std::vector<SharedBuffer>& blocks) {
      if (trainer_.save_) trainer_.result_.checkpoint = finished_checkpoint(trainer_.save_->directory);
      Whole whole{job_.variables};
      assemble(layouts_, blocks, whole);
      contributor_.take_others(rank_, last_ + 1, blocks, whole);
      trainer_.finish(job_, whole, contributor_.digests(rank_, last_ + 1, blocks), measure_);
    }

    ClusterTrainer& trainer_;
    const ClusterSpec cluster_ = trainer_.flags_.cluster();
    const Rank rank_ = id_in_cluster(cluster_, trainer_.flags_.task());
    const bool chief_ = is_chief(cluster_, trainer_.flags_.task());
    const Source source_;
    Job job_;
    std::vector<SharedBuffer> initial_;
    const Step last_ = job_.steps_of(rank_);  // of its own
    const std::vector<ShardLayout> layouts_;
    typename Base::Measure measure_;
    Contributor<M, Source> contributor_;
    JobStart start_;
    std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
    bool is_started_ = false;
    Step made_ = 0;  // the contribution for which the values came that are told last
    Step told_ = 0;
    std::atomic<int> measures_ = 0;
    std::unique_ptr<ClusterJob> running_;
  };

  void tell_end(const Error& why) {
    if (why)
      this->hooks_.tell(Event{Event::Kind::ended, to_string(flags_.task()), why.where, why.code,
                              why.where + ": " + why.code.message()});
  }

  ClusterFlags flags_;
  ClusterMode mode_;
};

}  // namespace v0
}  // namespace distrib

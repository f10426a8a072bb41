// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/cluster/roles.hpp>
#include <distrib/core/detail/files.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/net/signals.hpp>
#include <distrib/ps/async_worker_core.hpp>
#include <distrib/ps/cut_interval.hpp>
#include <distrib/ps/cut_settings.hpp>
#include <distrib/ps/exit_code.hpp>
#include <distrib/ps/finished_job.hpp>
#include <distrib/ps/key_lists.hpp>
#include <distrib/ps/pull_rows.hpp>
#include <distrib/ps/server.hpp>
#include <distrib/ps/shard_store.hpp>
#include <distrib/ps/sync_worker_core.hpp>
#include <distrib/ps/wire_block.hpp>
#include <distrib/train/checkpoint_store.hpp>
#include <distrib/train/cluster_job.hpp>
#include <distrib/train/cluster_mode.hpp>
#include <distrib/train/initial_values.hpp>
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

namespace distrib::inline v0 {

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
      : Base{recipe, &pool}, flags_{std::move(flags)}, mode_{recipe.cluster} {
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
    options.observer = [this, &here](const Event& event) { asio::post(here, [this, event] { this->hooks_.tell(event); }); };
    Server server{*this->pool_, flags_.cluster(), flags_.job_name, flags_.task_index, this->updaters(), std::move(options)};
    const int code = server.join(here);
    if (code == exit_code::refused) throw_if(server.why());
    tell_end(server.why());
    return code;
  }

  // --- a worker ---

  auto work() -> int {
    const ClusterSpec cluster = flags_.cluster();
    const Rank rank = id_in_cluster(cluster, flags_.task());
    const bool chief = is_chief(cluster, flags_.task());
    const bool synchronous = this->kind_.consistency.synchronous;
    const auto source = this->data_.open();
    Job job = this->make_job(source, static_cast<std::uint32_t>(flags_.ps_hosts.size()),
                             static_cast<std::uint32_t>(worker_count(cluster, "worker")), this->replicas_);
    job.cut_interval = cut_interval(job, synchronous, this->save_ ? this->save_->every_steps : 0,
                                    mode_.replay_budget_bytes);
    std::vector<SharedBuffer> initial = make_initial_values(this->model_, job);
    const std::vector<ShardLayout> layouts = shard_layouts(job);
    const auto measure = chief && this->open_evaluation_ ? this->open_evaluation_(this->model_) : typename Base::Measure{};
    Contributor<M, std::remove_const_t<decltype(source)>> contributor{this->model_, source, job, layouts};
    const Step last = synchronous ? job.total_steps : job.steps_of(rank);

    JobStart start = this->begin(job, source);
    start.first_step = job.total_steps;  // until it is known: who starts late may find that all is done
    this->result_.ps = job.tasks;
    auto begun = std::chrono::steady_clock::now();
    bool started = false;
    std::unique_ptr<ClusterJob> running;
    ClusterJobEvents events;
    Step made = 0;  // the contribution for which the values came that are told last
    events.contribute = [&](Step step, auto values, auto gradients) {
      return contributor(rank, made = step, values, gradients);
    };
    // Rows that the evaluation needs come with the values that it measures.
    const KeyLists none;
    const auto others = [&](Step step) -> const KeyLists& {
      return is_measured_before(step, last, synchronous ? 1 : job.ranks) ? measure.keys : none;
    };
    events.prepare = [&](Step step) -> std::vector<WantedRows> {
      if (step <= last) return contributor.prepare(rank, step, others(step));
      return step == last + 1 ? contributor.prepare_end(rank, step, others(step)) : std::vector<WantedRows>{};
    };
    const auto tell_start = [&](Step first) {
      started = true;
      start.first_step = this->result_.steps = first;
      begun = std::chrono::steady_clock::now();
      if (chief) this->hooks_.tell(start);
    };
    events.started = tell_start;
    events.step_done = [&, told = Step{0}](Step step, float loss, const std::vector<SharedBuffer>& values) mutable {
      this->result_.loss = loss;
      this->result_.steps = step;
      const Step before = std::max(told, start.first_step);
      told = step;
      if (!chief) return;
      this->hooks_.tell(StepDone{step, loss, (step - before) * start.examples_per_step});
      if (!measure.of || this->evaluate_every_ == 0 || step >= job.total_steps) return;
      auto whole = std::make_shared<Whole>(job.variables);
      const bool due = measure.keys.empty() ? step / this->evaluate_every_ != before / this->evaluate_every_
                                            : contributor.take_others(rank, made, values, *whole);
      if (due) measure_in_background(running->context(), layouts, step, values, std::move(whole), measure);
    };
    events.saved = [&](Step step) {
      if (!chief || !this->save_ || step == 0) return;
      const std::uint64_t every = this->save_->every_steps;
      if (step != job.total_steps && (every == 0 || step % every != 0)) return;
      this->result_.checkpoint = this->save_->directory + "/model.ckpt-" + std::to_string(step);
      this->hooks_.tell(CheckpointSaved{step, this->result_.checkpoint});
    };
    events.told = [&](const Event& event) { this->hooks_.tell(event); };
    const auto make = synchronous ? make_cluster_job<SyncWorkerCore> : make_cluster_job<AsyncWorkerCore>;
    running = make(job, rank, addresses(), options(job, chief, std::move(initial)), cuts(), std::move(events));
    const AllMeasured all_measured{*this};  // whatever is thrown

    WorkerEnd end;
    {
      const Signals signals{running->context(), [&] {
                              this->hooks_.tell(Event{Event::Kind::interrupted, to_string(flags_.task()), {}, {},
                                                      "asked to stop: finishing the step in flight"});
                              running->stop();
                            }};
      end = running->run();
    }
    const auto spent = std::chrono::steady_clock::now() - begun;
    wait_for_measures();
    running.reset();
    if (end.code == exit_code::again && end.why) {
      contributor.prepare_end(rank, last + 1, measure.keys);
      end = look_for_result(job, contributor.requests(rank, last + 1), std::move(end));
      if (end.code == exit_code::done && !started) tell_start(job.total_steps);
    }
    if (end.code == exit_code::refused) throw_if(end.why);
    tell_end(end.why);
    if (end.code == exit_code::done) this->result_.steps = job.total_steps;
    if (this->result_.steps >= start.first_step) this->sum_up(job, start, this->result_.steps, spent);
    if (end.code == exit_code::done && chief) {
      if (this->save_) this->result_.checkpoint = finished_checkpoint(this->save_->directory);
      Whole whole{job.variables};
      assemble<typename M::Variables>(layouts, end.result, whole);
      contributor.take_others(rank, last + 1, end.result, whole);
      this->finish(job, whole, contributor.digests(rank, last + 1, end.result), measure);
    } else if (chief && this->result_.steps >= start.first_step) {
      this->hooks_.tell(JobEnd{this->result_});
    }
    return end.code;
  }

  [[nodiscard]] auto addresses() const -> std::vector<Address> {
    std::vector<Address> servers;
    for (const std::string& host : flags_.ps_hosts) servers.push_back(Address::parse(host));
    return servers;
  }

  [[nodiscard]] auto options(const Job& job, bool chief, std::vector<SharedBuffer> initial) const
      -> WorkerClientOptions {
    WorkerClientOptions options;
    options.rpc.secret = mode_.secret;
    options.start_within = mode_.start_within;
    // All that is left is to say goodbye, to whoever waits for it.
    if (is_done(job)) options.start_within = std::min(options.start_within, options.goodbye_within);
    options.lost_after = mode_.lease + mode_.restart_window;
    options.worker.replay_budget_bytes = mode_.replay_budget_bytes;
    options.worker.initial_values = std::move(initial);
    options.worker.wants_result = chief;
    return options;
  }

  [[nodiscard]] auto cuts() const -> CutSettings {
    if (!this->save_) return {};
    return {detail::absolute_path(this->save_->directory), this->save_->every_steps, this->save_->max_to_keep,
            this->save_->keep_checkpoint_every_n_hours};
  }

  // Whether the values that the contribution `step` is made of are measured: every so many contributions of all, and at
  // the end. `ranks`: how many make a step.
  [[nodiscard]] auto is_measured_before(Step step, Step last, std::uint64_t ranks) const -> bool {
    if (step > last) return true;
    const std::uint64_t every = this->evaluate_every_;
    return every != 0 && step > 1 && (step - 1) * ranks / every != (step - 2) * ranks / every;
  }

  // Whether there is a checkpoint of the last step.
  auto is_done(const Job& job) const -> bool {
    const std::string prefix = this->save_ ? finished_checkpoint(this->save_->directory) : std::string{};
    return !prefix.empty() && checkpoint_step(prefix) == static_cast<std::int64_t>(job.total_steps);
  }

  // A worker that starts late finds nobody any more: the job may have been done without it. `rows`: what is wanted of
  // each shard's tables.
  auto look_for_result(const Job& job, std::span<const PullRows> rows, WorkerEnd end) const -> WorkerEnd {
    if (!is_done(job)) return end;
    WorkerEnd done;
    const RestoredCuts restored = CheckpointStore{*this->save_, job, this->kind_.updaters}.restore();
    for (std::uint32_t shard = 0; shard < restored.cuts.size(); ++shard) {
      if constexpr (M::Variables::tables == 0) {
        done.result.push_back(wire_block(ShardLayout{job, shard}, restored.cuts[shard].values));
      } else {
        ShardStore store{job, shard, this->kind_.updaters, std::numeric_limits<std::uint64_t>::max()};
        store.load(restored.cuts[shard]);
        done.result.push_back(store.values(rows[shard]));
      }
    }
    return done;
  }

  // On one thread of the pool, so that they come in order; what came of it is told on the thread of `run()`.
  // `whole` has the rows that are needed.
  void measure_in_background(asio::io_context& here, const std::vector<ShardLayout>& layouts, Step step,
                             const std::vector<SharedBuffer>& blocks, std::shared_ptr<Whole> whole,
                             const typename Base::Measure& measure) {
    ++measures_;
    asio::post(this->pool_->executor(0), [this, &here, &layouts, step, blocks, whole = std::move(whole), &measure] {
      Evaluated evaluated{step, {}};
      std::exception_ptr failure;
      try {
        assemble<typename M::Variables>(layouts, blocks, *whole);
        evaluated.metrics = measure.of(*whole);
      } catch (...) {
        failure = std::current_exception();
      }
      asio::post(here, [this, evaluated = std::move(evaluated), failure = std::move(failure)] {
        if (failure) std::rethrow_exception(failure);
        this->result_.metrics = evaluated.metrics;
        this->hooks_.tell(evaluated);
      });
      --measures_;
      measures_.notify_all();
    });
  }

  struct AllMeasured {
    ClusterTrainer& trainer;
    ~AllMeasured() { trainer.wait_for_measures(); }
  };
  void wait_for_measures() {
    for (int left = measures_; left != 0; left = measures_) measures_.wait(left);
  }

  void tell_end(const Error& why) {
    if (why)
      this->hooks_.tell(Event{Event::Kind::ended, to_string(flags_.task()), why.where, why.code,
                              why.where + ": " + why.code.message()});
  }

  ClusterFlags flags_;
  ClusterMode mode_;
  std::atomic<int> measures_ = 0;
};

}  // namespace distrib::inline v0

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/job/make_local_job.hpp>

#include <distrib/net/asio.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/rank_file.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/any_shard.hpp>
#include <distrib/ps/protocol/any_worker.hpp>
#include <distrib/ps/protocol/erase_log_core.hpp>
#include <distrib/ps/protocol/rank_log_core.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/ps/store/block_pool.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/store/shard_action.hpp>
#include <distrib/ps/store/shard_store.hpp>
#include <distrib/train/job/local_job.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The implementation of a LocalJob. It delivers messages between the cores, which make all decisions.
class LocalJobShell final : public LocalJob {
 public:
  LocalJobShell(const Job& job, const ShardKind& shards, std::span<const Cut> restored, Contribute contribute,
                LocalJobCallbacks callbacks, IoPool* pool, std::vector<SharedBuffer> initial_values,
                ComputeOn compute_on, std::span<const RankEntry> changes, std::span<const ErasedKeys> erased)
      : synchronous_{job.consistency.is_synchronous()},
        contribute_{std::move(contribute)},
        callbacks_{std::move(callbacks)},
        pool_{pool},
        on_pool_{pool != nullptr && compute_on == ComputeOn::pool} {
    for (std::uint32_t shard = 0; shard < job.shards(); ++shard) {
      const Cut* cut = restored.empty() ? nullptr : &restored[shard];
      shards_.push_back(make_shard(
          job, shard, shards,
          cut != nullptr ? std::vector{DurableCut{cut->step, cut->lineage}} : std::vector<DurableCut>{}, cut));
    }
    // The log is known from the start, so nothing of it is ever written.
    RankFile log{job.total_steps + 1, {}, {erased.begin(), erased.end()}};
    for (const RankEntry& entry : changes) log.entries.push_back(std::make_shared<const RankEntry>(entry));
    for (const auto& shard : shards_)
      if (RankLogCore* const ranks = shard->rank_log()) ranks->open(log, 1);
    for (const auto& shard : shards_)
      if (EraseLogCore* const keys = shard->erase_log()) keys->open(log, 1);
    // Here a shard cannot be lost without its workers, so workers keep nothing to send again.
    const WorkerOptions options{.replay_budget_bytes = 0, .initial_values = std::move(initial_values)};
    for (Rank rank = 0; rank < job.rank_names(); ++rank) workers_.push_back(make_worker(job, rank, options));
    for (Rank rank = 0; rank < job.rank_names(); ++rank)
      for (const auto& shard : shards_) blocks_.emplace_back(shard->store().layout().gradient_block_bytes());
    reported_ = shards_.front()->step();
    idle_.resize(job.rank_names());
  }

  LocalJobShell(const LocalJobShell&) = delete;
  auto operator=(const LocalJobShell&) -> LocalJobShell& = delete;
  // Work in the background uses this object. If the job is left before its end, nothing follows from that work.
  ~LocalJobShell() override {
    if (!failure_) failure_ = std::make_exception_ptr(std::logic_error{"left"});
    outstanding_ -= wanted_.size();
    wanted_.clear();
    try {
      while (outstanding_ != 0 && context_->run_one() != 0) {
      }
    } catch (...) {  // ignored: of a handler of the owner
    }
  }

  [[nodiscard]] auto next() -> bool override {
    if (!std::exchange(begun_, true)) begin();
    context_->poll();  // also when a contribution is wanted: work in the background and signals do not wait for it
    while (!is_wanted() && context_->run_one() != 0) {
    }
    if (!context_->stopped()) return true;
    if (failure_) std::rethrow_exception(failure_);
    return false;
  }

  void make() override {
    const std::shared_ptr<Task> task = std::move(wanted_.front());
    wanted_.pop_front();
    --outstanding_;
    guarded([&] {
      contribute(*task);
      computed(*task);
      deliver();
    });
    if (!failure_) return;
    context_->run();  // until all threads have left the job
    std::rethrow_exception(failure_);
  }

  void abandon() override {
    outstanding_ -= wanted_.size();
    guarded([this] {
      for (const std::shared_ptr<Task>& task : std::exchange(wanted_, {}))
        on_worker(task->rank, [](AnyWorker& core, WorkerSink& out) { core.abandon(out); });
      deliver();
    });
  }

  [[nodiscard]] auto context() noexcept -> asio::io_context& override { return *context_; }

  void in_background(std::function<void()> work, std::function<void()> done) override {
    ++outstanding_;
    auto task = [this, context = context_, work = std::move(work), done = std::move(done)]() mutable {
      std::exception_ptr failure;
      try {
        work();
      } catch (...) {
        failure = std::current_exception();
      }
      // Hand `work` and `done` over completely: this thread must not keep a share in what they captured, which would be
      // released at the same time as the share of the thread of `run()`.
      asio::post(*context, [this, failure = std::move(failure), work = std::move(work), done = std::move(done)] {
        --outstanding_;
        guarded([&] {
          if (failure) std::rethrow_exception(failure);
          done();
          deliver();
        });
      });
    };
    if (pool_ != nullptr) asio::post(pool_->executor(), std::move(task));
    else asio::post(*context_, std::move(task));
  }

  void cut_saved(Step step) override {
    --saving_;
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard)
      on_shard(shard, [step](AnyShard& core, ShardSink& out) { core.cut_saved(step, out); });
  }

  void save() override {
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard)
      on_shard(shard, [](AnyShard& core, ShardSink& out) { core.save(out); });
  }

  void stop(const std::function<void()>& tell) override {
    if (std::exchange(stopping_, true)) return;
    guarded([this, &tell] {
      if (tell) tell();
      for (Rank rank = 0; rank < workers_.size(); ++rank)
        on_worker(rank, [](AnyWorker& core, WorkerSink& out) { core.stop(out); });
      deliver();
    });
  }

  [[nodiscard]] auto step() const -> Step override { return shards_.front()->step(); }
  [[nodiscard]] auto values(std::span<const PullRows> rows) -> std::vector<SharedBuffer> override {
    return blocks_of([](ShardStore& store, const PullRows& of) { return store.values(of); }, rows);
  }
  [[nodiscard]] auto averages(std::span<const PullRows> rows) -> std::vector<SharedBuffer> override {
    return blocks_of([](ShardStore& store, const PullRows& of) { return store.averages(of); }, rows);
  }

 private:
  using Clock = std::chrono::steady_clock;
  auto blocks_of(auto block_of, std::span<const PullRows> rows) -> std::vector<SharedBuffer> {
    std::vector<SharedBuffer> blocks;
    for (std::size_t shard = 0; shard < shards_.size(); ++shard)
      blocks.push_back(block_of(shards_[shard]->store(), rows.empty() ? PullRows{} : rows[shard]));
    return blocks;
  }

  /// Receives what the core of worker `rank` says.
  struct OnWorker final : WorkerSink {
    OnWorker(LocalJobShell& of, Rank which) : job{of}, rank{which} {}

    void operator()(SendJoin m) override {
      post(m.shard, [](AnyShard& core, Rank peer, ShardSink& out) { core.join(peer, peer, out); });
    }
    void operator()(SendPull m) override {
      post(m.shard, [step = m.step, wanted = std::move(m.rows.keys)](AnyShard& core, Rank peer, ShardSink& out) {
        PullRows rows;
        throw_if(read_pull_rows(core.store().layout(), wanted, std::numeric_limits<std::uint64_t>::max(), rows));
        core.pull(peer, step, out, std::move(rows));
      });
    }
    void operator()(SendPush m) override {
      post(m.shard, [given = std::move(m.contribution)](AnyShard& core, Rank peer, ShardSink& out) mutable {
        core.push(peer, std::move(given), out);
      });
    }
    void operator()(SendSave m) override {
      post(m.shard, [](AnyShard& core, Rank, ShardSink& out) { core.save(out); });
    }
    void operator()(SendGoodbye m) override {
      post(m.shard, [](AnyShard& core, Rank peer, ShardSink& out) { core.goodbye(peer, out); });
    }
    void operator()(SendLeave m) override {
      post(m.shard, [](AnyShard& core, Rank peer, ShardSink& out) { core.disconnect(peer, out); });
    }
    void operator()(SendRestore) override { lost_its_place(); }
    void operator()(SendCatchUp) override { lost_its_place(); }
    void operator()(ReplicasDiffer) override { lost_its_place(); }
    void operator()(TellsNoHistory) override { lost_its_place(); }
    void operator()(Prepare work) override { job.prepare(rank, work.step); }
    void operator()(Compute work) override { job.compute(rank, std::move(work)); }
    void operator()(WorkerDone) override { ++job.workers_done_; }

   private:
    template <class Event> void post(std::uint32_t shard, Event event) const {
      job.mail_.push_back([job = &job, rank = rank, shard, event = std::move(event)]() mutable {
        job->on_shard(shard, [&](AnyShard& core, ShardSink& out) { event(core, rank, out); });
      });
    }

    LocalJobShell& job;
    Rank rank;
  };

  /// Receives what the core of a shard says.
  struct OnShard final : ShardSink {
    OnShard(LocalJobShell& of, std::uint32_t which) : job{of}, shard{which} {}

    void operator()(JoinedReply m) override {
      post(m.peer, [shard = shard, progress = std::move(m.progress)](AnyWorker& core, WorkerSink& out) mutable {
        core.joined(shard, std::move(progress), out);
      });
    }
    void operator()(NoticeReply m) override {
      post(m.peer, [shard = shard, progress = std::move(m.progress)](AnyWorker& core, WorkerSink& out) mutable {
        core.notice(shard, std::move(progress), out);
      });
    }
    void operator()(PushedReply m) override {
      post(m.peer, [shard = shard, progress = std::move(m.progress)](AnyWorker& core, WorkerSink& out) mutable {
        core.pushed(shard, std::move(progress), out);
      });
    }
    void operator()(ValuesReply m) override {
      post(m.peer, [shard = shard, reply = std::move(m)](AnyWorker& core, WorkerSink& out) mutable {
        core.values(shard, reply.step, std::move(reply.block), std::move(reply.progress), out);
      });
    }
    void operator()(RefusedReply m) override { throw_error(m.code, to_string(m)); }
    void operator()(GoneReply m) override {  // to a late worker, in a job with backup workers
      if (job.synchronous_)
        post(m.peer, [shard = shard, reply = std::move(m)](AnyWorker& core, WorkerSink& out) mutable {
          core.gone(shard, reply.step, std::move(reply.progress), out);
        });
      else lost_its_place();
    }
    void operator()(LoadCut) override { lost_its_place(); }
    void operator()(SendState) override { lost_its_place(); }
    void operator()(DropCut) override {}  // SaveCheckpoint decides which files are kept
    void operator()(CopyCut) override {
      job.mail_.push_back([job = &job, shard = shard] {
        job->on_shard(shard, [](AnyShard& core, ShardSink& out) { core.copy_cut(std::size_t{1} << 20, out); });
      });
    }
    void operator()(SaveCut m) override { job.collect(std::move(m).finish()); }
    void operator()(ShardDone) override { ++job.shards_done_; }

   private:
    template <class Event> void post(Peer worker, Event event) const {
      job.mail_.push_back([job = &job, rank = static_cast<Rank>(worker), event = std::move(event)]() mutable {
        job->on_worker(rank, event);
      });
    }

    LocalJobShell& job;
    std::uint32_t shard;
  };

  // For messages that cannot occur here: in one process, nothing is lost before the process itself ends.
  [[noreturn]] static void lost_its_place() {
    throw std::logic_error("a local job got a message that only a cluster sends");
  }

  void begin() {
    asio::post(*context_, [this] {
      guarded([this] {
        for (Rank rank = 0; rank < workers_.size(); ++rank)
          on_worker(rank, [](AnyWorker& core, WorkerSink& out) { core.start(out); });
        deliver();
      });
    });
  }

  // Runs a handler. An exception ends the job, but only after every thread has left it.
  template <class F> void guarded(F&& handler) {
    try {
      if (!failure_) handler();
    } catch (...) {
      failure_ = std::current_exception();
      outstanding_ -= wanted_.size();
      wanted_.clear();
    }
    if (outstanding_ == 0 && (failure_ || finished())) context_->stop();
  }

  auto finished() -> bool {
    if (workers_done_ < workers_.size() || saving_ > 0) return false;
    return stopping_ || shards_done_ == shards_.size();
  }

  // Delivers messages until there are none left, then reports the steps that are done.
  void deliver() {
    do {
      while (!mail_.empty()) {
        const std::function<void()> letter = std::move(mail_.front());
        mail_.pop_front();
        letter();
      }
      report();
    } while (!mail_.empty());  // a callback has asked for a cut
    if (stopping_ && workers_done_ == workers_.size() && !std::exchange(saved_at_stop_, true)) {
      for (std::uint32_t shard = 0; shard < shards_.size(); ++shard)
        on_shard(shard, [](AnyShard& core, ShardSink& out) { core.save(out); });
    }
  }

  template <class Event> void on_worker(Rank rank, Event&& event) {
    OnWorker out{*this, rank};
    event(*workers_[rank], out);
  }

  template <class Event> void on_shard(std::uint32_t shard, Event&& event) {
    OnShard out{*this, shard};
    event(*shards_[shard], out);
  }

  // All shards receive the same contributions in the same order, so each shard makes a cut of each such step. Collects
  // the cuts of one step, and passes them on when the last one has arrived.
  void collect(Cut cut) {
    const Step step = cut.step;
    std::vector<Cut>& together = cuts_[step];
    together.push_back(std::move(cut));
    if (together.size() < shards_.size()) return;
    ++saving_;
    auto node = cuts_.extract(step);
    callbacks_.cut_due(step, std::move(node.mapped()));
  }

  // True if a contribution can be computed now on this thread; it is then the first one of `wanted_`. If records are
  // missing, asks again a moment later.
  auto is_wanted() -> bool {
    if (!callbacks_.ready) return !wanted_.empty();
    bool found = false;
    guarded([&] {
      for (auto& [rank, step] : std::exchange(unprepared_, {})) prepare(rank, step);
      for (std::size_t i = 0; i < wanted_.size() && !found;) {
        const auto at = wanted_.begin() + static_cast<std::ptrdiff_t>(i);
        const std::shared_ptr<Task> task = *at;
        const bool is_ready = callbacks_.ready(task->rank, task->work.step);
        found = is_ready && !on_pool_;
        if (found) std::rotate(wanted_.begin(), at, at + 1);
        if (!is_ready) ++i;
        if (found || !is_ready) continue;
        wanted_.erase(at);
        --outstanding_;
        contribute_on_pool(task);
      }
    });
    if (found || failure_) return found;
    if (stopping_ && !wanted_.empty()) abandon();  // its records may never come
    if (std::exchange(looks_again_, !wanted_.empty() || !unprepared_.empty()) || !looks_again_) return false;
    look_.expires_after(look_every);
    look_.async_wait([this](const std::error_code& ec) {
      if (!ec) looks_again_ = false;
    });
    return false;
  }

  void prepare(Rank rank, Step step) {
    if (callbacks_.ready && !callbacks_.ready(rank, step)) {
      if (!stopping_) unprepared_.emplace_back(rank, step);
      return;
    }
    auto rows = std::make_shared<std::vector<WantedRows>>();
    in_background([this, rank, step, rows] { *rows = callbacks_.prepare(rank, step); },
                  [this, rank, step, rows] {
                    on_worker(rank,
                              [&](AnyWorker& core, WorkerSink& out) { core.prepared(step, std::move(*rows), out); });
                  });
  }

  void compute(Rank rank, Compute work) {
    if (work.entry != nullptr) callbacks_.numbered(rank, work.step, *work.entry, work.number);
    std::vector<std::shared_ptr<AlignedBuffer>> gradients;
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard)
      gradients.push_back(blocks_[rank * shards_.size() + shard].take());
    auto task = std::make_shared<Task>(Task{rank, std::move(work), std::move(gradients), 0, {}, {}, {}});
    if (on_pool_ && !callbacks_.ready) return contribute_on_pool(task);
    ++outstanding_;
    wanted_.push_back(std::move(task));
  }

  struct Task {
    Rank rank;
    Compute work;
    std::vector<std::shared_ptr<AlignedBuffer>> gradients;
    float loss;
    std::vector<WantedRows> next;  // the rows that the next contribution needs
    Clock::time_point begun, ended;  // if it is measured
  };

  void contribute_on_pool(const std::shared_ptr<Task>& task) {
    in_background([this, task] { contribute(*task); }, [this, task] { computed(*task); });
  }

  void contribute(Task& task) {
    if (callbacks_.measured) task.begun = Clock::now();
    task.loss = contribute_(task.rank, task.work.step, task.work.values, task.gradients);
    // If the records of the next step are not there, the core asks for its rows by itself. `ready` is for the owner's
    // thread.
    const Step next = task.work.step + 1;
    if (callbacks_.prepare && (!callbacks_.ready || (!on_pool_ && callbacks_.ready(task.rank, next))))
      task.next = callbacks_.prepare(task.rank, next);
    if (callbacks_.measured) task.ended = Clock::now();
  }

  void measure(const Task& task) {
    Clock::time_point& idle = idle_[task.rank];
    const Step step = task.work.step;
    if (idle != Clock::time_point{})
      callbacks_.measured({Phase::Kind::wait, task.rank, step - 1, idle, task.begun, true});
    callbacks_.measured({Phase::Kind::compute, task.rank, step, task.begun, task.ended, true});
    idle = task.ended;
  }

  void computed(Task& task) {
    if (callbacks_.measured) measure(task);
    if (callbacks_.contributed) callbacks_.contributed(task.rank, task.work.step, task.loss, task.work.values);
    task.work.values.clear();
    std::vector<SharedBuffer> blocks{task.gradients.begin(), task.gradients.end()};
    task.gradients.clear();
    if (!synchronous_ || task.work.step > reported_) losses_[task.work.step].emplace_back(task.rank, task.loss);
    on_worker(task.rank, [&](AnyWorker& core, WorkerSink& out) {
      core.computed(task.work.ticket, std::move(blocks), out, std::move(task.next));
    });
  }

  void report() {
    while (reported_ < step()) {
      ++reported_;
      float loss = 0;
      if (synchronous_) {
        auto of_step = losses_.extract(reported_);  // the losses that are known by now
        std::sort(of_step.mapped().begin(), of_step.mapped().end());
        for (const auto& [rank, value] : of_step.mapped()) loss += value;
        loss /= static_cast<float>(of_step.mapped().size());
      } else {
        loss = std::prev(losses_.end())->second.back().second;
        if (reported_ == step()) losses_.clear();
      }
      if (callbacks_.measured) {
        const auto now = Clock::now();
        callbacks_.measured({Phase::Kind::reached, 0, reported_, now, now, false});
      }
      callbacks_.step_done(reported_, loss);
    }
  }

  static constexpr std::chrono::milliseconds look_every{20};

  bool synchronous_;
  Contribute contribute_;
  LocalJobCallbacks callbacks_;
  IoPool* pool_;
  bool on_pool_;
  // Shared with the tasks on the pool: when a posted handler ends the job, the thread that posted it may still be
  // inside `post`.
  std::shared_ptr<asio::io_context> context_ = std::make_shared<asio::io_context>(1);
  asio::executor_work_guard<asio::io_context::executor_type> busy_ = asio::make_work_guard(*context_);
  std::vector<std::unique_ptr<AnyShard>> shards_;
  std::vector<std::unique_ptr<AnyWorker>> workers_;
  std::vector<BlockPool> blocks_;  // for gradients: rank-major, one for each shard
  std::deque<std::shared_ptr<Task>> wanted_;  // contributions to compute on the owner's thread
  std::vector<std::pair<Rank, Step>> unprepared_;  // their records are not there yet
  SteadyTimer look_{*context_};  // asks again whether records are there
  bool looks_again_ = false;  // `look_` is running
  std::deque<std::function<void()>> mail_;  // delivered one after the other: a core is never called from inside a core
  std::map<Step, std::vector<Cut>> cuts_;
  std::map<Step, std::vector<std::pair<Rank, float>>> losses_;
  Step reported_ = 0;
  std::vector<Clock::time_point> idle_;  // for each rank: when its last contribution was computed
  std::size_t workers_done_ = 0;
  std::size_t shards_done_ = 0;
  std::size_t saving_ = 0;
  std::size_t outstanding_ = 0;
  bool begun_ = false;
  bool stopping_ = false;
  bool saved_at_stop_ = false;
  std::exception_ptr failure_;
};

}  // namespace detail

DISTRIB_DECL auto make_local_job(const Job& job, const ShardKind& shards, std::span<const Cut> restored,
                                 Contribute contribute, LocalJobCallbacks callbacks, IoPool* pool,
                                 std::vector<SharedBuffer> initial_values, ComputeOn compute_on,
                                 std::span<const RankEntry> changes, std::span<const ErasedKeys> erased)
    -> std::unique_ptr<LocalJob> {
  return std::make_unique<detail::LocalJobShell>(job, shards, restored, std::move(contribute), std::move(callbacks),
                                                 pool, std::move(initial_values), compute_on, changes, erased);
}

}  // namespace v0
}  // namespace distrib

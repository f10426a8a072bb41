// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/asio.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/optimizer/updater.hpp>
#include <distrib/ps/async_shard_core.hpp>
#include <distrib/ps/async_worker_core.hpp>
#include <distrib/ps/block_pool.hpp>
#include <distrib/ps/consistency.hpp>
#include <distrib/ps/error.hpp>
#include <distrib/ps/job.hpp>
#include <distrib/ps/sync_shard_core.hpp>
#include <distrib/ps/sync_worker_core.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

/// Makes the contribution (step, rank): reads one block of values a shard, writes one block of gradients a shard,
/// returns the loss. Called from several threads at once, for different ranks.
using Contribute = std::function<float(Rank rank, Step step, std::span<const SharedBuffer> values,
                                       std::span<const std::shared_ptr<AlignedBuffer>> gradients)>;

/// What a local job tells while it runs, on the thread of `run()`.
struct LocalJobEvents {
  std::function<void(Step step, float loss)> step_done;
  /// A cut of every shard at one step. Make it durable, then call `LocalJob::cut_saved(step)` on the same thread, not
  /// from within this call.
  std::function<void(Step step, std::vector<Cut> cuts)> cut_due;
};

/// Local mode: the cores of all shards and workers of a job in one process, their messages carried by hand on the
/// thread of `run()`; contributions are made on the threads of a pool, or on that same thread without one.
///
/// A shell: what to do is decided by the cores. Threads: one at a time; `run()` blocks its thread.
template <Consistency C, Updater U>
class LocalJob {
 public:
  using ShardCore = std::conditional_t<C::synchronous, SyncShardCore<U>, AsyncShardCore<U>>;
  using WorkerCore = std::conditional_t<C::synchronous, SyncWorkerCore, AsyncWorkerCore>;

  /// `restored`: one cut a shard to go on from, or none. `pool` may be null and must outlive the job.
  LocalJob(const Job& job, const C& consistency, const U& updater, std::span<const Cut> restored, Contribute contribute,
           LocalJobEvents events, IoPool* pool)
      : contribute_{std::move(contribute)}, events_{std::move(events)}, pool_{pool} {
    for (std::uint32_t shard = 0; shard < job.shards(); ++shard) {
      const Cut* cut = restored.empty() ? nullptr : &restored[shard];
      if constexpr (C::synchronous) {
        if (cut != nullptr)
          shards_.emplace_back(job, shard, updater, *cut, std::vector<Step>{cut->step});
        else
          shards_.emplace_back(job, shard, updater);
      } else {
        if (cut != nullptr)
          shards_.emplace_back(job, shard, updater, consistency.staleness, *cut);
        else
          shards_.emplace_back(job, shard, updater, consistency.staleness);
      }
    }
    // A shard cannot be lost without its workers here, so nothing is kept to be sent again.
    for (Rank rank = 0; rank < job.ranks; ++rank) workers_.emplace_back(job, rank, WorkerOptions{.replay_budget_bytes = 0});
    for (Rank rank = 0; rank < job.ranks; ++rank)
      for (const ShardCore& shard : shards_) blocks_.emplace_back(shard.layout().block_bytes());
    reported_ = shards_.front().step();
  }

  /// Trains until every worker is done, or until the work in flight at `stop()` is done and saved. Throws what
  /// `contribute` or an event handler threw, when all threads have left the job.
  void run() {
    const auto work = asio::make_work_guard(*context_);
    asio::post(*context_, [this] {
      guarded([this] {
        for (Rank rank = 0; rank < workers_.size(); ++rank)
          on_worker(rank, [](WorkerCore& core, auto& out) { core.start(out); });
        deliver();
      });
    });
    context_->run();
    if (failure_) std::rethrow_exception(failure_);
  }

  /// Where handlers run: timers and signals of the owner belong here.
  [[nodiscard]] auto context() noexcept -> asio::io_context& { return *context_; }

  /// Runs `work` on the pool (here without one) and then `done` on the thread of `run()`; both may throw, which ends the
  /// job. The job does not end before.
  void in_background(std::function<void()> work, std::function<void()> done) {
    ++outstanding_;
    auto task = [this, context = context_, work = std::move(work), done = std::move(done)]() mutable {
      std::exception_ptr failure;
      try {
        work();
      } catch (...) {
        failure = std::current_exception();
      }
      // All that was caught goes along: this thread keeps no share in it that it would release at the same time.
      asio::post(*context, [this, failure = std::move(failure), work = std::move(work), done = std::move(done)] {
        --outstanding_;
        guarded([&] {
          if (failure) std::rethrow_exception(failure);
          done();
          deliver();
        });
      });
    };
    if (pool_ != nullptr)
      asio::post(pool_->executor(), std::move(task));
    else
      asio::post(*context_, std::move(task));
  }

  /// The cuts of `step` are durable.
  void cut_saved(Step step) {
    --saving_;
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard)
      on_shard(shard, [step](ShardCore& core, auto& out) { core.cut_saved(step, out); });
  }

  /// Finish the work in flight, save, and return from `run()`. On the thread of `run()`. `tell` is called first; what it
  /// throws ends the job.
  void stop(const std::function<void()>& tell = {}) {
    if (std::exchange(stopping_, true)) return;
    guarded([this, &tell] {
      if (tell) tell();
      for (Rank rank = 0; rank < workers_.size(); ++rank)
        on_worker(rank, [](WorkerCore& core, auto& out) { core.stop(out); });
      deliver();
    });
  }

  /// Steps done, and the values after them, one block a shard.
  [[nodiscard]] auto step() const -> Step { return shards_.front().step(); }
  [[nodiscard]] auto values() const -> std::vector<SharedBuffer> {
    std::vector<SharedBuffer> blocks;
    for (const ShardCore& shard : shards_) blocks.push_back(shard.values());
    return blocks;
  }

 private:
  /// What the core of worker `rank` tells its shell.
  struct OnWorker {
    LocalJob& job;
    Rank rank;

    void operator()(SendJoin m) const {
      post(m.shard, [](ShardCore& core, Rank peer, auto& out) { core.join(peer, peer, out); });
    }
    void operator()(SendPull m) const {
      post(m.shard, [step = m.step](ShardCore& core, Rank peer, auto& out) { core.pull(peer, step, out); });
    }
    void operator()(SendPush m) const {
      post(m.shard, [given = std::move(m.contribution)](ShardCore& core, Rank peer, auto& out) mutable {
        core.push(peer, std::move(given), out);
      });
    }
    void operator()(SendSave m) const {
      post(m.shard, [](ShardCore& core, Rank, auto& out) { core.save(out); });
    }
    void operator()(SendGoodbye m) const {
      post(m.shard, [](ShardCore& core, Rank peer, auto& out) { core.goodbye(peer, out); });
    }
    void operator()(SendLeave m) const {
      post(m.shard, [](ShardCore& core, Rank peer, auto&) { core.disconnect(peer); });
    }
    void operator()(SendRestore) const { lost_its_place(); }
    void operator()(Compute work) const { job.compute(rank, std::move(work)); }
    void operator()(WorkerDone) const { ++job.workers_done_; }

   private:
    template <class Event>
    void post(std::uint32_t shard, Event event) const {
      job.mail_.push_back([job = &job, rank = rank, shard, event = std::move(event)]() mutable {
        job->on_shard(shard, [&](ShardCore& core, auto& out) { event(core, rank, out); });
      });
    }
  };

  /// What the core of a shard tells its shell.
  struct OnShard {
    LocalJob& job;
    std::uint32_t shard;

    void operator()(JoinedReply m) const {
      post(m.peer, [shard = shard, progress = std::move(m.progress)](WorkerCore& core, auto& out) mutable {
        core.joined(shard, std::move(progress), out);
      });
    }
    void operator()(NoticeReply m) const {
      post(m.peer, [shard = shard, progress = std::move(m.progress)](WorkerCore& core, auto& out) mutable {
        core.notice(shard, std::move(progress), out);
      });
    }
    void operator()(PushedReply m) const {
      post(m.peer, [shard = shard, progress = std::move(m.progress)](WorkerCore& core, auto& out) mutable {
        core.pushed(shard, std::move(progress), out);
      });
    }
    void operator()(ValuesReply m) const {
      post(m.peer, [shard = shard, reply = std::move(m)](WorkerCore& core, auto& out) mutable {
        core.values(shard, reply.step, std::move(reply.block), std::move(reply.progress), out);
      });
    }
    void operator()(RefusedReply m) const {
      throw_error(m.code, "step " + std::to_string(m.step) + " of worker " + std::to_string(m.rank));
    }
    void operator()(GoneReply) const { lost_its_place(); }
    void operator()(LoadCut) const { lost_its_place(); }
    void operator()(DropCut) const {}  // files are kept as SaveCheckpoint asks
    void operator()(SaveCut m) const { job.collect(std::move(m.cut)); }
    void operator()(ShardDone) const { ++job.shards_done_; }

   private:
    template <class Event>
    void post(Peer worker, Event event) const {
      job.mail_.push_back([job = &job, rank = static_cast<Rank>(worker), event = std::move(event)]() mutable {
        job->on_worker(rank, event);
      });
    }
  };

  // Nothing is lost here without the process.
  [[noreturn]] static void lost_its_place() { throw std::logic_error("a node of a local job lost its place"); }

  // What a handler throws ends the job, but not before every thread has left it.
  template <class F>
  void guarded(F&& handler) {
    try {
      if (!failure_) handler();
    } catch (...) {
      failure_ = std::current_exception();
    }
    if (outstanding_ == 0 && (failure_ || finished())) context_->stop();
  }

  auto finished() -> bool {
    if (workers_done_ < workers_.size() || saving_ > 0) return false;
    return stopping_ || shards_done_ == shards_.size();
  }

  // Carries messages until all is quiet, and tells which steps were done by them.
  void deliver() {
    while (!mail_.empty()) {
      const std::function<void()> letter = std::move(mail_.front());
      mail_.pop_front();
      letter();
    }
    report();
    if (stopping_ && workers_done_ == workers_.size() && !std::exchange(saved_at_stop_, true)) {
      for (std::uint32_t shard = 0; shard < shards_.size(); ++shard)
        on_shard(shard, [](ShardCore& core, auto& out) { core.save(out); });
    }
  }

  template <class Event>
  void on_worker(Rank rank, Event&& event) {
    OnWorker out{*this, rank};
    event(workers_[rank], out);
  }

  template <class Event>
  void on_shard(std::uint32_t shard, Event&& event) {
    OnShard out{*this, shard};
    event(shards_[shard], out);
  }

  // Shards see the same contributions in the same order, so their cuts of one step come together.
  void collect(Cut cut) {
    const Step step = cut.step;
    std::vector<Cut>& together = cuts_[step];
    together.push_back(std::move(cut));
    if (together.size() < shards_.size()) return;
    ++saving_;
    auto node = cuts_.extract(step);
    events_.cut_due(step, std::move(node.mapped()));
  }

  void compute(Rank rank, Compute work) {
    std::vector<std::shared_ptr<AlignedBuffer>> gradients;
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard)
      gradients.push_back(blocks_[rank * shards_.size() + shard].take());
    auto task = std::make_shared<Task>(Task{rank, std::move(work), std::move(gradients), 0});
    in_background(
        [this, task] {
          task->loss = contribute_(task->rank, task->work.step, task->work.values, task->gradients);
        },
        [this, task] { computed(*task); });
  }

  struct Task {
    Rank rank;
    Compute work;
    std::vector<std::shared_ptr<AlignedBuffer>> gradients;
    float loss;
  };

  void computed(Task& task) {
    task.work.values.clear();
    std::vector<SharedBuffer> blocks{task.gradients.begin(), task.gradients.end()};
    task.gradients.clear();
    losses_[task.work.step].emplace_back(task.rank, task.loss);
    on_worker(task.rank, [&](WorkerCore& core, auto& out) {
      core.computed(task.work.ticket, std::move(blocks), out);
    });
  }

  void report() {
    while (reported_ < step()) {
      ++reported_;
      float loss = 0;
      if constexpr (C::synchronous) {
        auto of_step = losses_.extract(reported_);
        std::sort(of_step.mapped().begin(), of_step.mapped().end());
        for (const auto& [rank, value] : of_step.mapped()) loss += value;
        loss /= static_cast<float>(of_step.mapped().size());
      } else {
        loss = std::prev(losses_.end())->second.back().second;
        if (reported_ == step()) losses_.clear();
      }
      events_.step_done(reported_, loss);
    }
  }

  Contribute contribute_;
  LocalJobEvents events_;
  IoPool* pool_;
  // Shared with the tasks on the pool: a thread may still be inside `post` when what it posted has ended the job.
  std::shared_ptr<asio::io_context> context_ = std::make_shared<asio::io_context>(1);
  std::vector<ShardCore> shards_;
  std::vector<WorkerCore> workers_;
  std::vector<BlockPool> blocks_;   // of gradients: rank-major, one for each shard
  std::deque<std::function<void()>> mail_;      // delivered one after the other: a core is never called from a core
  std::map<Step, std::vector<Cut>> cuts_;
  std::map<Step, std::vector<std::pair<Rank, float>>> losses_;
  Step reported_ = 0;
  std::size_t workers_done_ = 0;
  std::size_t shards_done_ = 0;
  std::size_t saving_ = 0;
  std::size_t outstanding_ = 0;
  bool stopping_ = false;
  bool saved_at_stop_ = false;
  std::exception_ptr failure_;
};

}  // namespace distrib::inline v0

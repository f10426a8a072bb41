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
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
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
          on_worker(rank, [](WorkerCore& core, WorkerActions& out) { core.start(out); });
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
      asio::post(*context, [this, failure, work = std::move(work), done = std::move(done)] {
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
      on_shard(shard, [step](ShardCore& core, ShardActions& out) { core.cut_saved(step, out); });
  }

  /// Finish the work in flight, save, and return from `run()`. On the thread of `run()`. `tell` is called first; what it
  /// throws ends the job.
  void stop(const std::function<void()>& tell = {}) {
    if (std::exchange(stopping_, true)) return;
    guarded([this, &tell] {
      if (tell) tell();
      for (Rank rank = 0; rank < workers_.size(); ++rank)
        on_worker(rank, [](WorkerCore& core, WorkerActions& out) { core.stop(out); });
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
  struct ToShard {
    std::uint32_t shard;
    Rank worker;
    WorkerAction message;
  };
  struct ToWorker {
    Rank worker;
    std::uint32_t shard;
    ShardAction message;
  };

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
      auto letter = std::move(mail_.front());
      mail_.pop_front();
      if (auto* to_shard = std::get_if<ToShard>(&letter))
        carry(*to_shard);
      else
        carry(std::get<ToWorker>(letter));
    }
    report();
    if (stopping_ && workers_done_ == workers_.size() && !std::exchange(saved_at_stop_, true)) {
      for (std::uint32_t shard = 0; shard < shards_.size(); ++shard)
        on_shard(shard, [](ShardCore& core, ShardActions& out) { core.save(out); });
    }
  }

  void carry(ToShard& letter) {
    const Rank peer = letter.worker;
    on_shard(letter.shard, [&](ShardCore& core, ShardActions& out) {
      if (std::holds_alternative<SendJoin>(letter.message)) core.join(peer, peer, out);
      if (auto* m = std::get_if<SendPull>(&letter.message)) core.pull(peer, m->step, out);
      if (auto* m = std::get_if<SendPush>(&letter.message)) core.push(peer, std::move(m->contribution), out);
      if (std::holds_alternative<SendSave>(letter.message)) core.save(out);
      if (std::holds_alternative<SendGoodbye>(letter.message)) core.goodbye(peer, out);
      if (std::holds_alternative<SendLeave>(letter.message)) core.disconnect(peer);
    });
  }

  void carry(ToWorker& letter) {
    const std::uint32_t shard = letter.shard;
    on_worker(letter.worker, [&](WorkerCore& core, WorkerActions& out) {
      if (auto* m = std::get_if<JoinedReply>(&letter.message)) core.joined(shard, std::move(m->progress), out);
      if (auto* m = std::get_if<NoticeReply>(&letter.message)) core.notice(shard, std::move(m->progress), out);
      if (auto* m = std::get_if<PushedReply>(&letter.message)) core.pushed(shard, std::move(m->progress), out);
      if (auto* m = std::get_if<ValuesReply>(&letter.message))
        core.values(shard, m->step, std::move(m->block), std::move(m->progress), out);
    });
  }

  template <class F>
  void on_worker(Rank rank, F&& event) {
    WorkerActions actions;
    event(workers_[rank], actions);
    for (WorkerAction& action : actions) {
      if (auto* work = std::get_if<Compute>(&action))
        compute(rank, std::move(*work));
      else if (std::holds_alternative<SendRestore>(action))
        throw std::logic_error("a worker of a local job lost its place");  // nothing is lost here without the process
      else if (std::holds_alternative<WorkerDone>(action))
        ++workers_done_;
      else
        mail_.push_back(ToShard{shard_of(action), rank, std::move(action)});
    }
  }

  template <class F>
  void on_shard(std::uint32_t shard, F&& event) {
    ShardActions actions;
    event(shards_[shard], actions);
    for (ShardAction& action : actions) {
      if (auto* save = std::get_if<SaveCut>(&action))
        collect(std::move(save->cut));
      else if (auto* refused = std::get_if<RefusedReply>(&action))
        throw_error(refused->code, "step " + std::to_string(refused->step) + " of worker " + std::to_string(refused->rank));
      else if (std::holds_alternative<ShardDone>(action))
        ++shards_done_;
      else if (std::holds_alternative<LoadCut>(action) || std::holds_alternative<GoneReply>(action))
        throw std::logic_error("a shard of a local job lost its place");  // nothing is lost here without the process
      else if (!std::holds_alternative<DropCut>(action))  // files are kept as SaveCheckpoint asks
        mail_.push_back(ToWorker{peer_of(action), shard, std::move(action)});
    }
  }

  static auto shard_of(const WorkerAction& action) -> std::uint32_t {
    return std::visit(
        [](const auto& message) -> std::uint32_t {
          if constexpr (requires { message.shard; }) return message.shard;
          else return 0;
        },
        action);
  }

  static auto peer_of(const ShardAction& action) -> Rank {
    return std::visit(
        [](const auto& message) -> Rank {
          if constexpr (requires { message.peer; }) return static_cast<Rank>(message.peer);
          else return 0;
        },
        action);
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
    on_worker(task.rank, [&](WorkerCore& core, WorkerActions& out) {
      core.computed(task.work.ticket, std::move(blocks), out);
    });
  }

  void report() {
    while (reported_ < step()) {
      ++reported_;
      float loss = 0;
      if constexpr (C::synchronous) {
        auto of_step = losses_.extract(reported_);
        std::ranges::sort(of_step.mapped());
        for (const auto& [rank, value] : of_step.mapped()) loss += value;
        loss /= static_cast<float>(of_step.mapped().size());
      } else {
        loss = losses_.rbegin()->second.back().second;
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
  std::deque<std::variant<ToShard, ToWorker>> mail_;
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

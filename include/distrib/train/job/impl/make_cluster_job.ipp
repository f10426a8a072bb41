// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/job/make_cluster_job.hpp>

#include <distrib/core/event.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/ps/store/block_pool.hpp>
#include <distrib/ps/worker/worker_client.hpp>
#include <distrib/train/job/cluster_job.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The implementation of a ClusterJob. A thread of its own does the I/O with the parameter servers, while contributions
/// are computed on the owner's thread. So a long `gradients()` does not look like the death of the worker, and data
/// are decoded while values are on their way.
class ClusterJobShell final : public ClusterJob, private WorkerOwner {
 public:
  ClusterJobShell(const Job& job, Rank rank, std::vector<Address> servers, WorkerClientOptions options,
                  CutSettings cuts, ClusterJobCallbacks callbacks)
      : total_steps_{job.total_steps},
        synchronous_{job.consistency.is_synchronous()},
        has_tables_{!job.tables.empty()},
        callbacks_{std::move(callbacks)} {
    for (const ShardLayout& layout : shard_layouts(job)) blocks_.emplace_back(layout.gradient_block_bytes());
    options.observer = [this](const Event& event) { asio::post(context_, [this, event] { callbacks_.told(event); }); };
    if (callbacks_.measured)
      options.phases = [this](const Phase& phase) {
        asio::post(context_, [this, phase] { callbacks_.measured(phase); });
      };
    WorkerOwner& owner = *this;
    client_ = std::make_shared<WorkerClient>(io_.executor(0), job, rank, std::move(servers), std::move(options),
                                             std::move(cuts), owner);
  }
  ClusterJobShell(const ClusterJobShell&) = delete;
  auto operator=(const ClusterJobShell&) -> ClusterJobShell& = delete;
  ~ClusterJobShell() override {
    // First end the I/O thread, which may be calling the client; then destroy the client, before its context.
    io_.stop();
    try {
      io_.join();
    } catch (...) {  // ignored: `run()` has already thrown another exception
    }
    client_.reset();
  }

  [[nodiscard]] auto next() -> bool override {
    if (!std::exchange(begun_, true)) asio::post(io_.executor(0), [this] { client_->start(); });
    context_.poll();  // also when a contribution is wanted: the job may be over meanwhile
    while (!is_wanted() && context_.run_one() != 0) {
    }
    if (!context_.stopped()) return true;
    if (!end_) io_.join();  // the I/O thread has failed: throw its exception
    return false;
  }

  void make() override { contribute(std::move(wanted_)); }

  void abandon() override {
    wanted_.reset();
    asio::post(io_.executor(0), [this] { client_->abandon(); });
  }

  [[nodiscard]] auto end() -> WorkerEnd override { return std::move(*end_); }

  [[nodiscard]] auto context() noexcept -> asio::io_context& override { return context_; }

  void stop() override {
    stopping_ = true;
    asio::post(io_.executor(0), [this] { client_->stop(); });
  }

 private:
  /// A contribution on its way to the owner's thread and back.
  struct Task {
    Compute work;
    Step counted;
    std::vector<std::shared_ptr<AlignedBuffer>> gradients;
    std::vector<WantedRows> next;  // the rows that the next contribution needs
  };

  // --- on the I/O thread ---

  void prepare(Prepare work) override {
    asio::post(context_, [this, step = work.step] { prepare_now(step); });
  }
  void compute(Compute work, Step counted) override {
    auto task = std::make_shared<Task>(Task{std::move(work), counted, {}, {}});
    for (BlockPool& pool : blocks_) task->gradients.push_back(pool.take());
    asio::post(context_, [this, task = std::move(task)]() mutable { want(std::move(task)); });
  }
  void saved(Step step) override {
    asio::post(context_, [this, step] {
      if (started_) callbacks_.saved(step);  // otherwise the cut is from an earlier run
    });
  }
  void ended(WorkerEnd end) override {
    asio::post(context_, [this, end = std::move(end)]() mutable {
      if (end.code == 0 && !end.result.empty()) {
        if (!std::exchange(started_, true)) callbacks_.started(reported_ = total_steps_);  // done by an earlier run
        if (total_steps_ > reported_) callbacks_.step_done(total_steps_, loss_, end.result);
      }
      end_ = std::move(end);
      context_.stop();
    });
  }
  void computed(Task& task) {
    std::vector<SharedBuffer> blocks{task.gradients.begin(), task.gradients.end()};
    task.gradients.clear();
    client_->computed(task.work.ticket, std::move(blocks), std::move(task.next));
  }

  // --- on the owner's thread ---

  // True if the wanted contribution can be computed now. If records are missing, asks again a moment later.
  auto is_wanted() -> bool {
    if (!callbacks_.ready) return wanted_ != nullptr;
    if (const Step step = std::exchange(unprepared_, 0); step != 0) prepare_now(step);
    if (wanted_ != nullptr && callbacks_.ready(wanted_->work.step)) return true;
    if (stopping_ && wanted_ != nullptr) abandon();  // its records may never come
    if (std::exchange(looks_again_, wanted_ != nullptr || unprepared_ != 0) || !looks_again_) return false;
    look_.expires_after(look_every);
    look_.async_wait([this](const std::error_code& ec) {
      if (!ec) looks_again_ = false;
    });
    return false;
  }

  void prepare_now(Step step) {
    if (!is_ready(step)) {
      if (!stopping_) unprepared_ = step;  // an earlier one is out of date
      return;
    }
    asio::post(io_.executor(0),
               [this, step, rows = callbacks_.prepare(step)]() mutable { client_->prepared(step, std::move(rows)); });
  }

  [[nodiscard]] auto is_ready(Step step) const -> bool { return !callbacks_.ready || callbacks_.ready(step); }

  // If there is one already, it is out of date: the core drops a result with an old ticket.
  void want(std::shared_ptr<Task> task) {
    wanted_ = std::move(task);
    if (std::exchange(started_, true)) return;
    reported_ = done_before(*wanted_);
    callbacks_.started(reported_);
  }

  [[nodiscard]] auto done_before(const Task& task) const -> Step {
    return synchronous_ ? task.work.step - 1 : task.counted;
  }

  void contribute(std::shared_ptr<Task> task) {
    const Step done = done_before(*task);
    const std::vector<SharedBuffer> values = task->work.values;
    const Step next = task->work.step + 1;
    const float loss = callbacks_.contribute(task->work.step, values, task->gradients);
    task->work.values.clear();
    // If the records of the next step are not there, the core asks for its rows by itself.
    if (has_tables_ && is_ready(next)) task->next = callbacks_.prepare(next);
    asio::post(io_.executor(0), [this, task = std::move(task)] { computed(*task); });
    // The rest runs while the contribution and the next values are on their way.
    if (done > reported_) callbacks_.step_done(reported_ = done, loss_, values);
    loss_ = loss;
    if (const Step after = has_tables_ ? next + 1 : next; is_ready(after)) callbacks_.prepare(after);
  }

  static constexpr std::chrono::milliseconds look_every{20};

  Step total_steps_;
  bool synchronous_;
  bool has_tables_;
  ClusterJobCallbacks callbacks_;
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> busy_ = asio::make_work_guard(context_);
  std::vector<BlockPool> blocks_;  // for gradients, one per shard; used on the I/O thread
  std::shared_ptr<WorkerClient> client_;
  std::shared_ptr<Task> wanted_;  // the contribution that is to be made
  Step unprepared_ = 0;  // its records are not there yet; 0: none
  SteadyTimer look_{context_};  // asks again whether records are there
  bool looks_again_ = false;  // `look_` is running
  bool stopping_ = false;
  std::optional<WorkerEnd> end_;
  bool begun_ = false;
  bool started_ = false;
  Step reported_ = 0;
  float loss_ = 0;
  IoPool io_{1, [this] { context_.stop(); }};
};

}  // namespace detail

DISTRIB_DECL auto make_cluster_job(const Job& job, Rank rank, std::vector<Address> servers, WorkerClientOptions options,
                                   CutSettings cuts, ClusterJobCallbacks callbacks) -> std::unique_ptr<ClusterJob> {
  return std::make_unique<detail::ClusterJobShell>(job, rank, std::move(servers), std::move(options), std::move(cuts),
                                                   std::move(callbacks));
}

}  // namespace v0
}  // namespace distrib

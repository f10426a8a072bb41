// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/job/make_ranks_job.hpp>

#include <distrib/core/error.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/descriptor_limit.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/exit_code.hpp>
#include <distrib/ps/job/rank_block.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/protocol/block_sum.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/ps/store/block_pool.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/ps/worker/rank_client.hpp>
#include <distrib/ps/worker/served_ranks.hpp>
#include <distrib/ps/worker/worker_client.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The implementation: as `ClusterJobShell`, with a client for each block of ranks that is served, and one that asks which
/// ranks to serve.
class RanksJobShell final : public ClusterJob, private RankOwner {
 public:
  RanksJobShell(const Job& job, ServingProcess process, std::vector<Address> servers, WorkerClientOptions options,
                CutSettings cuts, RanksJobCallbacks callbacks)
      : job_{job},
        process_{process},
        servers_{std::move(servers)},
        options_{std::move(options)},
        cuts_{std::move(cuts)},
        callbacks_{std::move(callbacks)},
        ranks_{process.is_chief, process.sums_ranks && job.most_ranks == 0 ? job.ranks : 0},
        sum_{job} {
    for (const ShardLayout& layout : shard_layouts(job)) {
      blocks_.emplace_back(layout.gradient_block_bytes());
      sums_.emplace_back(layout.block_bytes());
    }
    constexpr std::uint64_t others = 128;  // files, and what else the process has open
    raise_descriptor_limit(std::uint64_t{job.rank_names()} * job.num_replicas() + others);
    options_.worker.process = process_.index + 1;
    if (callbacks_.measured)
      options_.phases = [this](const Phase& phase) {
        asio::post(context_, [this, phase] { callbacks_.measured(phase); });
      };
    RankClient::Options asking;
    asking.index = process_.index;
    asking.is_chief = process_.is_chief;
    asking.ranks = job_.ranks;
    asking.most_ranks = job_.most_ranks;
    asking.start_within = options_.start_within;
    asking.lost_after = options_.lost_after;
    asking.rpc = options_.rpc;
    RankOwner& owner = *this;
    asks_ = std::make_shared<RankClient>(io_.executor(0), servers_.front(), std::move(asking), owner);
  }
  RanksJobShell(const RanksJobShell&) = delete;
  auto operator=(const RanksJobShell&) -> RanksJobShell& = delete;
  ~RanksJobShell() override {
    // First end the I/O thread, which may be calling a client; then destroy the clients, before their context.
    io_.stop();
    try {
      io_.join();
    } catch (...) {  // ignored: `run()` has already thrown another exception
    }
    workers_.clear();
    asks_->close();
    asks_.reset();
  }

  [[nodiscard]] auto next() -> bool override {
    if (!std::exchange(begun_, true))
      asio::post(io_.executor(0), [this] {
        on_ranks([](ServedRanks& ranks, auto& out) { ranks.start(out); });
        asks_->start();
      });
    context_.poll();  // also when a contribution is wanted: the job may be over meanwhile
    while (wanted_.empty() && context_.run_one() != 0) {
    }
    if (!context_.stopped()) return true;
    if (!end_) io_.join();  // the I/O thread has failed: throw its exception
    return false;
  }

  void make() override {
    std::shared_ptr<Task> first = std::move(wanted_.front());
    wanted_.pop_front();
    contribute(std::move(first));
  }

  void abandon() override {
    drop_wanted([](const Task&) { return true; });
    asio::post(io_.executor(0), [this] {
      for (const auto& [rank, worker] : workers_) worker->client->abandon();
      leave();
    });
  }

  [[nodiscard]] auto end() -> WorkerEnd override { return std::move(*end_); }
  [[nodiscard]] auto context() noexcept -> asio::io_context& override { return context_; }
  void stop() override {
    asio::post(io_.executor(0), [this] { leave(); });
  }

 private:
  /// The worker of some ranks.
  struct Worker final : WorkerOwner {
    Worker(RanksJobShell& shell, RankBlock of, std::uint64_t its_number)
        : owner{shell}, ranks{of}, number{its_number} {}

    void prepare(Prepare) override {}  // only in jobs with tables
    void compute(Compute work, Step counted) override { owner.compute(*this, std::move(work), counted); }
    void saved(Step step) override { owner.saved(step); }
    void ended(WorkerEnd end) override { owner.ended(ranks, number, std::move(end)); }

    RanksJobShell& owner;
    RankBlock ranks;
    std::uint64_t number;  // of all workers that this process has started
    std::shared_ptr<WorkerClient> client;
  };
  /// A contribution on its way to the owner's thread and back.
  struct Task {
    RankBlock ranks;
    std::uint64_t number;  // of the worker
    Compute work;
    Step counted;  // contributions that the values are made of, or more; asynchronous jobs only
    std::vector<std::shared_ptr<AlignedBuffer>> gradients;
  };
  /// Performs the actions of `ServedRanks` when its event is over.
  struct Actions {
    std::vector<StartRanks> starts;
    std::vector<StopRanks> stops;
    std::optional<ProcessDone> done;
    void operator()(StartRanks action) { starts.push_back(action); }
    void operator()(StopRanks action) { stops.push_back(action); }
    void operator()(ProcessDone action) { done = action; }
  };

  // --- on the I/O thread ---

  void on_ranks(auto&& happens) {
    Actions actions;
    happens(ranks_, actions);
    for (const StopRanks& stops : actions.stops)
      if (const auto worker = workers_.find(stops.ranks); worker != workers_.end()) worker->second->client->stop();
    for (const StartRanks& starts : actions.starts) start_worker(starts.ranks);
    if (const std::size_t number = ranks_.serves().size(); std::exchange(told_ranks_, number) != number)
      asio::post(context_, [this, number] {
        if (callbacks_.serves) callbacks_.serves(number);
      });
    if (actions.done) process_done(actions.done->code);
  }

  void start_worker(RankBlock ranks) {
    std::unique_ptr<Worker>& worker = workers_[ranks];
    worker = std::make_unique<Worker>(*this, ranks, ++newest_worker_);
    WorkerClientOptions options = options_;
    options.worker.level = ranks.level;
    options.worker.replay_budget_bytes *= ranks.end(job_.rank_names()) - ranks.first;
    options.worker.wants_result = process_.is_chief && ranks.first == 0;
    options.observer = [this, ranks](const Event& event) { tell(ranks, event); };
    worker->client = std::make_shared<WorkerClient>(io_.executor(0), job_, ranks.first, servers_, std::move(options),
                                                    cuts_, *worker);
    worker->client->start();
  }

  // Each worker has a connection to each shard: what happens to it is told once.
  void tell(RankBlock ranks, const Event& event) {
    const bool is_first = !workers_.empty() && workers_.begin()->first == ranks;
    if (is_first || event.kind == Event::Kind::not_repeatable)
      asio::post(context_, [this, event] { callbacks_.told(event); });
  }

  [[nodiscard]] auto serves() const -> std::vector<Rank> override { return ranks_.serves(); }
  void dealt(const AskRanksReply& reply) override {
    on_ranks([&](ServedRanks& ranks, auto& out) {
      if (reply.over) ranks.job_is_over(out);
      else ranks.dealt(reply.serve, out);
    });
  }
  void not_dealt(int code, const Error& why) override {
    fail_because(why);
    on_ranks([code](ServedRanks& ranks, auto& out) { ranks.failed(code, out); });
  }

  // The process is asked to end: others may take over its ranks at once.
  void leave() {
    asks_->leave();
    on_ranks([](ServedRanks& ranks, auto& out) { ranks.stop(out); });
  }

  void compute(const Worker& worker, Compute work, Step counted) {
    auto task = std::make_shared<Task>(Task{worker.ranks, worker.number, std::move(work), counted, {}});
    for (BlockPool& pool : worker.ranks.level == 0 ? blocks_ : sums_) task->gradients.push_back(pool.take());
    asio::post(context_, [this, task = std::move(task)]() mutable { want(std::move(task)); });
  }
  void computed(Task& task) {
    std::vector<SharedBuffer> blocks{task.gradients.begin(), task.gradients.end()};
    task.gradients.clear();
    const auto worker = workers_.find(task.ranks);
    if (worker != workers_.end() && worker->second->number == task.number)
      worker->second->client->computed(task.work.ticket, std::move(blocks));
  }

  void saved(Step step) {
    asio::post(context_, [this, step] {
      if (started_ && step > saved_) callbacks_.saved(saved_ = step);  // otherwise the cut is from an earlier run
    });
  }

  void ended(RankBlock ranks, std::uint64_t number, WorkerEnd end) {
    const auto worker = workers_.find(ranks);
    if (worker == workers_.end() || worker->second->number != number) return;
    // The client is calling: destroyed later.
    asio::post(io_.executor(0), [gone = std::shared_ptr<Worker>{std::move(worker->second)}] {});
    workers_.erase(worker);
    asio::post(context_, [this, number] { drop_wanted([number](const Task& task) { return task.number == number; }); });
    // The rank looks on, and the shard has ended with the job: it waits only for ranks that make the last step.
    if (job_.most_ranks != 0 && ranks.first != 0 && end.why.code == ps_errc::shard_done) end = WorkerEnd{};
    if (end.why) fail_because(end.why);
    if (!end.result.empty()) result_ = std::move(end.result);
    on_ranks([&](ServedRanks& served, auto& out) { served.ended(ranks, end.code, out, end.retired); });
  }

  void fail_because(const Error& why) {
    if (!why_) why_ = why;
  }

  void process_done(int code) {
    if (code != exit_code::done) asks_->leave();
    else asks_->close();
    WorkerEnd end{code, code == exit_code::done ? Error{} : why_,
                  code == exit_code::done ? std::move(result_) : std::vector<SharedBuffer>{}};
    asio::post(context_, [this, end = std::move(end)]() mutable {
      if (end.code == exit_code::done && !end.result.empty()) {
        if (!std::exchange(started_, true)) callbacks_.started(reported_ = job_.total_steps);  // by an earlier run
        if (job_.total_steps > reported_) callbacks_.step_done(job_.total_steps, loss_, end.result);
      }
      end_ = std::move(end);
      context_.stop();
    });
  }

  // --- on the owner's thread ---

  void want(std::shared_ptr<Task> task) {
    // If there is one of this worker already, it is out of date: the core drops a result with an old ticket.
    drop_wanted([&](const Task& other) { return other.number == task->number; });
    const Step done = done_before(*task);
    wanted_.push_back(std::move(task));
    if (std::exchange(started_, true)) return;
    callbacks_.started(reported_ = done);
  }

  // Asynchronous: each rank has steps of its own, so what the shards have counted is reported.
  [[nodiscard]] auto done_before(const Task& task) const -> Step {
    return job_.consistency.is_synchronous() ? task.work.step - 1 : task.counted;
  }

  void drop_wanted(auto is_dropped) {
    for (std::shared_ptr<Task>& task : wanted_)
      if (is_dropped(*task)) asio::post(io_.executor(0), [dropped = std::move(task)] {});  // its blocks belong there
    std::erase(wanted_, nullptr);
  }

  void contribute(std::shared_ptr<Task> task) {
    const Step step = task->work.step;
    const Step done = done_before(*task);
    const RankBlock ranks = task->ranks;
    const std::vector<SharedBuffer> values = task->work.values;
    if (task->work.entry != nullptr) callbacks_.numbered(ranks.first, step, *task->work.entry, task->work.number);
    float loss = 0;  // of the first of these ranks
    const auto make = [&](Rank rank, std::span<const std::shared_ptr<AlignedBuffer>> gradients) {
      const float its_loss = callbacks_.contribute(rank, step, values, gradients);
      if (rank == ranks.first) loss = its_loss;
    };
    if (ranks.level == 0) make(ranks.first, task->gradients);
    else sum_(ranks, make, task->gradients);
    task->work.values.clear();
    asio::post(io_.executor(0), [this, task = std::move(task)] { computed(*task); });
    // The rest runs while the contribution and the next values are on their way.
    if (done > reported_) callbacks_.step_done(reported_ = done, loss_, values);
    const bool is_newer = step > loss_step_ || (step == loss_step_ && ranks.first < loss_rank_);
    if (is_newer || !job_.consistency.is_synchronous()) {
      loss_ = loss;
      loss_step_ = step;
      loss_rank_ = ranks.first;
    }
    for (Rank rank = ranks.first; rank < ranks.end(job_.rank_names()) && wanted_.empty(); ++rank)
      callbacks_.prepare(rank, step + 1);
  }

  const Job job_;
  const ServingProcess process_;
  const std::vector<Address> servers_;
  WorkerClientOptions options_;
  const CutSettings cuts_;
  RanksJobCallbacks callbacks_;
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> busy_ = asio::make_work_guard(context_);

  // Used on the I/O thread.
  std::vector<BlockPool> blocks_;  // for gradients, one per shard
  std::vector<BlockPool> sums_;  // for sums, one per shard
  ServedRanks ranks_;
  std::map<RankBlock, std::unique_ptr<Worker>> workers_;
  std::shared_ptr<RankClient> asks_;
  std::uint64_t newest_worker_ = 0;
  std::size_t told_ranks_ = 0;  // how many ranks were told to be served
  std::vector<SharedBuffer> result_;
  Error why_;

  // Used on the owner's thread.
  BlockSum sum_;
  std::deque<std::shared_ptr<Task>> wanted_;  // the contributions that are to be made
  std::optional<WorkerEnd> end_;
  bool begun_ = false;
  bool started_ = false;
  Step reported_ = 0;
  Step saved_ = 0;
  Step loss_step_ = 0;
  Rank loss_rank_ = 0;
  float loss_ = 0;  // of the lowest rank in the newest step; asynchronous: of the last contribution

  IoPool io_{1, [this] { context_.stop(); }};
};

}  // namespace detail

DISTRIB_DECL auto make_ranks_job(const Job& job, ServingProcess process, std::vector<Address> servers,
                                 WorkerClientOptions options, CutSettings cuts, RanksJobCallbacks callbacks)
    -> std::unique_ptr<ClusterJob> {
  return std::make_unique<detail::RanksJobShell>(job, process, std::move(servers), std::move(options), std::move(cuts),
                                                 std::move(callbacks));
}

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/export_log/export_log.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/ps/cut/shard_files.hpp>
#include <distrib/ps/cut/state_fetch_core.hpp>
#include <distrib/ps/cut/stored_cuts.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/phase.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/server/detail/state_fetch.hpp>
#include <distrib/ps/server/perform_export.hpp>
#include <distrib/ps/server/server_options.hpp>
#include <distrib/ps/server/shard_exports.hpp>
#include <distrib/ps/server/shard_meter.hpp>
#include <distrib/ps/server/shard_service.hpp>
#include <distrib/ps/server/shard_shell.hpp>
#include <distrib/ps/server/task_end_core.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/store/shard_action.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/ps/wire/shard_status.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/server_event.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The shards of a ps task that live on one thread, with their connections, their clock, and their files. Files are
/// read and written on another thread; results are posted back. `RpcPoolServer` passes its events here.
///
/// On the lane's thread it calls `changed(lane, tally)`, `ended(lane, tally, code, why)`, `tell(kind, text)` and
/// `allow_connections(number)` of `Task`, and reads `shards_of_job()`, `options()`, `kinds()`, `identity(shard)`,
/// `name()`, `object_access()` and `address_of(task)`, which must be constant or atomic. On the thread of files it calls
/// `hold(directory, error)` before it uses a directory.
///
/// Threads: the executor's, but for constructor and destructor. When the destructor runs, no handler may run any more.
template <class Connection, class Task>
class Lane {
 public:
  using Executor = IoPool::Executor;

  /// `disk`: the thread of files. `exports`: the thread that extends export logs; it may be the same. `beside`: another
  /// thread, which does what no position of such a log waits for.
  Lane(Task& task, std::size_t number, const Executor& executor, const Executor& disk, const Executor& exports,
       const Executor& beside)
      : task_{task},
        number_{number},
        executor_{executor},
        disk_{disk},
        exports_{exports},
        beside_{beside},
        timer_{executor} {}
  Lane(const Lane&) = delete;
  auto operator=(const Lane&) -> Lane& = delete;

  [[nodiscard]] auto executor() const noexcept -> const Executor& { return executor_; }
  [[nodiscard]] auto number() const noexcept -> std::size_t { return number_; }

  // --- events of connections: the first is the greeting, which names the wanted shard ---

  void happened(const Connection& connection, const ServerEvent& event) {
    if (event.kind == ServerEvent::Kind::greeted) {
      if (event.service >= task_.shards_of_job())
        return connection->refuse(rpc_errc::unknown_service,
                                  "shard " + std::to_string(event.service) + " of " + task_.name());
      wanted_[connection] = event.service;
    } else if (const auto wanted = wanted_.find(connection); wanted != wanted_.end()) {
      Service& service = shard(wanted->second).service;
      service.meter().arrived(event.arrived);
      // The clock is read only at the end, by `settle`.
      service.happened(connection, event, latest_ = std::max(latest_, event.arrived));
    }
    settle();
  }

  void closed(const Connection& connection) {
    const auto wanted = wanted_.extract(connection);
    if (!wanted.empty()) shard(wanted.mapped()).service.closed(connection, Clock::now());
    if (leaving_) task_.changed(number_, tally());
    settle();
  }

  // --- what the task calls ---

  /// Makes a shard that no connection has asked for yet.
  void open(std::uint32_t number) { shard(number); }

  /// Saves and ends all shards, also the shards that are made later.
  void stop() {
    stopping_ = true;
    for (auto& [number, host] : shards_) host->service.stop();
    settle();
  }

  /// The directory has the checkpoint of a job's last step.
  void found_finished(Step step) {
    for (auto& [number, host] : shards_) host->service.found_finished(step, Clock::now());
    settle();
  }

  /// The job is done: removes the cuts that the user does not want, after all other work with files.
  void finish_files() {
    for (auto& [number, host] : shards_) host->files.finish(*host);
  }

  /// Looks whether other processes have taken over the shards. Only for cuts in an object store.
  void look_at_files() {
    for (auto& [number, host] : shards_)
      if (host->service.step() != 0 && !host->service.over()) host->files.look(*host);
  }

  /// From now on reports when connections end.
  void leave() {
    leaving_ = true;
    task_.changed(number_, tally());
  }

  /// Destroys all shards. From now on nothing is reported to the task.
  void close() {
    closed_ = true;
    timer_.cancel();
    wanted_.clear();
    shards_.clear();
  }

  [[nodiscard]] auto statuses() const -> std::vector<ShardStatus> {
    std::vector<ShardStatus> all;
    for (const auto& [number, host] : shards_) all.push_back(host->service.status(Clock::now()));
    return all;
  }

 private:
  using Service = ShardService<Connection>;
  using Clock = std::chrono::steady_clock;

  /// One shard, and the shell of its service.
  struct Host final : ShardShell {
    Host(Lane& on, std::uint32_t of)
        : lane{on},
          number{of},
          files{on.task_.options().directory},
          stored{std::make_shared<StoredCuts<>>(PosixFiles{}, on.task_.object_access())},
          service{on.task_.identity(of), on.task_.options().shard, on.task_.kinds(), *this, Clock::now()} {}

    void open(const Job& job, std::uint32_t of_shard, const CutSettings& cuts, const JobUpdaters& of_job) override {
      replica = of_shard;
      updaters = of_job;
      // each worker has a connection to each shard of the task
      if (number == 0)
        lane.task_.allow_connections(std::uint64_t{job.rank_names()} * job.shards_per_task * job.replicas +
                                     lane.task_.identity(0).processes);
      files.open(job, of_shard, cuts, of_job, *this);
      lane.task_.changed(lane.number_, lane.tally());
    }
    void copy() override {  // after the events that are waiting
      asio::post(lane.executor_, [this, &on = lane] {
        if (on.closed_) return;
        service.copy_cut(Clock::now());
        on.settle();
      });
    }
    void save(SaveCut action) override { files.save(std::move(action), *this); }
    void save_ranks(RankFile file) override { files.save_ranks(std::move(file), *this); }
    void load(Step step) override { files.load(step, *this); }
    void drop(DropCut action) override { files.drop(action, *this); }
    void send(SendState action) override { files.send(action, *this); }
    void ask_sibling(const std::string& job_hash, Step have) override {
      const Job& job = *service.job();
      const ServerOptions& options = lane.task_.options();
      const std::uint32_t sibling = job.sibling_of(replica);
      RpcClientOptions rpc;
      rpc.service = job.service_of(sibling);
      rpc.categories = ps_categories();
      rpc.secret = options.rpc.secret;
      rpc.transport = options.rpc.transport;
      StateFetchCore core{
          job, replica, updaters, job_hash, have, options.shard.memory_budget_bytes, options.shard.lease};
      fetch = std::make_shared<StateFetch>(lane.executor_, lane.task_.address_of(job.task_of(sibling)), std::move(rpc),
                                           std::move(core), [this](const std::optional<Cut>& cut) {
                                             files.state_came(cut, service, Clock::now(), *this);
                                             lane.settle();
                                           });
      fetch->start();
    }
    void joined_twice(Rank rank) override {
      lane.task_.tell(Event::Kind::joined_twice,
                      "a second process joined as rank " + std::to_string(rank) +
                          " while the first is connected: harmless, each contribution counts once; end one of them");
    }
    void goes_on_without(Rank rank) override {
      lane.task_.tell(Event::Kind::lost, "rank " + std::to_string(rank) +
                                             " is lost permanently: the job goes on without it, because it has backup "
                                             "workers; the rank is taken again if it is started again");
    }
    void joined_unlike(const std::string& text) override { lane.task_.tell(Event::Kind::unlike_arithmetic, text); }
    void asked_for_ranks(const std::string& text) override { lane.task_.tell(Event::Kind::ranks_asked_for, text); }
    void asked_to_erase(const std::string& text) override { lane.task_.tell(Event::Kind::erase_asked_for, text); }
    void last_export_missing() override {
      const auto waited = std::chrono::duration_cast<std::chrono::seconds>(ShardExports::last_patience);
      lane.task_.tell(Event::Kind::export_failed, "the last step is not exported: tried for " +
                                                      std::to_string(waited.count()) + " s; its checkpoint has it");
    }
    void ended(int code, const Error& why) override { lane.task_.ended(lane.number_, lane.tally(), code, why); }

    // The actions of `files`.
    void operator()(CutWork work) {
      lane.on_disk(std::make_shared<CutWork>(std::move(work)), stored, number, [this](CutWork done) {
        const bool had_job = service.job().has_value();
        files.performed(std::move(done), service, Clock::now(), *this);
        if (had_job && !service.job()) lane.task_.changed(lane.number_, lane.tally());
      });
    }
    void operator()(const Event& event) { lane.task_.tell(event.kind, event.text); }
    void operator()(const EndTask& end) { ended(end.code, end.why); }

    Lane& lane;
    std::uint32_t number;
    Step reached = 0;  // as it was reported
    ShardFiles files;
    std::shared_ptr<StoredCuts<>> stored;  // used on the thread of files only
    std::uint32_t replica = 0;  // the number of the replica in the job
    JobUpdaters updaters;
    std::shared_ptr<StateFetch> fetch;
    std::shared_ptr<ExportLog> log;  // used on the thread that exports only
    std::shared_ptr<ExportLog> log_beside;  // used on the thread beside it only
    Service service;
  };

  // Returns the shard; makes it if it does not exist yet.
  auto shard(std::uint32_t number) -> Host& {
    auto& host = shards_[number];
    if (host == nullptr) {
      host = std::make_unique<Host>(*this, number);
      task_.changed(number_, tally());
      if (stopping_) host->service.stop();
      settle();
    }
    return *host;
  }

  [[nodiscard]] auto tally() const -> ShardTally {
    ShardTally tally;
    tally.connections = wanted_.size();
    for (const auto& [number, host] : shards_) {
      if (number >= task_.shards_of_job()) continue;  // a connection asked for it before the job was known
      ++tally.shards;
      if (host->service.over()) ++tally.over;
      if (const auto& job = host->service.job()) tally.shards_of_job = job->shards_per_task * job->replicas;
    }
    return tally;
  }

  // Performs the work on the thread of files, in order, one at a time. Then calls `done` here.
  void on_disk(std::shared_ptr<CutWork> work, std::shared_ptr<StoredCuts<>> stored, std::uint32_t shard,
               std::function<void(CutWork)> done) {
    asio::post(
        disk_, [this, work = std::move(work), stored = std::move(stored), shard, done = std::move(done)]() mutable {
          if (work->owner) task_.hold(work->owner->settings.directory, work->failure);
          const Instant begun = Clock::now();
          if (!work->failure) (*stored)(*work);
          if (task_.options().phases && work->kind == CutWork::Kind::save)
            task_.tell(Phase{Phase::Kind::save, shard, work->cut.step, begun, Clock::now(), false});
          asio::post(executor_, [this, work = std::move(work), stored = std::move(stored), done = std::move(done)] {
            if (closed_) return;
            done(std::move(*work));
            settle();
          });
        });
  }

  // After every event: adds the durations of answered calls, and sets the timer to the earliest wake-up of all shards.
  void settle() {
    if (closed_) return;
    Instant first = Instant::max();
    for (const auto& [number, host] : shards_) {
      if (task_.options().phases) look_at_step(*host, number);
      if (ShardExports* const exports = host->service.exports()) export_some(*host, *exports);
      if (ShardMeter& meter = host->service.meter(); meter.has_answered()) meter.answered(latest_ = Clock::now());
      if (const auto wake = host->service.wake()) first = std::min(first, *wake);
    }
    if (first == Instant::max() || first == armed_) return;
    armed_ = first;
    timer_.expires_at(first);
    timer_.async_wait([this](const std::error_code& ec) {
      if (ec || closed_) return;
      armed_ = Instant::max();
      for (auto& [number, host] : shards_) host->service.woken(Clock::now());
      settle();
    });
  }

  // Begins the next work of a shard that exports, on the thread that exports, and beside it.
  void export_some(Host& host, ShardExports& exports) {
    if (const Error failed = exports.take_failure())
      task_.tell(Event::Kind::export_failed,
                 "cannot export: " + failed.where + ": " + failed.code.message() + "; tried again");
    perform(host, exports, exports.next(Clock::now()), exports_, host.log);
    perform(host, exports, exports.next_beside(), beside_, host.log_beside);
  }

  void perform(Host& host, const ShardExports& exports, std::optional<ExportWork> work, const Executor& on,
               std::shared_ptr<ExportLog>& log) {
    if (!work) return;
    if (log == nullptr || log->name() != exports.settings().directory)
      log = std::make_shared<ExportLog>(exports.settings().directory, task_.options().open_store);
    asio::post(on,
               [this, &host, log, writer = exports.writer(), work = std::make_shared<ExportWork>(std::move(*work))] {
                 try {
                   perform_export(*log, *writer, *work);
                 } catch (const std::bad_alloc&) {  // later there may be more memory
                   work->failure = {std::make_error_code(std::errc::not_enough_memory), log->name()};
                 }
                 asio::post(executor_, [this, &host, work] {
                   if (closed_) return;
                   host.service.exported(std::move(*work), Clock::now());
                   settle();
                 });
               });
  }

  static void look_at_step(Host& host, std::uint32_t number) {
    const Step step = host.service.step();
    if (step == std::exchange(host.reached, step)) return;
    const Instant now = Clock::now();
    host.lane.task_.tell(Phase{Phase::Kind::reached, number, step, now, now, false});
  }

  Task& task_;
  std::size_t number_;
  Executor executor_;
  Executor disk_;
  Executor exports_;
  Executor beside_;
  std::map<std::uint32_t, std::unique_ptr<Host>> shards_;
  std::map<Connection, std::uint32_t> wanted_;  // the shard that a connection uses
  SteadyTimer timer_;
  Instant armed_ = Instant::max();
  Instant latest_{};  // the latest time that was read here or arrived with an event
  bool stopping_ = false;
  bool leaving_ = false;
  bool closed_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

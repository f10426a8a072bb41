// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/error.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connection_core.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/ps/any_shard.hpp>
#include <distrib/ps/cut_pieces.hpp>
#include <distrib/ps/cut_settings.hpp>
#include <distrib/ps/cut_store.hpp>
#include <distrib/ps/detail/state_fetch.hpp>
#include <distrib/ps/error.hpp>
#include <distrib/ps/exit_code.hpp>
#include <distrib/ps/initial_cut.hpp>
#include <distrib/ps/job.hpp>
#include <distrib/ps/messages.hpp>
#include <distrib/ps/methods.hpp>
#include <distrib/ps/server_options.hpp>
#include <distrib/ps/shard_action.hpp>
#include <distrib/ps/shard_clock.hpp>
#include <distrib/ps/shard_layout.hpp>
#include <distrib/ps/shard_meter.hpp>
#include <distrib/ps/shard_service.hpp>
#include <distrib/ps/shard_status.hpp>
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

/// How many there are on a lane.
struct ShardTally {
  std::size_t shards = 0;
  std::size_t over = 0;             ///< Of those.
  std::size_t connections = 0;
  std::uint32_t shards_of_job = 0;  ///< Of one task, replicas too; 0: none of these knows a job.
};

/// The shards of a ps task that live on one thread, with the connections that speak to them, their clock, and their
/// files, which are read and written on another thread: what came of it is posted back. What `RpcPoolServer` speaks to.
///
/// `Task` is told, from this thread: `changed(lane, tally)`, `ended(lane, tally, code, why)` and `tell(kind, text)`; it
/// is asked from here for `shards_of_job()`, `options()`, `kinds()`, `place(shard)`, `name()` and `address_of(task)`,
/// which must not change, or be atomic; and, on the thread of files, to `hold(directory)`, before anything is done there.
/// Threads: all on the executor's, but the constructor and destructor; no handler may run any more then.
template <class Connection, class Task>
class ShardLane {
 public:
  using Executor = IoPool::Executor;
  using Stores = std::vector<std::shared_ptr<CutStore<>>>;

  ShardLane(Task& task, std::size_t number, const Executor& executor, const Executor& disk)
      : task_{task}, number_{number}, executor_{executor}, disk_{disk}, timer_{executor} {}
  ShardLane(const ShardLane&) = delete;
  auto operator=(const ShardLane&) -> ShardLane& = delete;

  [[nodiscard]] auto executor() const noexcept -> const Executor& { return executor_; }
  [[nodiscard]] auto number() const noexcept -> std::size_t { return number_; }

  // --- events of connections: the first is the greeting, which says which shard it wants ---

  void happened(const Connection& connection, const ServerEvent& event) {
    if (event.kind == ServerEvent::Kind::greeted) {
      if (event.service >= task_.shards_of_job())
        return connection->refuse(rpc_errc::unknown_service,
                                  "shard " + std::to_string(event.service) + " of " + task_.name());
      wanted_[connection] = event.service;
    } else if (const auto wanted = wanted_.find(connection); wanted != wanted_.end()) {
      Service& service = shard(wanted->second).service;
      service.meter().arrived(event.arrived);
      // No reading of the clock but at the end, by `settle`.
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

  // --- what the task wants ---

  /// Makes a shard that nobody has asked for yet.
  void open(std::uint32_t number) { shard(number); }

  /// Has all shards saved, and those that are made later.
  void stop() {
    stopping_ = true;
    for (auto& [number, host] : shards_) host->service.stop();
    settle();
  }

  /// The directory holds the end of a job at this step. Shards that know one heed their own cuts, but for replicas.
  void found_finished(Step step) {
    for (auto& [number, host] : shards_) {
      const auto& job = host->service.job();
      host->service.woken(Clock::now(), !job || step >= job->total_steps);
    }
    settle();
  }

  /// Tells from now on when connections end.
  void leave() {
    leaving_ = true;
    task_.changed(number_, tally());
  }

  /// Ends them all; nothing is told any more.
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

  [[nodiscard]] auto stores() const -> Stores {
    Stores all;
    for (const auto& [number, host] : shards_)
      if (host->store) all.push_back(host->store);
    return all;
  }

 private:
  using Service = ShardService<Connection>;
  using Clock = std::chrono::steady_clock;

  /// One shard, its service's shell.
  struct Host final : ShardShell {
    Host(ShardLane& on, std::uint32_t number)
        : lane{on}, service{on.task_.place(number), on.task_.options().shard, on.task_.kinds(), *this, Clock::now()} {}

    void open(const Job& job, std::uint32_t of_shard, const CutSettings& cuts, const JobUpdaters& of_job) override {
      struct Found {
        std::shared_ptr<CutStore<>> store;
        std::vector<Step> steps;
        std::optional<Cut> newest;
        std::vector<Error> refused;
      };
      replica = of_shard;
      updaters = of_job;
      initial = [job, shard = replica % job.shards(), of_job] {
        return initial_cut(job, ShardLayout{job, shard}, of_job);
      };
      auto found = std::make_shared<Found>();
      CutSettings settings = cuts;
      if (const std::string& here = lane.task_.options().directory; !here.empty()) settings.directory = here;
      lane.on_disk(
          [&task = lane.task_, found, job, replica = of_shard, settings, of_job, initial = initial] {
            task.hold(settings.directory);
            found->store = std::make_shared<CutStore<>>(settings, job, replica, of_job);
            found->steps = found->store->list(found->refused);
            // To begin anew would overwrite what somebody may yet want to mend.
            if (found->steps.empty() && !found->refused.empty()) throw_if(found->refused.front());
            if (!found->steps.empty()) found->newest = found->store->read(found->steps.back());
            else if (!job.initial_checkpoint.empty()) found->newest = initial();
          },
          [this, found, checkpoint = job.initial_checkpoint](const Error& failure) {
            // Workers are told nothing: they find the other process, or this task when it is started again.
            if (failure.code == ps_errc::directory_in_use)
              return lane.task_.ended(lane.number_, lane.tally(), exit_code::refused, failure);
            if (failure) return not_opened(failure);
            store = found->store;
            for (const Error& error : found->refused)
              lane.task_.tell(Event::Kind::checkpoint_refused,
                              "passed over a damaged cut: " + error.where + ": " + error.code.message());
            if (found->newest)
              lane.task_.tell(Event::Kind::restored, found->steps.empty() ? "beginning with values of " + checkpoint
                                                                          : "going on from its cut of step " +
                                                                                std::to_string(found->newest->step));
            try {
              service.opened(found->steps, found->newest ? &*found->newest : nullptr, Clock::now());
            } catch (const std::system_error& error) {  // tables that need more memory than there is
              not_opened(error_of(error));
            }
          });
      lane.task_.changed(lane.number_, lane.tally());
    }
    void copy() override {  // whatever has come meanwhile is first
      asio::post(lane.executor_, [this, &on = lane] {
        if (on.closed_) return;
        service.copy_cut(Clock::now());
        on.settle();
      });
    }
    void save(SaveCut action) override {
      struct Work {
        SaveCut asked;
        Cut cut;
      };
      const Step step = action.cut.step;
      auto work = std::make_shared<Work>(Work{std::move(action), {}});
      lane.on_disk(
          [store = store, work] {
            work->cut = std::move(work->asked).finish();
            store->save(work->cut);
          },
          [this, work, step](const Error& failure) {
            *work = {};  // on this thread, where blocks are taken again
            if (!failure) return service.cut_saved(step, Clock::now());
            if (failure.code == checkpoint_errc::no_room)
              lane.task_.tell(Event::Kind::no_room, "no room for the cut of step " + std::to_string(step) + ", " +
                                                        failure.where + "; another try follows");
            service.save_failed(failure, Clock::now());
          });
    }
    void load(Step step) override {
      auto cut = std::make_shared<Cut>();
      lane.on_disk([store = store, initial = initial, cut, step] { *cut = step == 0 ? initial() : store->read(step); },
                   [this, cut, step](const Error& failure) {
                     if (failure) {
                       lane.task_.tell(Event::Kind::checkpoint_refused,
                                       "cannot go to its cut of step " + std::to_string(step) + ": " + failure.where +
                                           ": " + failure.code.message());
                       return service.load_failed(failure, Clock::now());
                     }
                     lane.task_.tell(Event::Kind::restored, "went to its cut of step " + std::to_string(step) +
                                                                ", as a worker asked: what follows is computed again");
                     try {
                       service.cut_loaded(*cut, Clock::now());
                     } catch (const std::system_error& error) {
                       service.load_failed(error_of(error), Clock::now());
                     }
                   });
    }
    void drop(DropCut action) override {
      lane.on_disk([store = store, action] { store->drop(action.step, action.in_vain); },
                   [](const Error&) {});  // what stays is cleared away at a start
    }
    void ask_sibling(const std::string& job_hash, Step have) override {
      const Job& job = *service.job();
      const ServerOptions& options = lane.task_.options();
      const std::uint32_t sibling = job.sibling_of(replica);
      RpcClientOptions rpc;
      rpc.service = job.service_of(sibling);
      rpc.categories = ps_categories();
      rpc.secret = options.rpc.secret;
      CutAssembly assembly{ShardLayout{job, sibling % job.shards()}, updaters, options.shard.memory_budget_bytes};
      fetch = std::make_shared<StateFetch>(
          lane.executor_, rpc, StateRequest{job_hash, have, 0}, std::move(assembly), options.shard.lease,
          [this](const std::optional<Cut>& cut) {
            if (cut)
              lane.task_.tell(Event::Kind::restored,
                              "going on from the state of its other replica, step " + std::to_string(cut->step));
            service.state_came(cut ? &*cut : nullptr, Clock::now());
            lane.settle();
          });
      fetch->start(lane.task_.address_of(job.task_of(sibling)));
    }
    void send(SendState action) override {
      auto cut = std::make_shared<Cut>();
      lane.on_disk([store = store, cut, action] { *cut = store->read(action.step); },
                   [this, cut, action](const Error& failure) {
                     service.state_read(action.peer, failure ? nullptr : cut.get());
                   });
    }
    void joined_twice(Rank rank) override {
      lane.task_.tell(Event::Kind::joined_twice, "somebody joined for rank " + std::to_string(rank) +
                                                     ", which is here already: a second process of it does no harm");
    }
    void ended(int code, const Error& why) override { lane.task_.ended(lane.number_, lane.tally(), code, why); }

    void not_opened(const Error& why) {
      service.not_opened(why);
      lane.task_.changed(lane.number_, lane.tally());
    }

    ShardLane& lane;
    std::shared_ptr<CutStore<>> store;  // used on the disk's thread only
    std::function<Cut()> initial;
    std::uint32_t replica = 0;  // which one of the job's
    JobUpdaters updaters;
    std::shared_ptr<StateFetch> fetch;
    Service service;
  };

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
      if (number >= task_.shards_of_job()) continue;  // somebody wanted it before the job said how many there are
      ++tally.shards;
      if (host->service.over()) ++tally.over;
      if (const auto& job = host->service.job()) tally.shards_of_job = job->shards_per_task * job->replicas;
    }
    return tally;
  }

  // Runs `work` on the disk's thread and then `done` here, with what went wrong. In order, one at a time.
  void on_disk(std::function<void()> work, std::function<void(const Error&)> done) {
    asio::post(disk_, [this, work = std::move(work), done = std::move(done)]() mutable {
      Error failure;
      try {
        work();
      } catch (const std::system_error& error) {
        failure = error_of(error);
      } catch (const std::bad_alloc&) {
        failure = {std::make_error_code(std::errc::not_enough_memory), "a cut"};
      }
      asio::post(executor_, [this, failure = std::move(failure), work = std::move(work), done = std::move(done)] {
        if (closed_) return;
        done(failure);
        settle();
      });
    });
  }

  // After every event: how long took what was answered, and the next wake-up of any shard.
  void settle() {
    if (closed_) return;
    Instant first = Instant::max();
    for (const auto& [number, host] : shards_) {
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

  Task& task_;
  std::size_t number_;
  Executor executor_;
  Executor disk_;
  std::map<std::uint32_t, std::unique_ptr<Host>> shards_;
  std::map<Connection, std::uint32_t> wanted_;  // which shard a connection speaks to
  SteadyTimer timer_;
  Instant armed_ = Instant::max();
  Instant latest_{};  // that was read here, or with what came
  bool stopping_ = false;
  bool leaving_ = false;
  bool closed_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

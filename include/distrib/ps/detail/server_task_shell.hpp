// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/roles.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connection_core.hpp>
#include <distrib/net/error.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/net/listener.hpp>
#include <distrib/ps/any_shard.hpp>
#include <distrib/ps/cut_settings.hpp>
#include <distrib/ps/cut_store.hpp>
#include <distrib/ps/detail/page_server.hpp>
#include <distrib/ps/detail/server_task.hpp>
#include <distrib/ps/error.hpp>
#include <distrib/ps/exit_code.hpp>
#include <distrib/ps/finished_job.hpp>
#include <distrib/ps/initial_cut.hpp>
#include <distrib/ps/job.hpp>
#include <distrib/ps/metrics_text.hpp>
#include <distrib/ps/server_options.hpp>
#include <distrib/ps/shard_action.hpp>
#include <distrib/ps/shard_clock.hpp>
#include <distrib/ps/shard_service.hpp>
#include <distrib/ps/shard_status.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/rpc_server.hpp>
#include <distrib/rpc/server_session.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib::inline v0::detail {

/// The shell of a ps task: an rpc server whose connections go to the service of the shard they ask for, and the files of
/// those shards. Lives on one executor; files are read and written on another one, and what came of it is posted back.
/// A heap object that its handlers hold.
template <class ListenerType>
class ServerTaskShell final : public ServerTask, public std::enable_shared_from_this<ServerTaskShell<ListenerType>> {
 public:
  ServerTaskShell(IoPool& io, const ClusterSpec& cluster, std::uint32_t index, ShardKinds kinds, ServerOptions options)
      : executor_{io.executor(0)}, disk_{io.executor(io.size() - 1)}, kinds_{std::move(kinds)},
        options_{std::move(options)}, name_{to_string(TaskId{"ps", index})}, timer_{executor_} {
    place_.task = index;
    place_.tasks = static_cast<std::uint32_t>(cluster.num_tasks("ps"));
    place_.ranks = static_cast<std::uint32_t>(worker_count(cluster, "worker"));
    place_.finished = !finished_checkpoint(options_.directory).empty();
    address_ = Address::parse(cluster.task_address("ps", index));
  }

  /// Listens. On an address that is not this machine's own (a name of a service, a forwarded port): on its port of every
  /// interface.
  void start() {
    try {
      listen(address_);
    } catch (const std::system_error& error) {
      if (error.code() != net_errc::not_local && error.code() != net_errc::unresolved) throw;
      listen({"*", address_.port});
    }
    if (options_.metrics) try {
        show_metrics(*options_.metrics);
      } catch (const std::system_error&) {
        abandon();  // connections may be there already
        throw;
      }
    asio::post(executor_, [self = this->shared_from_this()] { self->shard(0); });
  }

  [[nodiscard]] auto executor() const noexcept -> Executor override { return executor_; }
  [[nodiscard]] auto port() const noexcept -> std::uint16_t override { return port_; }
  [[nodiscard]] auto metrics_port() const noexcept -> std::uint16_t override { return metrics_port_; }
  [[nodiscard]] auto why() const noexcept -> const Error& override { return why_; }

  void join(std::function<void(int)> told) override {
    asio::post(executor_, [self = this->shared_from_this(), told = std::move(told)]() mutable {
      self->joined_ = std::move(told);
      self->tell_end();
    });
  }

  void stop() override {
    asio::post(executor_, [self = this->shared_from_this()] {
      if (self->over_ || self->closed_) return;
      self->tell(Event::Kind::interrupted, "asked to stop: saving");
      for (auto& [number, host] : self->shards_) host->service.stop();
      self->settle();
    });
  }

  void abandon() override {
    asio::post(executor_, [self = this->shared_from_this()] { self->close(); });
  }

 private:
  using Connection = std::shared_ptr<BasicServerSession<typename ListenerType::Socket>>;
  using Service = ShardService<Connection>;
  using Clock = std::chrono::steady_clock;

  /// One shard, its service's shell.
  struct ShardHost final : ShardShell {
    ShardHost(ServerTaskShell& owner, const ShardPlace& place)
        : task{owner}, service{place, owner.options_.shard, owner.kinds_, *this, Clock::now()} {}

    void open(const Job& job, std::uint32_t number, const CutSettings& cuts,
              const JobUpdaters& updaters) override {
      struct Found {
        std::shared_ptr<CutStore<>> store;
        std::vector<Step> steps;
        std::optional<Cut> newest;
        std::vector<Error> refused;
      };
      initial = [job, number, updaters] { return initial_cut(job, ShardLayout{job, number}, updaters); };
      auto found = std::make_shared<Found>();
      CutSettings settings = cuts;
      if (!task.options_.directory.empty()) settings.directory = task.options_.directory;
      task.on_disk(
          [found, job, number, settings, updaters] {
            found->store = std::make_shared<CutStore<>>(settings, job, number, updaters);
            found->steps = found->store->list(found->refused);
            // To begin anew would overwrite what somebody may yet want to mend.
            if (found->steps.empty() && !found->refused.empty()) throw_if(found->refused.front());
            if (!found->steps.empty()) found->newest = found->store->read(found->steps.back());
          },
          [this, found](const Error& failure) {
            if (failure) return service.not_opened(failure);
            store = found->store;
            for (const Error& error : found->refused)
              task.tell(Event::Kind::checkpoint_refused, "passed over a damaged cut: " + error.where + ": " +
                                                             error.code.message());
            if (found->newest)
              task.tell(Event::Kind::restored, "going on from its cut of step " + std::to_string(found->newest->step));
            service.opened(found->steps, found->newest ? &*found->newest : nullptr, Clock::now());
          });
    }
    void save(Cut cut) override {
      auto kept = std::make_shared<Cut>(std::move(cut));
      task.on_disk([this, kept] { store->save(*kept); },
                   [this, kept](const Error& failure) {
                     const Step step = kept->step;
                     *kept = {};  // on this thread, where blocks are taken again
                     if (failure) return service.save_failed(failure);
                     service.cut_saved(step, Clock::now());
                   });
    }
    void load(Step step) override {
      auto cut = std::make_shared<Cut>();
      task.on_disk([this, cut, step] { *cut = step == 0 ? initial() : store->read(step); },
                   [this, cut](const Error& failure) {
                     if (failure) return service.save_failed(failure);
                     service.cut_loaded(*cut, Clock::now());
                   });
    }
    void drop(Step step) override {
      task.on_disk([this, step] { store->drop(step); }, [](const Error&) {});  // what stays is cleared away at a start
    }
    void joined_twice(Rank rank) override {
      task.tell(Event::Kind::joined_twice, "somebody joined for rank " + std::to_string(rank) +
                                               ", which is here already: a second process of it does no harm");
    }
    void ended(int code, const Error& why) override { task.ended(code, why); }

    ServerTaskShell& task;
    std::shared_ptr<CutStore<>> store;         // used on the disk's thread only
    std::function<Cut()> initial;
    Service service;
  };

  /// What the rpc server speaks to.
  struct Room {
    ServerTaskShell* task;
    void dispatch(const Connection& connection, const ServerEvent& event) const { task->happened(connection, event); }
    void happened(const Connection& connection, const ServerEvent& event) const { task->happened(connection, event); }
    void closed(const Connection& connection) const { task->closed(connection); }
  };

  void listen(const Address& address) {
    RpcServerOptions options = options_.rpc;
    options.services = most_shards;
    server_.emplace(executor_, address, Room{this}, options);
    port_ = server_->port();
  }

  void show_metrics(const Address& address) {
    const auto content = [this] {
      std::vector<ShardStatus> all;
      for (const auto& [number, host] : shards_)
        if (number < shards_of_job()) all.push_back(host->service.status(Clock::now()));
      return metrics_text(all);
    };
    page_.reset(new PageServer<Listener>{executor_, address, {"/metrics", std::string{metrics_content_type}, content}});
    metrics_port_ = page_->port();
  }

  // A connection's first event is its greeting, which says which shard it wants.
  void happened(const Connection& connection, const ServerEvent& event) {
    if (event.kind == ServerEvent::Kind::greeted && event.service >= shards_of_job())
      connection->refuse(rpc_errc::unknown_service, "shard " + std::to_string(event.service) + " of " + name_);
    else if (event.kind == ServerEvent::Kind::greeted)
      wanted_[connection] = event.service;
    else
      shard(wanted_[connection]).service.happened(connection, event, Clock::now());
    settle();
  }

  void closed(const Connection& connection) {
    const auto wanted = wanted_.extract(connection);
    if (!wanted.empty()) shard(wanted.mapped()).service.closed(connection, Clock::now());
    if (hang_up_timer_ && server_->connections() == 0) hang_up_timer_->cancel();
    settle();
  }

  auto shard(std::uint32_t number) -> ShardHost& {
    auto& host = shards_[number];
    if (host == nullptr) {
      ShardPlace place = place_;
      place.shard = number;
      host = std::make_unique<ShardHost>(*this, place);
      settle();
    }
    return *host;
  }

  // How many shards this task has; as many as there may be while no job is known.
  [[nodiscard]] auto shards_of_job() const -> std::uint32_t {
    for (const auto& [number, host] : shards_)
      if (const auto& job = host->service.job()) return job->shards_per_task;
    return most_shards;
  }

  // Runs `work` on the disk's thread and then `done` here, with what went wrong. In order, one at a time.
  void on_disk(std::function<void()> work, std::function<void(const Error&)> done) {
    asio::post(disk_, [self = this->shared_from_this(), work = std::move(work), done = std::move(done)]() mutable {
      Error failure;
      try {
        work();
      } catch (const std::system_error& error) {
        failure = error_of(error);
      } catch (const std::bad_alloc&) {
        failure = {std::make_error_code(std::errc::not_enough_memory), "a cut"};
      }
      const Executor executor = self->executor_;
      asio::post(executor, [self = std::move(self), failure = std::move(failure), work = std::move(work),
                            done = std::move(done)] {
        if (self->closed_) return;
        done(failure);
        self->settle();
      });
    });
  }

  // --- time and the end ---

  // After every event: the next wake-up of any shard.
  void settle() {
    if (closed_) return;
    Instant first = Instant::max();
    for (const auto& [number, host] : shards_)
      if (const auto wake = host->service.wake()) first = std::min(first, *wake);
    if (first == Instant::max() || first == armed_) return;
    armed_ = first;
    timer_.expires_at(first);
    timer_.async_wait([self = this->shared_from_this()](const std::error_code& ec) {
      if (ec || self->closed_) return;
      self->armed_ = Instant::max();
      for (auto& [number, host] : self->shards_) host->service.woken(Clock::now());
      self->settle();
    });
  }

  // The task is over when all its shards are, or at once when one cannot go on.
  void ended(int code, const Error& why) {
    if (why.code == ps_errc::nobody_joined && shards_of_job() != most_shards) return;  // they came to other shards
    if (code != 0 && code_ == 0) {
      code_ = code;
      why_ = why;
    }
    std::uint32_t over = 0;
    for (const auto& [number, host] : shards_)
      if (host->service.over()) ++over;
    const std::uint32_t all = shards_of_job() == most_shards ? 1 : shards_of_job();
    const bool saving = code_ == exit_code::again && over < shards_.size();
    if (ending_ || saving || (code_ == 0 && over < all)) return;
    ending_ = true;
    // Not from here: a core is in the middle of telling it. And after all that is still to be done with files.
    std::vector<std::shared_ptr<CutStore<>>> done;
    for (const auto& [number, host] : shards_)
      if (code_ == exit_code::done && host->store) done.push_back(host->store);
    on_disk(
        [done = std::move(done)] {
          for (const auto& store : done) store->finish();
        },
        [this](const Error&) { hang_up(); });
  }

  // What was answered is still written; who does not read it is not waited for.
  void hang_up() {
    if (closed_) return;
    server_->drain(hang_up_within);
    if (server_->connections() == 0) return finish();
    hang_up_timer_.emplace(executor_);
    hang_up_timer_->expires_after(hang_up_within);
    hang_up_timer_->async_wait([self = this->shared_from_this()](const std::error_code&) { self->finish(); });
  }

  void finish() {
    over_ = true;
    close();
    tell_end();
  }

  void close() {
    closed_ = true;
    server_.reset();
    page_.reset();
    timer_.cancel();
    if (hang_up_timer_) hang_up_timer_->cancel();
  }

  void tell_end() {
    if (!over_ || !joined_) return;
    std::exchange(joined_, {})(code_);
  }

  void tell(Event::Kind kind, const std::string& text) {
    if (options_.observer) options_.observer({kind, name_, {}, {}, name_ + ": " + text});
  }

  static constexpr std::chrono::milliseconds hang_up_within{2'000};
  static constexpr std::uint32_t most_shards = 256;  // of one task

  Executor executor_;
  Executor disk_;
  ShardKinds kinds_;
  ServerOptions options_;
  std::string name_;
  ShardPlace place_;
  Address address_;
  std::uint16_t port_ = 0;
  std::uint16_t metrics_port_ = 0;
  std::map<std::uint32_t, std::unique_ptr<ShardHost>> shards_;
  std::map<Connection, std::uint32_t> wanted_;  // which shard a connection speaks to
  SteadyTimer timer_;
  Instant armed_ = Instant::max();
  std::optional<SteadyTimer> hang_up_timer_;
  std::function<void(int)> joined_;
  int code_ = 0;
  Error why_;
  bool ending_ = false;
  bool over_ = false;
  bool closed_ = false;
  std::unique_ptr<PageServer<Listener>> page_;                // null: no metrics
  std::optional<RpcServer<Room, ListenerType>> server_;  // the last: its connections speak to all of the above
};

template <class ListenerType>
auto make_server_task(IoPool& io, const ClusterSpec& cluster, std::uint32_t index, ShardKinds kinds,
                      ServerOptions options) -> std::shared_ptr<ServerTask> {
  auto task = std::make_shared<ServerTaskShell<ListenerType>>(io, cluster, index, std::move(kinds), std::move(options));
  task->start();
  return task;
}

}  // namespace distrib::inline v0::detail

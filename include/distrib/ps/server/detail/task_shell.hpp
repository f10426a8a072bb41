// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/file_names.hpp>
#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/roles.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/core/usable_memory.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/descriptor_limit.hpp>
#include <distrib/net/error.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/net/page_server.hpp>
#include <distrib/net/run_on.hpp>
#include <distrib/net/transport.hpp>
#include <distrib/net/transport_refresh.hpp>
#include <distrib/ps/cut/finished_job.hpp>
#include <distrib/ps/cut/object_access.hpp>
#include <distrib/ps/cut/object_checkpoints.hpp>
#include <distrib/ps/cut/patience.hpp>
#include <distrib/ps/job/client_rules.hpp>
#include <distrib/ps/job/directory_lock.hpp>
#include <distrib/ps/job/phase.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/protocol/any_shard.hpp>
#include <distrib/ps/server/detail/give_way.hpp>
#include <distrib/ps/server/detail/lane.hpp>
#include <distrib/ps/server/detail/server_task.hpp>
#include <distrib/ps/server/metrics_text.hpp>
#include <distrib/ps/server/server_options.hpp>
#include <distrib/ps/server/shard_identity.hpp>
#include <distrib/ps/server/status_page.hpp>
#include <distrib/ps/server/task_end_core.hpp>
#include <distrib/ps/wire/shard_status.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/rpc/nonce.hpp>
#include <distrib/rpc/rpc_pool_server.hpp>
#include <distrib/rpc/server_session.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The shell of a ps task: an rpc server whose shards are divided into lanes, one lane per thread of the pool. The last
/// thread has no lane; it reads and writes files. A pool of one thread does both on it. Shard s is on lane s % lanes.
/// A task that can open object stores writes export logs on one more thread: a store that is away must not delay cuts.
/// Another thread writes their bases and removes their old positions, so that no position waits for that.
/// State of the whole task (whether it is over, the pages, the observer) belongs to the first thread.
class TaskShell final : public ServerTask {
 public:
  using Lane = detail::Lane<ServerConnection, TaskShell>;
  static constexpr std::size_t most_events = 50;

  TaskShell(IoPool& io, const ClusterSpec& cluster, std::uint32_t index, ShardKinds kinds, ServerOptions options)
      : io_{io},
        executor_{io.executor(0)},
        disk_{io.executor(io.size() - 1)},
        cluster_{cluster},
        kinds_{std::move(kinds)},
        options_{std::move(options)},
        name_{to_string(TaskId{"ps", index})},
        end_{lanes_of(io), options_.shard.linger},
        look_timer_{executor_},
        hang_up_timer_{executor_} {
    options_.shard.task_memory_bytes = std::min(options_.shard.task_memory_bytes, usable_memory() / 2);
    identity_.task = index;
    identity_.tasks = static_cast<std::uint32_t>(cluster.num_tasks("ps"));
    identity_.ranks = static_cast<std::uint32_t>(rank_count(cluster));
    if (options_.ranks != 0) {
      identity_.processes = identity_.ranks;
      identity_.ranks = options_.ranks;
    }
    Error error;
    hold(options_.directory, error);
    throw_if(error);
    identity_.finished = !finished_checkpoint(options_.directory, options_.open_store).empty();
    address_ = Address::parse(cluster.task_address("ps", index));
    access_ = make_access();
    identity_.nonce = access_.nonce;
    check_transport();
    if (options_.open_store) exports_.emplace(1);
    const Executor exports = exports_ ? exports_->executor(0) : disk_;
    for (std::size_t i = 0; i < lanes_of(io); ++i)
      lanes_.push_back(std::make_unique<Lane>(*this, i, io.executor(i), disk_, exports, beside_exports_.executor(0)));
    // Cuts and exports must not delay the answers that workers wait for.
    if (io.size() > 1) asio::post(disk_, [] { give_way(); });
    if (exports_) asio::post(exports, [] { give_way(); });
    asio::post(beside_exports_.executor(0), [] { give_way(); });
  }

  /// Waits until no thread of the pool has work of this task left. Must not run on a thread of the pool.
  ~TaskShell() override {
    patience_.end();
    run_on(io_, 0, [this] { close(); });  // after this the first thread does not use the server and the lanes any more
    server_.reset();
    for (const auto& lane : lanes_) run_on(io_, lane->number(), [&lane] { lane->close(); });
    run_on(io_, io_.size() - 1, [this] { refresh_.reset(); });  // waits for the work with files, too
    if (exports_) run_on(*exports_, 0, [] {});
    run_on(beside_exports_, 0, [] {});
    // wait for what other threads have posted to lanes
    for (std::size_t i = lanes_.size(); i > 0; --i) run_on(io_, i - 1, [] {});
  }

  /// Listens. If the address is not one of this machine's (a name of a service, a forwarded port), listens on its port
  /// of every interface.
  void start() {
    try {
      listen(address_);
    } catch (const std::system_error& error) {
      if (error.code() != net_errc::not_local && error.code() != net_errc::unresolved) throw;
      listen({"*", address_.port});
    }
    allow_connections(std::uint64_t{identity_.ranks} + identity_.processes);
    if (options_.metrics) show_metrics(*options_.metrics);
    if (options_.rpc.transport) asio::post(disk_, [this] { begin_refreshing(); });
    asio::post(executor_, [this] {
      lanes_.front()->open(0);
      end_.start(!options_.directory.empty(), *this);
    });
  }

  [[nodiscard]] auto executor() const noexcept -> Executor override { return executor_; }
  [[nodiscard]] auto port() const noexcept -> std::uint16_t override { return server_->port(); }
  [[nodiscard]] auto metrics_port() const noexcept -> std::uint16_t override { return metrics_port_; }
  [[nodiscard]] auto why() const noexcept -> const Error& override { return end_.why(); }

  void join(std::function<void(int)> told) override {
    asio::post(executor_, [this, told = std::move(told)]() mutable {
      joined_ = std::move(told);
      tell_end();
    });
  }

  void stop() override {
    patience_.end();
    asio::post(executor_, [this] {
      if (over_ || closed_) return;
      tell(Event::Kind::interrupted, "asked to stop: saving");
      on_each([](Lane& lane) { lane.stop(); }, [] {});
    });
  }

  // --- what lanes read and call, from their threads ---

  [[nodiscard]] auto options() const noexcept -> const ServerOptions& { return options_; }
  [[nodiscard]] auto kinds() const noexcept -> const ShardKinds& { return kinds_; }
  [[nodiscard]] auto name() const noexcept -> const std::string& { return name_; }
  [[nodiscard]] auto object_access() const noexcept -> const ObjectAccess& { return access_; }
  [[nodiscard]] auto identity(std::uint32_t shard) const -> ShardIdentity {
    ShardIdentity identity = identity_;
    identity.shard = shard;
    const Nonce random = draw_nonce();
    identity.random = load_le<std::uint64_t>(random.data()) | 1;
    return identity;
  }

  /// Makes sure that no other process of the task uses this directory, see `DirectoryLock::hold`. Fails with
  /// `directory_in_use`; of a URL, which has claims instead, only if it cannot be opened. Called by the constructor, then
  /// only on the thread of files.
  void hold(const std::string& directory, Error& error) {
    if (is_url(directory)) return static_cast<void>(open_directory(directory, options_.open_store, error));
    lock_.hold(directory, "ps-" + std::to_string(identity_.task), name_, options_.lock_within, error);
  }

  /// Returns the address of a ps task. Port 0: the cluster does not name it.
  [[nodiscard]] auto address_of(std::uint32_t task) const -> Address {
    std::error_code ec;
    const Address address = Address::parse(cluster_.task_address("ps", task, ec), ec);
    return ec ? Address{} : address;
  }

  /// Returns how many shards this task has, replicas included; the largest possible number while no job is known.
  [[nodiscard]] auto shards_of_job() const noexcept -> std::uint32_t { return shards_of_job_; }

  /// The counts of a lane have changed.
  void changed(std::size_t lane, const ShardTally& tally) {
    asio::dispatch(executor_, [this, lane, tally] {
      if (closed_) return;
      end_.counted(lane, tally, *this);
      shards_of_job_ = end_.shards_of_job();
    });
  }

  /// A shard is over.
  void ended(std::size_t lane, const ShardTally& tally, int code, const Error& why) {
    asio::dispatch(executor_, [this, lane, tally, code, why] {
      if (closed_) return;
      end_.ended(lane, tally, code, why, *this);
      shards_of_job_ = end_.shards_of_job();
    });
  }

  /// Raises the limit of descriptors so that this task can have `number` connections; reports if that is not permitted.
  void allow_connections(std::uint64_t number) {
    constexpr std::uint64_t others = 128;  // files, listeners, and clients that only look
    const std::uint64_t allowed = raise_descriptor_limit(number + others);
    if (allowed >= number + others) return;
    tell(Event::Kind::low_limit, "the limit of open files is " + std::to_string(allowed) + ", for " +
                                     std::to_string(number) + " connections of workers " +
                                     std::to_string(number + others) + " are needed (ulimit -Hn)");
  }

  /// Reports an event to the observer, with the name of the task before the text.
  void tell(Event::Kind kind, const std::string& text) {
    if (!options_.observer && !options_.metrics) return;
    asio::dispatch(executor_, [this, kind, text] {
      if (events_.size() == most_events) events_.pop_front();
      events_.push_back({std::chrono::system_clock::now(), text});
      if (options_.observer) options_.observer({kind, name_, {}, {}, name_ + ": " + text});
    });
  }

  /// Reports what a shard has done.
  void tell(const Phase& phase) {
    asio::dispatch(executor_, [this, phase] {
      if (!closed_) options_.phases(phase);
    });
  }

  // --- the actions of the core that ends the task ---

  void operator()(LookForEnd look) {
    look_timer_.expires_at(instant_after(std::chrono::steady_clock::now(), look.after));
    look_timer_.async_wait([this](const std::error_code& ec) {
      if (ec || closed_) return;
      if (is_url(options_.directory)) on_each([](Lane& lane) { lane.look_at_files(); }, [] {});
      asio::post(disk_, [this] {
        const auto step = checkpoint_step(finished_checkpoint(options_.directory, options_.open_store));
        asio::post(executor_, [this, step] {
          if (closed_) return;
          end_.looked(step ? std::optional{static_cast<Step>(*step)} : std::nullopt, *this);
        });
      });
    });
  }
  void operator()(TellFinished finished) {
    on_each([finished](Lane& lane) { lane.found_finished(finished.step); }, [] {});
  }
  void operator()(EndFiles end) {
    on_each(
        [end](Lane& lane) {
          if (end.done) lane.finish_files();
        },
        [this] {
          asio::post(disk_, [this] {  // after all other work there
            asio::post(executor_, [this] {
              if (!closed_) end_.files_done(*this);
            });
          });
        });
  }
  void operator()(HangUp hang_up) {
    server_->drain(hang_up.within);
    hang_up_timer_.expires_after(hang_up.within);
    hang_up_timer_.async_wait([this](const std::error_code& ec) {
      if (!ec && !closed_) end_.hung_up(*this);
    });
    on_each([](Lane& lane) { lane.leave(); }, [this] { end_.counts_connections(*this); });
  }
  void operator()(TaskOver over) {
    over_ = over.code;
    look_timer_.cancel();
    hang_up_timer_.cancel();
    asio::post(disk_, [this] { refresh_.reset(); });
    pages_.reset();
    tell_end();
  }

 private:
  /// Passes the events of the rpc server on a thread to its lane.
  struct LaneRouter {
    Lane* lane;
    void dispatch(const ServerConnection& connection, const ServerEvent& event) const {
      lane->happened(connection, event);
    }
    void happened(const ServerConnection& connection, const ServerEvent& event) const {
      lane->happened(connection, event);
    }
    void closed(const ServerConnection& connection) const { lane->closed(connection); }
  };

  void listen(const Address& address) {
    RpcServerOptions options = options_.rpc;
    options.services = TaskEndCore::most_shards;
    options.clients = rules_;
    options.refused = [this](const Error& refused) { tell_refusal(refused); };
    options.threads = static_cast<std::uint32_t>(lanes_.size());
    server_.emplace(io_, address, [this](std::size_t thread) { return LaneRouter{lanes_[thread].get()}; }, options);
  }

  // What claims of shards in an object store say of this process, and how it looks at other claims.
  auto make_access() -> ObjectAccess {
    ObjectAccess access;
    access.open = options_.open_store;
    if (!access.open) return access;
    access.nonce = load_le<std::uint64_t>(draw_nonce().data());
    access.owner = this_process(name_, address_.to_string());
    access.answers = [this](const ClaimOwner& owner, std::uint64_t nonce) {
      return still_answers(owner, nonce, {.secret = options_.rpc.secret, .tls = options_.rpc.transport});
    };
    access.pause = [this](std::chrono::milliseconds time) { return patience_.wait(time); };
    access.tell = [this](const std::string& text) { tell(Event::Kind::waiting, text); };
    return access;
  }

  void show_metrics(const Address& address) {
    ClientRules rules = *rules_;
    rules.needs_certificate = options_.metrics_need_certificate;
    using Show = PageServer::Show;
    std::vector<PageServer::Served> pages;
    pages.push_back({{"/metrics", std::string{metrics_content_type}}, [this](Show show) {
                       gather([this, show = std::move(show)](const std::vector<ShardStatus>& shards) {
                         const auto& transport = options_.rpc.transport;
                         show(metrics_text(shards, transport ? std::optional{transport->expires()} : std::nullopt,
                                           descriptor_use()));
                       });
                     }});
    pages.push_back({{"/status.json", std::string{status_data_content_type}}, [this](Show show) {
                       gather([this, show = std::move(show)](const std::vector<ShardStatus>& shards) {
                         show(status_data(shards, std::vector<StatusEvent>(events_.begin(), events_.end())));
                       });
                     }});
    pages.push_back(
        {{"/", std::string{status_page_content_type}}, [](const Show& show) { show(std::string{status_page()}); }});
    pages_.emplace(executor_, address, std::move(pages), page_listening(options_.rpc.transport, std::move(rules)));
    metrics_port_ = pages_->port();
  }

  // --- the transport ---

  void check_transport() {
    Error error;
    check_transport_of_job(options_.rpc.transport, error);
    throw_if(error);
    rules_ = std::make_shared<const ClientRules>(client_rules(cluster_));
    if (options_.rpc.transport) options_.rpc.transport->check(address_.host, *rules_, error);
    throw_if(error);
  }

  // Reads changed certificate files now and then, on the thread of files.
  void begin_refreshing() {
    refresh_.emplace(disk_, options_.rpc.transport, OwnIdentity{address_.host, rules_},
                     [this](const Event& event) { tell(event.kind, event.text); });
  }

  // Peers that are refused may come again at once, so not each of them is reported.
  void tell_refusal(const Error& refused) {
    const Instant now = std::chrono::steady_clock::now();
    if (now - told_refusal_ < std::chrono::seconds{1}) return;
    told_refusal_ = now;
    tell(Event::Kind::tls_refused, "refused " + refused.where + ": " + refused.code.message());
  }

  /// Asks each shard for its status, and passes all to `use`.
  void gather(std::function<void(const std::vector<ShardStatus>&)> use) {
    const auto found = std::make_shared<std::vector<std::vector<ShardStatus>>>(lanes_.size());
    on_each([found](Lane& lane) { (*found)[lane.number()] = lane.statuses(); },
            [this, found, use = std::move(use)] {
              std::map<std::uint32_t, ShardStatus> sorted;
              for (auto& of_lane : *found)
                for (ShardStatus& status : of_lane)
                  if (status.shard < shards_of_job()) sorted[status.shard] = std::move(status);
              std::vector<ShardStatus> all;
              for (auto& [number, status] : sorted) all.push_back(std::move(status));
              use(all);
            });
  }

  // Runs `ask` on each lane's thread, posted, because a core may be in the middle of an action now. Then runs `done`
  // here.
  void on_each(std::function<void(Lane&)> ask, std::function<void()> done) {
    const std::uint64_t round = ++rounds_;
    asked_[round] = {lanes_.size(), std::move(done)};
    for (const auto& lane : lanes_)
      asio::post(lane->executor(), [this, &lane = *lane, ask, round] {
        ask(lane);
        asio::post(executor_, [this, round] { answered(round); });
      });
  }

  void answered(std::uint64_t round) {
    const auto at = asked_.find(round);
    if (at == asked_.end() || --at->second.missing != 0) return;
    asked_.extract(at).mapped().done();
  }

  void close() {
    closed_ = true;
    asked_.clear();
    look_timer_.cancel();
    hang_up_timer_.cancel();
    pages_.reset();
  }

  void tell_end() {
    if (!over_ || !joined_) return;
    std::exchange(joined_, {})(*over_);
  }

  struct Asked {
    std::size_t missing = 0;
    std::function<void()> done;
  };

  static auto lanes_of(const IoPool& io) -> std::size_t {
    return std::clamp<std::size_t>(io.size() - 1, 1, TaskEndCore::most_shards);
  }

  IoPool& io_;
  Executor executor_;
  Executor disk_;
  std::optional<IoPool> exports_;
  IoPool beside_exports_{1};
  ClusterSpec cluster_;
  ShardKinds kinds_;
  ServerOptions options_;
  std::string name_;
  ShardIdentity identity_;
  DirectoryLock lock_;
  Patience patience_;  // of the thread of files with object stores
  ObjectAccess access_;
  Address address_;
  std::uint16_t metrics_port_ = 0;
  std::atomic<std::uint32_t> shards_of_job_ = TaskEndCore::most_shards;  // written on the first thread
  TaskEndCore end_;
  std::uint64_t rounds_ = 0;
  std::map<std::uint64_t, Asked> asked_;
  SteadyTimer look_timer_;
  SteadyTimer hang_up_timer_;
  std::optional<TransportRefresh> refresh_;  // used on the thread of files
  Instant told_refusal_{};
  std::shared_ptr<const ClientRules> rules_;
  std::function<void(int)> joined_;
  std::optional<int> over_;  // the exit code
  bool closed_ = false;
  std::deque<StatusEvent> events_;  // the newest ones, for the status page
  std::optional<PageServer> pages_;  // empty: no metrics
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::optional<RpcPoolServer<LaneRouter>> server_;  // declared last, because its connections use all of the above
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

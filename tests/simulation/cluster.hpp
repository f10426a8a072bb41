// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/updater_list.hpp>
#include <distrib/ps/initial_cut.hpp>
#include <distrib/ps/shard_service.hpp>
#include <distrib/ps/worker_node.hpp>
#include <distrib/rpc/client_core.hpp>
#include <distrib/rpc/server_core.hpp>
#include <distrib/sim/dice.hpp>
#include <distrib/sim/scheduler.hpp>
#include <distrib/sim/wire.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// A whole cluster in simulated time: the services and nodes of production over the connection cores of production, a
/// network that loses connections, processes that die and come back, disks that take their time.
namespace simulation {

using distrib::Cut;
using distrib::Instant;
using distrib::Rank;
using distrib::SharedBuffer;
using distrib::Step;

/// The model of a job with its data. `HashedModel` is one.
template <class T>
concept ClusterModel = requires(T& model, Step step, Rank rank, std::vector<SharedBuffer> values) {
  model.wanted(step, rank);                // the rows that the contribution needs, one a shard; empty: no tables
  model.contribution(step, rank, values);  // one block a shard
};

struct ClusterFaults {
  unsigned resets = 0;          ///< Connections lost,
  unsigned worker_deaths = 0;   ///< workers killed and started again,
  unsigned ps_deaths = 0;       ///< and parameter servers.
  std::chrono::microseconds within{0};  ///< All of them in this time.
};

/// `model` must outlive it.
template <class WorkerCore, ClusterModel Model>
class Cluster {
 public:
  Cluster(const distrib::Job& job, Model& model, std::uint64_t seed, const ClusterFaults& faults,
          distrib::sim::NetworkOptions network)
      : job_{job}, model_{model}, dice_{seed}, network_{network} {
    for (std::uint32_t shard = 0; shard < job_.shards(); ++shard) shards_.emplace_back(std::make_unique<ShardHost>(*this, shard));
    for (Rank rank = 0; rank < job_.ranks; ++rank) workers_.emplace_back(std::make_unique<WorkerHost>(*this, rank));
    const auto sometime = [&] { return std::chrono::microseconds{dice_.below(static_cast<std::uint64_t>(faults.within.count()) + 1)}; };
    for (unsigned i = 0; i < faults.resets; ++i) scheduler_.after(sometime(), [this] { reset_one(); });
    for (unsigned i = 0; i < faults.worker_deaths; ++i)
      scheduler_.after(sometime(), [this] { workers_[dice_.below(workers_.size())]->die(); });
    for (unsigned i = 0; i < faults.ps_deaths; ++i)
      scheduler_.after(sometime(), [this] { shards_[dice_.below(shards_.size())]->die(); });
    for (auto& shard : shards_) shard->start();
    for (auto& worker : workers_) scheduler_.after(pause(), [&worker] { worker->start(); });
  }

  /// Empty: every worker came to its end, and so did every parameter server, unless the workers' was a refusal. Else
  /// what went wrong.
  auto run() -> std::string {
    for (std::uint64_t events = 0; wrong_.empty(); ++events) {
      bool all = true;
      for (const auto& worker : workers_) all = all && worker->is_done();
      for (const auto& shard : shards_) all = all && (shard->is_done() || !refusals_.empty());
      if (all) return {};
      const char* what = events > 4'000'000 ? "it goes round in circles" : scheduler_.step() ? nullptr : "nothing is left to happen";
      if (what != nullptr) return what + state();
    }
    return wrong_;
  }

  /// The values at the end, as rank 0 has them.
  [[nodiscard]] auto result() const -> const std::vector<SharedBuffer>& { return result_; }
  /// With what workers ended to whom a shard refused something that is not finite.
  [[nodiscard]] auto refusals() const -> const std::vector<std::string>& { return refusals_; }
  [[nodiscard]] auto died() const -> unsigned { return died_; }
  [[nodiscard]] auto lost() const -> unsigned { return lost_; }

 private:
  struct Session;

  /// What a Call of a simulated connection speaks to: its ServerCore, and a wire that takes what was answered.
  struct Session {
    distrib::ServerCore core;
    std::function<void()> flush;
    bool active = false;
    void answered() {
      if (!active && flush) flush();
    }
    auto writer() -> distrib::WireWriter& { return core.writer(); }
    void reply(std::uint64_t call, distrib::ByteView head, const distrib::FrameBody& body,
               std::optional<std::uint32_t> checksum = std::nullopt, bool with_next = false) {
      core.reply(call, head, body, checksum, with_next);
      answered();
    }
    void fail(std::uint64_t call, const std::error_code& code, std::string_view where = {}) {
      core.fail(call, code, where);
      answered();
    }
    auto item(std::uint64_t call, distrib::ByteView head, const distrib::FrameBody& body) -> bool {
      const bool taken = core.item(call, head, body);
      answered();
      return taken;
    }
    void end_stream(std::uint64_t call) {
      core.end_stream(call);
      answered();
    }
  };
  using SessionPointer = std::shared_ptr<Session>;
  using Service = distrib::ShardService<SessionPointer>;
  using Wire = distrib::sim::Wire<distrib::ClientCore, distrib::ServerCore>;

  /// One end-to-end connection; both hosts hold it until it is over for them.
  struct Link : std::enable_shared_from_this<Link> {
    Link(const distrib::RpcClientOptions& client_options, const distrib::RpcServerOptions& server_options, Instant now)
        : client{client_options, now}, session{std::make_shared<Session>(distrib::ServerCore{server_options, now})} {}
    distrib::ClientCore client;
    SessionPointer session;
    std::shared_ptr<Wire> wire;
    bool client_open = true;
    bool server_open = true;
  };
  using LinkPointer = std::shared_ptr<Link>;

  /// A ps process with one shard, and the disk it comes back to.
  class ShardHost : public distrib::ShardShell {
   public:
    ShardHost(Cluster& cluster, std::uint32_t number) : cluster_{cluster}, number_{number} {}

    void start() {
      const distrib::Job& job = cluster_.job_;
      ++incarnation_;
      service_.emplace(distrib::ShardPlace{number_ / job.shards_per_task, number_ % job.shards_per_task, job.tasks, job.ranks, is_finished()},
                       distrib::ShardOptions{}, distrib::shard_kinds(distrib::StandardUpdaters{}), *this,
                       cluster_.scheduler_.now());
      set_alarm();
    }
    void die() {
      if (!service_ || is_done()) return;
      ++cluster_.died_;
      ++incarnation_;
      for (const LinkPointer& link : std::exchange(links_, {})) {
        link->server_open = false;
        link->session->flush = nullptr;
        link->wire->detach_b();
      }
      service_.reset();
      cluster_.scheduler_.after(10 * cluster_.pause(), [this] { start(); });
    }
    [[nodiscard]] auto is_up() const -> bool { return service_.has_value() && !service_->over(); }
    [[nodiscard]] auto is_done() const -> bool { return code_ == 0; }
    [[nodiscard]] auto state() const -> std::string {
      std::string text = "shard" + std::to_string(number_) + (is_done() ? " done" : is_up() ? " up" : " down") + " cuts";
      for (const auto& entry : disk_) text += " " + std::to_string(entry.first);
      return text;
    }

    void accept(const LinkPointer& link) { links_.push_back(link); }

    void on_activity(const LinkPointer& link) {
      if (!link->server_open) return;
      const Instant now = cluster_.scheduler_.now();
      link->session->active = true;
      for (distrib::ServerEvent event; link->session->core.next(now, event);)
        if (service_) service_->happened(link->session, event, now);
      link->session->active = false;
      if (!link->session->core.finished()) return link->session->answered();
      link->server_open = false;
      std::erase(links_, link);
      if (service_) service_->closed(link->session, now);
      set_alarm();
    }

    void open(const distrib::Job& job, std::uint32_t number, const distrib::CutSettings&,
              const distrib::JobUpdaters& updaters) override {
      if (number != number_) cluster_.fail("a job is opened for another shard");
      initial_ = distrib::initial_cut(job, distrib::ShardLayout{job, number_}, updaters);
      later([this](Instant now) {
        std::vector<Step> cuts;
        for (const auto& entry : disk_) cuts.push_back(entry.first);
        service_->opened(cuts, disk_.empty() ? nullptr : &disk_.rbegin()->second, now);
      });
    }
    void copy() override {
      cluster_.scheduler_.after(cluster_.pause(), [this, mine = incarnation_] {
        if (mine == incarnation_ && service_) service_->copy_cut(cluster_.scheduler_.now());
      });
    }
    void save(distrib::SaveCut action) override {
      later([this, cut = std::move(action).finish()](Instant now) {
        disk_.insert_or_assign(cut.step, cut);
        service_->cut_saved(cut.step, now);
      });
    }
    void load(Step step) override {
      later([this, step](Instant now) {
        if (step != 0 && !disk_.contains(step)) return cluster_.fail("a cut that was dropped is to be loaded");
        service_->cut_loaded(step == 0 ? initial_ : disk_.at(step), now);
      });
    }
    void drop(distrib::DropCut drop) override { disk_.erase(drop.step); }
    void joined_twice(Rank) override {}
    void ended(int code, const distrib::Error& why) override {
      code_ = code;
      if (code != 0 && why.code != distrib::ps_errc::not_finite) cluster_.fail("a shard ended: " + why.where);
      for (const LinkPointer& link : links_) link->session->core.drain(cluster_.scheduler_.now() + std::chrono::minutes{1});
    }

   private:
    [[nodiscard]] auto is_finished() const -> bool {
      return !disk_.empty() && disk_.rbegin()->first >= cluster_.job_.total_steps;
    }

    // A disk takes a while, and a process that died meanwhile hears nothing of it.
    void later(std::function<void(Instant)> then) {
      cluster_.scheduler_.after(20 * cluster_.pause(), [this, mine = incarnation_, then = std::move(then)] {
        if (mine != incarnation_ || !service_) return;
        then(cluster_.scheduler_.now());
        for (const LinkPointer& link : std::vector{links_}) link->session->answered();
        set_alarm();
      });
    }

    void set_alarm() {
      const auto wake = service_ ? service_->wake() : std::nullopt;
      if (!wake || *wake == alarm_) return;
      alarm_ = *wake;
      cluster_.scheduler_.at(*wake, [this, mine = incarnation_, when = *wake] {
        if (mine != incarnation_ || alarm_ != when) return;
        service_->woken(cluster_.scheduler_.now());
        set_alarm();
      });
    }

    Cluster& cluster_;
    std::uint32_t number_;
    std::uint64_t incarnation_ = 0;
    std::optional<Service> service_;
    Cut initial_;
    std::map<Step, Cut> disk_;
    std::vector<LinkPointer> links_;
    Instant alarm_{};
    int code_ = -1;
  };

  /// A worker process.
  class WorkerHost : public distrib::WorkerShell {
   public:
    WorkerHost(Cluster& cluster, Rank rank) : cluster_{cluster}, rank_{rank} {}

    void start() {
      if (done_) return;
      ++incarnation_;
      links_.assign(cluster_.job_.shards(), nullptr);
      node_.emplace(cluster_.job_, rank_,
                    distrib::WorkerOptions{.replay_budget_bytes = cluster_.budget_, .wants_result = rank_ == 0},
                    distrib::CutSettings{"here"}, *this);
      for (std::uint32_t shard = 0; shard < links_.size(); ++shard) connect(shard);
    }
    void die() {
      if (!node_ || done_) return;
      ++cluster_.died_;
      ++incarnation_;
      for (const LinkPointer& link : std::exchange(links_, {}))
        if (link != nullptr) {
          link->client_open = false;
          link->wire->detach_a();
        }
      node_.reset();
      cluster_.scheduler_.after(10 * cluster_.pause(), [this] { start(); });
    }
    [[nodiscard]] auto is_done() const -> bool { return done_; }
    [[nodiscard]] auto state() const -> std::string {
      std::string text = "rank" + std::to_string(rank_) + (done_ ? " done" : node_ ? " at " + std::to_string(node_->step()) : " down");
      for (std::uint32_t shard = 0; node_ && shard < links_.size(); ++shard) text += links_[shard] ? " +" : " -";
      return text;
    }

    void prepare(distrib::Prepare work) override {
      later([this, work](Instant now) {
        node_->prepared(work.step, cluster_.model_.wanted(work.step, rank_), now);
        flush();
      });
    }
    void compute(distrib::Compute work) override {
      later([this, work = std::move(work)](Instant now) {
        node_->computed(work.ticket, cluster_.model_.contribution(work.step, rank_, work.values), now,
                        cluster_.model_.wanted(work.step + 1, rank_));
        flush();
      });
    }
    void sent(std::uint32_t) override {}  // flushed when the event is over
    void moved(Step) override {}
    void saved(Step) override {}
    void not_repeatable(Step) override { cluster_.fail("a contribution came with other bytes"); }
    void done(distrib::WorkerDone end) override {
      if (rank_ == 0) cluster_.result_ = std::move(end.result);
      done_ = true;
    }
    void failed(const distrib::Error& why) override {
      if (why.code != distrib::ps_errc::not_finite)
        return cluster_.fail("a worker failed: " + why.where + ": " + why.code.message());
      cluster_.refusals_.push_back(why.where);
      done_ = true;
    }

    // One of its connections breaks.
    void reset_one() {
      std::vector<LinkPointer> open;
      for (const LinkPointer& link : links_)
        if (link != nullptr && link->client_open) open.push_back(link);
      if (open.empty()) return;
      ++cluster_.lost_;
      open[cluster_.dice_.below(open.size())]->wire->reset();
    }

   private:
    void later(std::function<void(Instant)> then) {
      cluster_.scheduler_.after(5 * cluster_.pause(), [this, mine = incarnation_, then = std::move(then)] {
        if (mine == incarnation_ && node_) then(cluster_.scheduler_.now());
      });
    }

    void connect(std::uint32_t shard) {
      ShardHost& host = *cluster_.shards_[shard];
      if (!host.is_up()) return later([this, shard](Instant) { connect(shard); });
      distrib::RpcClientOptions options;
      options.categories = distrib::ps_categories();
      const auto link = std::make_shared<Link>(options, distrib::RpcServerOptions{},
                                               cluster_.scheduler_.now());
      cluster_.links_.push_back(link);
      links_[shard] = link;
      host.accept(link);
      link->wire = std::make_shared<Wire>(cluster_.scheduler_, cluster_.dice_, cluster_.network_);
      link->session->flush = [wire = link->wire.get()] { wire->flush(); };
      link->wire->attach(
          link->client, [this, at = link.get(), shard] { on_activity(at->shared_from_this(), shard); },
          link->session->core, [&host, at = link.get()] { host.on_activity(at->shared_from_this()); });
      node_->connected(shard, link->client, cluster_.scheduler_.now());
      flush();
    }

    void on_activity(const LinkPointer& link, std::uint32_t shard) {
      if (!link->client_open) return;
      const Instant now = cluster_.scheduler_.now();
      for (distrib::ClientEvent event; link->client.next(now, event);) node_->happened(shard, event, now);
      flush();
      if (!link->client.finished()) return;
      link->client_open = false;
      links_[shard] = nullptr;
      if (done_) return;
      node_->disconnected(shard);
      later([this, shard](Instant) { connect(shard); });
    }

    void flush() {
      for (const LinkPointer& link : links_)
        if (link != nullptr && link->client_open && link->wire != nullptr) link->wire->flush();
    }

    Cluster& cluster_;
    Rank rank_;
    std::uint64_t incarnation_ = 0;
    std::optional<distrib::WorkerNode<WorkerCore>> node_;
    std::vector<LinkPointer> links_;
    bool done_ = false;
  };

  // For people who look for the reason.
  [[nodiscard]] auto state() const -> std::string {
    std::string text = " (after " +
                       std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(scheduler_.now() - begun_).count()) +
                       " ms;";
    for (const auto& worker : workers_) text += " " + worker->state();
    for (const auto& shard : shards_) text += " " + shard->state();
    return text + ")";
  }
  auto pause() -> std::chrono::microseconds { return std::chrono::microseconds{dice_.between(1, 300)}; }
  void reset_one() { workers_[dice_.below(workers_.size())]->reset_one(); }
  void fail(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
  }

  distrib::Job job_;
  Model& model_;
  distrib::sim::Dice dice_;
  distrib::sim::NetworkOptions network_;
  distrib::sim::Scheduler scheduler_;
  Instant begun_ = scheduler_.now();
  std::size_t budget_ = 1 << 20;
  std::vector<LinkPointer> links_;  // the wires speak of them as long as there is something to happen
  std::vector<std::unique_ptr<ShardHost>> shards_;
  std::vector<std::unique_ptr<WorkerHost>> workers_;
  std::vector<SharedBuffer> result_;
  std::vector<std::string> refusals_;
  unsigned died_ = 0;
  unsigned lost_ = 0;
  std::string wrong_;
};

}  // namespace simulation

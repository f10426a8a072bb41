// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/protowire.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/look_core.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/rpc/client_core.hpp>
#include <distrib/rpc/codec.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/sim/detail/link.hpp>
#include <distrib/sim/detail/shard_host.hpp>
#include <distrib/sim/detail/world.hpp>
#include <distrib/sim/dice.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

/// Onlookers of a simulated cluster, which come, go and die.
namespace simulation {

/// What onlookers have in common. `saw` receives each complete look; `heard` is called when an onlooker was told that
/// the job is done, `missed` when it should have been told and was not.
struct OnlookerWork {
  distrib::Job job;
  std::vector<distrib::WantedRows> rows;  ///< One entry per shard; empty: none.
  std::function<void(const distrib::LookedAt& seen)> saw;
  std::function<void()> heard;
  std::function<void(const std::string& what)> missed;
};

/// An onlooker process: the `LookCore` of production, or a class with a mistake, over simulated connections.
template <class Core>
class OnlookerProcess : public std::enable_shared_from_this<OnlookerProcess<Core>> {
  using Link = distrib::sim::detail::LinkPointer;
  using World = distrib::sim::detail::World;

 public:
  OnlookerProcess(World& world, const OnlookerWork& work, std::uint64_t seed, std::string name)
      : world_{world},
        work_{work},
        hash_{distrib::to_hex(distrib::job_hash(work.job))},
        dice_{seed},
        name_{std::move(name)},
        core_{work.job},
        links_(work.job.shards()),
        calls_(work.job.shards()),
        ends_(work.job.shards()) {}

  void start() {
    world_.tell(name_, "begins to look");
    for (std::uint32_t shard = 0; shard < links_.size(); ++shard) connect(shard);
    core_.look(*this);
    flush();
  }
  void die() {
    if (!std::exchange(alive_, false)) return;
    world_.tell(name_, "goes");
    for (std::uint32_t shard = 0; shard < links_.size(); ++shard) hang_up(shard);
  }
  [[nodiscard]] auto is_alive() const noexcept -> bool { return alive_; }
  /// Something happens to one of its connections.
  void fail_one() {
    const Link& link = links_[dice_.below(links_.size())];
    if (link == nullptr) return;
    const auto how = dice_.below(3);
    if (how == 0) link->wire->reset();
    else if (how == 1) link->wire->half_open(dice_.percent(50), dice_.percent(50));
    else link->wire->stall(world_.now() + std::chrono::milliseconds{dice_.between(1, 50)});
  }

  // --- actions of the core ---

  void operator()(distrib::AskLook ask) {
    distrib::WireWriter head;
    const distrib::LookRequest request{hash_, ask.step, ask.newest,
                                       work_.rows.empty() ? nullptr : work_.rows[ask.shard].keys};
    const distrib::MessageBody body = distrib::RpcCodec<distrib::LookRequest>::encode(request, head);
    calls_[ask.shard] =
        links_[ask.shard]->client.call(distrib::Look::id, head.view(), body.body, std::nullopt, world_.now());
  }
  void operator()(distrib::DropLooks) {
    for (std::uint32_t shard = 0; shard < links_.size(); ++shard)
      if (links_[shard] != nullptr && calls_[shard] != 0) links_[shard]->client.cancel(std::exchange(calls_[shard], 0));
  }
  void operator()(distrib::AskEnd ask) {
    distrib::WireWriter head;
    distrib::AwaitEndRequest{hash_}.encode(head);
    ends_[ask.shard].call =
        links_[ask.shard]->client.call(distrib::AwaitEnd::id, head.view(), {}, std::nullopt, world_.now());
  }
  void operator()(distrib::JobDone) {
    world_.tell(name_, "hears that the job is done");
    is_told_ = true;
    work_.heard();
    later([this] { die(); });
  }
  void operator()(const distrib::LookedAt& seen) {
    if (world_.traces()) world_.tell(name_, "sees step " + std::to_string(seen.step));
    work_.saw(seen);
    if (seen.is_last) return later([this] { die(); });
    later([this] {
      if (dice_.percent(50)) return look();
      core_.look_at_end(*this);
      flush();
      later([this] { look(); });
    });
  }
  void operator()(distrib::CannotKeepUp) {
    later([this] { look(); });
  }

 private:
  // The call for the end on a connection, and what happened to it.
  struct AskedEnd {
    std::uint64_t call = 0;
    bool was_served = false;  // the server accepts calls
    bool is_leaving = false;  // the server has said goodbye
    bool came_too_late = false;  // the call arrived after that goodbye
  };

  void look() {
    core_.look(*this);
    flush();
  }

  // Pauses grow up to a second: a job with faults may stand still for a minute.
  void later(std::function<void()> then) {
    const std::uint64_t most = std::uint64_t{3'000} << std::min(pauses_++ / 8, 8U);
    world_.scheduler.after(std::chrono::microseconds{dice_.between(1, most)},
                           [self = this->shared_from_this(), then = std::move(then)] {
                             if (self->alive_) then();
                           });
  }

  void connect(std::uint32_t shard) {
    const std::uint32_t replica =
        shard + work_.job.shards() * static_cast<std::uint32_t>(dice_.below(work_.job.replicas));
    auto& host = *world_.shards[replica];
    if (!host.is_up()) return later([this, shard] { connect(shard); });
    links_[shard] = distrib::sim::detail::open_link(world_, host, name_, world_.job.ranks,
                                                    [weak = this->weak_from_this(), shard](const Link& at) {
                                                      if (const auto self = weak.lock()) self->happened(at, shard);
                                                    });
    calls_[shard] = 0;
    ends_[shard] = {};
    core_.connected(shard, *this);
    flush();
  }

  void hang_up(std::uint32_t shard) {
    calls_[shard] = 0;
    if (const Link link = std::exchange(links_[shard], nullptr)) {
      link->client_open = false;
      link->wire->detach_a();
    }
  }

  void happened(const Link& link, std::uint32_t shard) {
    distrib::ClientEvent event;
    while (links_[shard] == link && link->client.next(world_.now(), event)) {
      if (event.call != 0 && event.call == ends_[shard].call) asked_end(link, shard, event);
      if (event.call == 0 || event.call != calls_[shard]) continue;
      if (event.kind == distrib::ClientEvent::Kind::reply) {
        calls_[shard] = 0;
        distrib::PullReply reply;
        if (!distrib::detail::decode_message({event.head, event.body}, reply)) world_.fail(name_ + ": a bad reply");
        else if (reply.gone) core_.gone(reply.progress.done, *this);
        else core_.values(shard, reply.counted, reply.progress.history, std::move(reply.body), *this);
      } else if (event.kind == distrib::ClientEvent::Kind::failed) {
        calls_[shard] = 0;
        if (event.error.code == distrib::ps_errc::shard_done) core_.done(shard, *this);
        else if (event.error.code == distrib::ps_errc::job_mismatch) return later([this] { die(); });
        else if (!link->client.finished()) return lose(shard);  // it is not served
      }
    }
    if (links_[shard] != link) return flush();
    AskedEnd& asked = ends_[shard];
    asked.is_leaving = asked.is_leaving || (asked.was_served && !link->client.available() && !link->client.finished());
    asked.was_served = asked.was_served || link->client.available();
    if (link->client.finished()) {
      // A server says goodbye when its job is done: a simulated server does not end otherwise, or the run has failed.
      const bool must_know = asked.is_leaving && !asked.came_too_late && !link->wire->broken();
      lose(shard);
      if (must_know && !is_told_) work_.missed(name_ + " was not told that the job is done");
    }
    flush();
  }

  void asked_end(const Link& link, std::uint32_t shard, const distrib::ClientEvent& event) {
    ends_[shard].call = 0;
    if (event.kind == distrib::ClientEvent::Kind::reply) return core_.done(shard, *this);
    const std::error_code& code = event.error.code;
    ends_[shard].came_too_late = code == distrib::rpc_errc::closed || code == distrib::rpc_errc::not_sent;
    if (code == distrib::ps_errc::job_mismatch) later([this] { die(); });
    else if (!link->client.finished() && !ends_[shard].came_too_late) lose(shard);  // it is not served
  }

  void lose(std::uint32_t shard) {
    hang_up(shard);
    core_.disconnected(shard, *this);
    flush();
    later([this, shard] { connect(shard); });
  }

  void flush() {
    for (std::uint32_t shard = 0; shard < links_.size(); ++shard)
      if (const Link link = links_[shard]; link != nullptr && link->client_open && link->wire != nullptr)
        link->wire->flush();
  }

  World& world_;
  const OnlookerWork& work_;
  std::string hash_;
  distrib::sim::Dice dice_;
  std::string name_;
  Core core_;
  std::vector<Link> links_;
  std::vector<std::uint64_t> calls_;  // of each shard, the call whose answer is needed; 0: none
  std::vector<AskedEnd> ends_;  // of each shard
  unsigned pauses_ = 0;
  bool is_told_ = false;  // that the job is done
  bool alive_ = true;
};

/// Several onlookers of one cluster, each started again a while after it has gone. To be made before the cluster runs;
/// `work` must outlive the cluster.
template <class Core>
class Onlookers {
 public:
  Onlookers(distrib::sim::detail::World& world, const OnlookerWork& work, std::uint64_t seed, unsigned count)
      : world_{world}, work_{work}, dice_{seed}, processes_(count) {
    for (unsigned i = 0; i < count; ++i) after(5'000, [this, i] { start(i); });
  }
  Onlookers(const Onlookers&) = delete;
  auto operator=(const Onlookers&) -> Onlookers& = delete;

  [[nodiscard]] auto deaths() const noexcept -> unsigned { return deaths_; }

 private:
  void after(std::uint64_t most_us, std::function<void()> then) {
    world_.scheduler.after(std::chrono::microseconds{dice_.between(1, most_us)}, std::move(then));
  }

  void start(unsigned i) {
    processes_[i] =
        std::make_shared<OnlookerProcess<Core>>(world_, work_, dice_.next(), "onlooker " + std::to_string(i));
    processes_[i]->start();
    after(next_touch(), [this, i] { touch(i); });
  }
  // The first ones come soon, so that they meet a job without faults.
  auto next_touch() -> std::uint64_t { return std::uint64_t{40'000} << std::min(touches_++ / 12, 8U); }
  void touch(unsigned i) {
    const bool goes = dice_.percent(40);
    if (goes && processes_[i]->is_alive()) ++deaths_;
    if (goes) processes_[i]->die();
    else if (processes_[i]->is_alive()) processes_[i]->fail_one();
    after(next_touch(), [this, i, goes] { goes ? start(i) : touch(i); });
  }

  distrib::sim::detail::World& world_;
  const OnlookerWork& work_;
  distrib::sim::Dice dice_;
  std::vector<std::shared_ptr<OnlookerProcess<Core>>> processes_;
  unsigned deaths_ = 0;
  unsigned touches_ = 0;
};

}  // namespace simulation

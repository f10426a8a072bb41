// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/ps/worker/worker_node.hpp>
#include <distrib/rpc/client_core.hpp>
#include <distrib/sim/detail/link.hpp>
#include <distrib/sim/detail/program.hpp>
#include <distrib/sim/detail/shard_host.hpp>
#include <distrib/sim/detail/world.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace sim::detail {

/// A worker process: the node of production with the program of a user.
template <class WorkerCore>
class WorkerProcess final : public WorkerShell, public std::enable_shared_from_this<WorkerProcess<WorkerCore>> {
 public:
  WorkerProcess(World& world, std::span<ShardHost* const> shards, Rank rank, std::string name, Program program)
      : world_{world},
        shards_{shards},
        rank_{rank},
        name_{std::move(name)},
        program_{std::move(program)},
        links_(shards.size()),
        node_{world.job, rank,
              WorkerOptions{.replay_budget_bytes = world.options.replay_budget_bytes,
                            .initial_values = program_.initial_values,
                            .wants_result = rank == 0},
              world.cuts, *this} {}

  void start() {
    tell("starts");
    for (std::uint32_t shard = 0; shard < links_.size(); ++shard) connect(shard);
  }
  void die() {
    if (!std::exchange(alive_, false)) return;
    if (!done_) tell("dies");
    for (const LinkPointer& link : std::exchange(links_, {}))
      if (link != nullptr) {
        link->client_open = false;
        link->wire->detach_a();
      }
  }

  [[nodiscard]] auto is_done() const noexcept -> bool { return done_; }
  [[nodiscard]] auto is_alive() const noexcept -> bool { return alive_; }
  [[nodiscard]] auto name() const noexcept -> const std::string& { return name_; }
  [[nodiscard]] auto state() const -> std::string {
    std::string text = " " + name_ + (done_ ? " done" : alive_ ? " at " + std::to_string(node_.step()) : " down");
    for (const LinkPointer& link : links_) text += link ? " +" : " -";
    return text;
  }

  /// Its open connections.
  [[nodiscard]] auto open() const -> std::vector<LinkPointer> {
    std::vector<LinkPointer> open;
    for (const LinkPointer& link : links_)
      if (link != nullptr && link->client_open) open.push_back(link);
    return open;
  }

  // --- what the node wants ---

  void prepare(Prepare work) override {
    later([this, work] {
      node_.prepared(work.step, program_.prepare(work.step), world_.now());
      flush();
    });
  }
  void compute(Compute work) override {
    later([this, work = std::move(work)] {
      if (world_.traces()) tell("computes step " + std::to_string(work.step));
      auto blocks = program_.contribute(work.step, work.values);
      node_.computed(work.ticket, std::move(blocks), world_.now(), program_.prepare(work.step + 1));
      flush();
      world_.contributed();
    });
  }
  void sent(std::uint32_t) override {}  // flushed when the event is over
  void moved(Step) override {}
  void saved(Step) override {}
  void not_repeatable(Step step) override {
    world_.fail("step " + std::to_string(step) + " of " + name_ + " was computed twice, and came with other bytes");
  }
  void done(WorkerDone end) override {
    tell("is done");
    done_ = true;
    if (rank_ == 0 && program_.finish) program_.finish(std::move(end.result));
  }
  void failed(const Error& why) override {
    tell("fails: " + why.where);
    if (why.code != ps_errc::not_finite)
      return world_.fail(name_ + " failed: " + why.where + ": " + why.code.message());
    world_.refusals.push_back(why.where);
    done_ = true;
  }

 private:
  void tell(const std::string& what) const { world_.tell(name_, what); }

  // What is asked of a process that died meanwhile is not done.
  void later(std::function<void()> then) {
    world_.scheduler.after(5 * world_.factor(name_) * world_.pause(),
                           [self = this->shared_from_this(), then = std::move(then)] {
                             if (self->alive_) then();
                           });
  }

  void connect(std::uint32_t shard) {
    if (done_) return;
    ShardHost& host = *shards_[shard];
    if (world_.now() < world_.parted_until(rank_, host.task()) || !host.is_up())
      return later([this, shard] { connect(shard); });
    const LinkPointer link = links_[shard] =
        open_link(world_, host, name_, rank_, [this, shard](const LinkPointer& at) { on_activity(at, shard); });
    if (world_.traces()) tell("connects to " + host.name());
    node_.connected(shard, link->client, world_.now());
    flush();
  }

  void on_activity(const LinkPointer& link, std::uint32_t shard) {
    if (!link->client_open) return;
    const Instant now = world_.now();
    for (ClientEvent event; link->client.next(now, event);) node_.happened(shard, event, now);
    flush();
    if (!link->client.finished()) return;
    link->client_open = false;
    links_[shard] = nullptr;
    if (done_) return;
    node_.disconnected(shard, now);
    later([this, shard] { connect(shard); });
  }

  void flush() {
    for (const LinkPointer& link : std::vector{links_})
      if (link != nullptr && link->client_open && link->wire != nullptr) link->wire->flush();
  }

  World& world_;
  std::span<ShardHost* const> shards_;
  Rank rank_;
  std::string name_;
  Program program_;
  std::vector<LinkPointer> links_;
  WorkerNode<WorkerCore> node_;
  bool alive_ = true;
  bool done_ = false;
};

}  // namespace sim::detail
}  // namespace v0
}  // namespace distrib

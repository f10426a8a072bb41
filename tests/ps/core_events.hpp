// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/sgd.hpp>
#include <distrib/ps/job/job_updaters.hpp>

#include "ps/story.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

/// The events of one core for stories: each member returns a function that makes one event happen.
namespace story {

/// With this updater and its learning rate of 1, values are the negative of the contributions.
inline auto sgd() -> distrib::JobUpdaters { return {distrib::Sgd{.learning_rate = 1.0F}}; }

/// Events of one shard, synchronous or asynchronous. Rank r uses peer 10 + r.
template <class Core>
struct Shard {
  using Actions = support::ShardActions;
  using Peer = distrib::Peer;
  using Rank = distrib::Rank;
  using Step = distrib::Step;
  Core core;

  auto join(Peer peer) {
    return [=, this](Actions& out) { core.join(peer, static_cast<Rank>(peer - 10), out); };
  }
  auto push(Rank rank, Step step, float number, Step common = 0, std::uint32_t checksum = 0) {
    return [=, this](Actions& out) {
      core.push(10 + rank, distrib::Contribution{step, rank, block(number), checksum, common}, out);
    };
  }
  auto push(Rank rank, Step step, distrib::SharedBuffer contribution) {
    return [=, this](Actions& out) { core.push(10 + rank, distrib::Contribution{step, rank, contribution}, out); };
  }
  auto pull(Peer peer, Step step, distrib::PullRows rows = {}) {
    return [=, this](Actions& out) { core.pull(peer, step, out, rows); };
  }
  auto save() {
    return [this](Actions& out) { core.save(out); };
  }
  auto save(Peer peer) {
    return [=, this](Actions& out) { core.save(peer, out); };
  }
  auto copy(std::size_t most_bytes = 1 << 20) {
    return [=, this](Actions& out) { core.copy_cut(most_bytes, out); };
  }
  auto saved(Step step) {
    return [=, this](Actions& out) { core.cut_saved(step, out); };
  }
  auto no_room() {
    return [this](Actions& out) { core.no_room(out); };
  }
  auto save_again() {
    return [this](Actions& out) { core.save_again(out); };
  }
  auto restore(Peer peer, Step cut) {
    return [=, this](Actions& out) { core.restore(peer, cut, out); };
  }
  auto loaded(Step step, float number) {
    return [=, this](Actions& out) {
      core.cut_loaded(distrib::Cut{step, block(number), {}, {}, {}, core.lineage().until(step)}, out);
    };
  }
  auto goodbye(Peer peer) {
    return [=, this](Actions& out) { core.goodbye(peer, out); };
  }
  auto disconnect(Peer peer) {
    return [=, this](Actions& out) { core.disconnect(peer, out); };
  }
  auto vacate(Rank rank) {
    return [=, this](Actions& out) { core.vacate(rank, out); };
  }
};

/// Events of one worker, synchronous or asynchronous. Its contribution is two blocks of 64 bytes. With tables
/// contribution t needs the word t of shard 0 and the item t % 3 of shard 1.
template <class Core>
struct Worker {
  using Actions = support::WorkerActions;
  using Step = distrib::Step;
  Core core;

  auto start() {
    return [this](Actions& out) { core.start(out); };
  }
  auto prepared(Step step) {
    return [=, this](Actions& out) { core.prepared(step, wanted_of(step), out); };
  }
  auto computed(std::uint64_t ticket) {
    return [=, this](Actions& out) { core.computed(ticket, {block(1), block(2)}, out); };
  }
  auto computed(std::uint64_t ticket, Step next) {
    return [=, this](Actions& out) { core.computed(ticket, {block(1), block(2)}, out, wanted_of(next)); };
  }
  auto reconnected(std::uint32_t shard) {
    return [=, this](Actions& out) { core.reconnected(shard, out); };
  }
  auto stop() {
    return [this](Actions& out) { core.stop(out); };
  }
  auto abandon() {
    return [this](Actions& out) { core.abandon(out); };
  }

  static auto wanted_of(Step step) -> std::vector<distrib::WantedRows> {
    return {wanted({{step}, {}}), wanted({{}, {step % 3}})};
  }
};

}  // namespace story

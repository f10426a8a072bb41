// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/messages.hpp>
#include <distrib/ps/peer_calls.hpp>
#include <distrib/ps/shard_status.hpp>

#include <map>

namespace distrib::inline v0::detail {

/// Whoever speaks on one connection to a shard.
template <class Connection>
struct ShardPeer {
  Rank rank = 0;
  bool entered = false;  ///< The shard's core knows it.
  PeerCalls<Connection> calls;
};

/// The peers of a shard, by numbers from 1 that are given once.
template <class Connection>
class ShardPeers {
 public:
  /// The number of a connection's peer, who is made when there is none.
  auto number_of(const Connection& connection) -> Peer {
    const auto [at, first] = numbers_.insert({connection, last_ + 1});
    if (first) ++last_;
    return at->second;
  }
  /// The same; 0: there is none.
  [[nodiscard]] auto find(const Connection& connection) const -> Peer {
    const auto number = numbers_.find(connection);
    return number == numbers_.end() ? 0 : number->second;
  }

  [[nodiscard]] auto operator[](Peer peer) -> ShardPeer<Connection>& { return peers_[peer]; }

  /// Its connection is gone.
  void erase(const Connection& connection, Peer peer) {
    peers_.erase(peer);
    numbers_.erase(connection);
  }

  /// Adds what a status tells of them.
  template <class = void> void describe(ShardStatus& status) const {
    for (const auto& [peer, state] : peers_) {
      status.parked += state.calls.parked();
      if (state.entered && state.rank < status.of_ranks.size()) status.of_ranks[state.rank].here = true;
    }
  }

  [[nodiscard]] auto begin() noexcept { return peers_.begin(); }
  [[nodiscard]] auto end() noexcept { return peers_.end(); }
  [[nodiscard]] auto begin() const noexcept { return peers_.begin(); }
  [[nodiscard]] auto end() const noexcept { return peers_.end(); }

 private:
  std::map<Peer, ShardPeer<Connection>> peers_;
  std::map<Connection, Peer> numbers_;
  Peer last_ = 0;
};

}  // namespace distrib::inline v0::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/rank_block.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/server/peer_calls.hpp>
#include <distrib/ps/wire/shard_status.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

/// One connection to a shard.
template <class Connection>
struct ShardPeer {
  RankBlock ranks;  ///< See `JoinRequest`.
  bool entered = false;  ///< True if the peer has joined and the shard's core knows it.
  bool has_begun = false;  ///< See `JoinRequest`.
  std::uint32_t process = 0;  ///< See `JoinRequest`.
  PeerCalls<Connection> calls;
};

/// The peers of a shard, by their numbers, which start at 1 and are never used again.
template <class Connection>
class ShardPeers {
 public:
  /// Returns the number of the connection's peer; makes a peer if there is none.
  auto number_of(const Connection& connection) -> Peer {
    const auto [at, first] = numbers_.insert({connection, last_ + 1});
    if (first) ++last_;
    return at->second;
  }
  /// Returns the number of the connection's peer; 0: there is none.
  [[nodiscard]] auto find(const Connection& connection) const -> Peer {
    const auto number = numbers_.find(connection);
    return number == numbers_.end() ? 0 : number->second;
  }

  /// Returns the number of the peer that makes the call. 0: the peer has not entered, and the call has been failed with
  /// `ps_errc::not_joined`.
  template <class CallType> auto entered(const CallType& call) -> Peer {
    const Peer peer = find(call.connection());
    if (peer != 0 && peers_[peer].entered) return peer;
    call.fail(ps_errc::not_joined);
    return 0;
  }
  /// Returns the number of the peer that makes the call, as `entered` does. For a call with an empty reply: if the peer
  /// has entered, also answers the call.
  template <class CallType> auto answered(const CallType& call) -> Peer {
    const Peer peer = entered(call);
    if (peer != 0) call.reply({});
    return peer;
  }

  [[nodiscard]] auto operator[](Peer peer) -> ShardPeer<Connection>& { return peers_[peer]; }

  /// The connection of the peer is lost.
  void erase(const Connection& connection, Peer peer) {
    peers_.erase(peer);
    numbers_.erase(connection);
  }

  /// Adds the joined ranks, the vacant ones and the parked pulls to a status that lists all ranks. Then leaves out the
  /// ranks that are too many to be listed.
  void describe(ShardStatus& status) const {
    for (const auto& [peer, state] : peers_) {
      status.parked += state.calls.parked();
      const auto listed = static_cast<Rank>(status.of_ranks.size());
      for (Rank rank = state.ranks.first; state.entered && rank < state.ranks.end(listed); ++rank) {
        status.of_ranks[rank].here = true;
        status.of_ranks[rank].process = state.process;
      }
    }
    for (const ShardStatus::RankStatus& rank : status.of_ranks) status.vacant += rank.here || rank.looks_on ? 0U : 1U;
    const std::size_t most = status.shard == 0 ? ShardStatus::most_ranks_listed : ShardStatus::most_listed;
    status.of_ranks.resize(std::min(status.of_ranks.size(), most));
  }

  /// Fails the streams of all peers with this error.
  void refuse_all(const std::error_code& code, std::string_view where) {
    for (auto& [peer, state] : peers_) state.calls.refuse(code, where);
  }
  /// Ends the streams of all peers, and fails their pulls with this error.
  void end_all(const std::error_code& of_pulls) {
    for (auto& [peer, state] : peers_) {
      state.calls.fail_pulls(of_pulls);
      state.calls.end();
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

}  // namespace detail
}  // namespace v0
}  // namespace distrib

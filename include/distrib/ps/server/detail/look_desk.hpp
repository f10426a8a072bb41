// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/rpc/call.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The onlookers of a shard, and the call that each of them has made. An onlooker is a connection that has made a
/// `Look`; it keeps its place until it is closed.
///
/// Threads: one at a time.
template <class Connection>
class LookDesk {
 public:
  static constexpr std::size_t most_onlookers = 8;

  /// True for the number of an onlooker. A worker never has such a number.
  [[nodiscard]] static constexpr auto is_onlooker(Peer peer) noexcept -> bool { return peer >= first_number; }

  /// A `Look` has arrived: keeps it until it is answered, or fails it with `ps_errc::too_many_onlookers`.
  void take(LookRequest request, Call<Look, Connection> call) {
    const auto known = numbers_.find(call.connection());
    if (known == numbers_.end() && numbers_.size() == most_onlookers)
      return call.fail(ps_errc::too_many_onlookers, "a shard serves 8");
    if (known != numbers_.end() && calls_.contains(known->second))
      return call.fail(ps_errc::too_many_onlookers, "one call at a time");
    const Peer peer = known != numbers_.end() ? known->second : numbers_[call.connection()] = next_++;
    calls_.emplace(peer, Waiting{std::move(request), std::move(call), false});
    ++untold_;
  }

  /// Tells the core of the calls that it does not know yet: calls `is_due(request)`, and for each call that is due
  /// `tell(peer, request)`. That may answer or fail the call.
  void tell_due(auto is_due, auto tell) {
    if (untold_ == 0) return;
    std::vector<Peer> due;
    for (const auto& [peer, waiting] : calls_)
      if (!waiting.told && is_due(waiting.request)) due.push_back(peer);
    for (const Peer peer : due) {
      Waiting& waiting = calls_.at(peer);
      waiting.told = true;
      --untold_;
      const LookRequest request = waiting.request;
      tell(peer, request);
    }
  }

  /// The core has answered; does nothing if the call is over.
  void answer(Peer peer, const PullReply& reply) {
    if (auto waiting = calls_.extract(peer)) waiting.mapped().call.reply(reply);
  }
  void fail(Peer peer, const std::error_code& code, std::string_view where) {
    if (auto waiting = calls_.extract(peer)) waiting.mapped().call.fail(code, where);
  }
  /// No call will be answered any more.
  void fail_all(const std::error_code& code, std::string_view where) {
    untold_ = 0;
    for (const auto& [peer, waiting] : std::exchange(calls_, {})) waiting.call.fail(code, where);
  }

  /// The client has cancelled a call. Returns its onlooker, whose pull the core must drop; 0: it is no such call.
  auto cancelled(const Connection& connection, std::uint64_t call) -> Peer {
    const auto known = numbers_.find(connection);
    if (known == numbers_.end()) return 0;
    const auto waiting = calls_.find(known->second);
    if (waiting == calls_.end() || waiting->second.call.id() != call) return 0;
    return drop(known->second);
  }
  /// The connection is lost. Returns its onlooker, whose pull the core must drop; 0: it was no onlooker.
  auto closed(const Connection& connection) -> Peer {
    const auto known = numbers_.find(connection);
    if (known == numbers_.end()) return 0;
    const Peer peer = known->second;
    numbers_.erase(known);
    return drop(peer);
  }

  /// Returns how many onlookers there are.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return numbers_.size(); }

 private:
  struct Waiting {
    LookRequest request;
    Call<Look, Connection> call;
    bool told = false;  // the core knows of it
  };

  static constexpr Peer first_number = Peer{1} << 63;

  auto drop(Peer peer) -> Peer {
    if (const auto waiting = calls_.extract(peer); waiting && !waiting.mapped().told) --untold_;
    return peer;
  }

  std::map<Connection, Peer> numbers_;
  std::map<Peer, Waiting> calls_;  // of onlookers that wait
  std::size_t untold_ = 0;  // how many of these the core does not know
  Peer next_ = first_number;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

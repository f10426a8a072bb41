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

/// The onlookers of a shard, and the calls that each of them has made: a `Look`, and an `AwaitEnd` beside it. An
/// onlooker is a connection that has made one of these; it keeps its place until it is closed.
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
    const Peer peer = number_of(call, calls_);
    if (peer == 0) return;
    calls_.emplace(peer, Waiting{std::move(request), std::move(call), false});
    ++untold_;
  }
  /// An `AwaitEnd` has arrived: keeps it until `end_all`, or fails it as `take` does.
  void await_end(Call<AwaitEnd, Connection> call) {
    const Peer peer = number_of(call, awaiting_);
    if (peer != 0) awaiting_.emplace(peer, std::move(call));
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
  /// No look will be answered any more. If the job `is_done`, tells so to each onlooker that waits for its end;
  /// otherwise its call fails, too.
  void end_all(bool is_done, const std::error_code& code, std::string_view where) {
    untold_ = 0;
    for (const auto& [peer, waiting] : std::exchange(calls_, {}))
      waiting.call.fail(is_done ? make_error_code(ps_errc::shard_done) : code, where);
    for (const auto& [peer, call] : std::exchange(awaiting_, {})) is_done ? call.reply({}) : call.fail(code, where);
  }

  /// The client has cancelled a call. Returns its onlooker, whose pull the core must drop; 0: it is no such call.
  auto cancelled(const Connection& connection, std::uint64_t call) -> Peer {
    const auto known = numbers_.find(connection);
    if (known == numbers_.end()) return 0;
    const auto awaits = awaiting_.find(known->second);
    if (awaits != awaiting_.end() && awaits->second.id() == call) {
      awaiting_.erase(awaits);
      return 0;
    }
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
    awaiting_.erase(peer);
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

  // Returns the number of the onlooker that has made this call. If there is no place for the call, fails it and returns
  // 0.
  auto number_of(const auto& call, const auto& others) -> Peer {
    const auto known = numbers_.find(call.connection());
    const bool is_new = known == numbers_.end();
    if (is_new ? numbers_.size() < most_onlookers : !others.contains(known->second))
      return is_new ? numbers_[call.connection()] = next_++ : known->second;
    call.fail(ps_errc::too_many_onlookers, is_new ? "a shard serves 8" : "one call at a time");
    return 0;
  }

  auto drop(Peer peer) -> Peer {
    if (const auto waiting = calls_.extract(peer); waiting && !waiting.mapped().told) --untold_;
    return peer;
  }

  std::map<Connection, Peer> numbers_;
  std::map<Peer, Waiting> calls_;  // of onlookers that wait for values
  std::map<Peer, Call<AwaitEnd, Connection>> awaiting_;
  std::size_t untold_ = 0;  // how many of these the core does not know
  Peer next_ = first_number;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/rpc/call.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The workers that join a shard before it knows the job. A few of them are asked for the job's text, the others wait
/// until it is there: otherwise each worker would send the same text to each shard. If a worker that was asked is lost,
/// another one is asked in its place.
template <class Connection>
class TextWaits {
 public:
  /// A Join that waits for the job.
  struct Waiting {
    Peer peer = 0;
    JoinRequest request;
    Call<Join, Connection> call;
  };

  /// So many workers are asked at a time: one that is stopped, and does not answer, must not delay the others.
  static constexpr std::size_t most_asked = 4;

  /// True if this worker is to be asked; then it counts as asked until `answered`.
  [[nodiscard]] auto asks(Peer peer) -> bool {
    if (asked_.size() >= most_asked && !asked_.contains(peer)) return false;
    asked_.insert(peer);
    return true;
  }
  /// The worker has sent the text, or is lost.
  void answered(Peer peer) { asked_.erase(peer); }

  /// Keeps a Join until the job is known.
  void wait(Peer peer, JoinRequest request, Call<Join, Connection> call) {
    waiting_.push_back({peer, std::move(request), std::move(call)});
  }

  /// Returns a Join that has waited, the first first; there must be one.
  [[nodiscard]] auto take() -> Waiting {
    Waiting first = std::move(waiting_.front());
    waiting_.pop_front();
    return first;
  }
  [[nodiscard]] auto empty() const noexcept -> bool { return waiting_.empty(); }
  /// True if a Join waits, and its worker may be asked.
  [[nodiscard]] auto may_ask() const noexcept -> bool { return !waiting_.empty() && asked_.size() < most_asked; }

  /// The worker is lost, or joins again: its Join does not wait any more. `ends`: the call is answered.
  void drop(Peer peer, bool ends) {
    const auto first = std::ranges::find(waiting_, peer, &Waiting::peer);
    if (first == waiting_.end()) return;
    if (ends) first->call.end();
    waiting_.erase(first);
  }
  /// The worker has cancelled a call: if it is the Join that waits, it does not wait any more.
  void cancelled(Peer peer, std::uint64_t call) {
    std::erase_if(waiting_, [&](const Waiting& join) { return join.peer == peer && join.call.id() == call; });
  }

  /// The shard is over: fails all that wait.
  void fail_all(const std::error_code& code, std::string_view where) {
    for (const Waiting& join : std::exchange(waiting_, {})) join.call.fail(code, where);
  }

 private:
  std::set<Peer> asked_;
  std::deque<Waiting> waiting_;  // of a peer at most one
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/cut/cut_pieces.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/rpc/call.hpp>
#include <distrib/rpc/error.hpp>

#include <cstddef>
#include <optional>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Sends a cut to the other replica in pieces, which that replica asks for by calls of `State`. Serves one peer at a
/// time: a request from the start of a cut replaces an earlier request.
///
/// Threads: one at a time.
template <class Connection>
class StateCall {
 public:
  /// A request of `peer` arrived. Returns true if it asks for the start of a cut: then the core must be asked for a
  /// cut, and `send` called. Otherwise it asks for one more piece, and is answered here: with the piece, or with
  /// `rpc_errc::cancelled` if no cut is being sent to this peer.
  auto ask(Peer peer, const StateRequest& request, Call<State, Connection> call) -> bool {
    if (request.at != 0) {
      if (peer != peer_ || !pieces_)
        call.fail(rpc_errc::cancelled, "no cut is being sent to this replica: ask again from its start");
      else call.reply(pieces_->piece(request.at, most_bytes));
      return false;
    }
    static_cast<void>(forget(peer_));
    peer_ = peer;
    have_ = request.have;
    waiting_ = std::move(call);
    return true;
  }
  /// Returns the peer that waits for a cut; 0: none.
  [[nodiscard]] auto peer() const noexcept -> Peer { return waiting_ ? peer_ : 0; }
  /// Returns the step of the state that this peer has.
  [[nodiscard]] auto have() const noexcept -> Step { return have_; }

  /// Answers the waiting call of `peer` with the first piece of the cut. Null: there is no newer cut. Does nothing if
  /// this peer does not wait.
  void send(Peer peer, const Cut* cut) {
    if (peer != peer_ || !waiting_) return;
    if (cut != nullptr) pieces_.emplace(*cut);
    std::exchange(waiting_, std::nullopt)->reply(cut == nullptr ? StateReply{} : pieces_->piece(0, most_bytes));
  }

  /// Drops the request of `peer`; a waiting call fails with `rpc_errc::cancelled`. Returns true if that peer had asked.
  auto forget(Peer peer) -> bool {
    if (peer != peer_) return false;
    if (waiting_) std::exchange(waiting_, std::nullopt)->fail(rpc_errc::cancelled);
    pieces_.reset();
    peer_ = 0;
    return true;
  }

 private:
  static constexpr std::size_t most_bytes = std::size_t{1} << 20;  // of one answer

  Peer peer_ = 0;  // 0: no request yet
  Step have_ = 0;
  std::optional<Call<State, Connection>> waiting_;
  std::optional<CutPieces> pieces_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

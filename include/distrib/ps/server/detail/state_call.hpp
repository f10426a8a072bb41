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

/// The call of the other replica that gets the pieces of a cut. There is one at a time: a new request replaces an
/// earlier one.
///
/// Threads: one at a time.
template <class Connection>
class StateCall {
 public:
  /// A request arrived. Returns true if the core must be asked for a cut; then call `send`. Otherwise it asked for one
  /// more piece, which is answered.
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
  [[nodiscard]] auto have() const noexcept -> Step { return have_; }

  /// Sends the cut to `peer`. Null: there is none.
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

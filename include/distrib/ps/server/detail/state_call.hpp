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

/// What the other replica of a shard is sent of a cut; one at a time, whoever asks anew takes the place of whoever
/// asked before. Threads: one at a time.
template <class Connection>
class StateCall {
 public:
  /// True: the core is to be asked for a cut, and then `send` told. Else it was one more piece, which is answered.
  auto ask(Peer peer, const StateRequest& request, Call<State, Connection> call) -> bool {
    if (request.at != 0) {
      if (peer != peer_ || !pieces_) call.fail(rpc_errc::cancelled, "another replica asked meanwhile");
      else call.reply(pieces_->piece(request.at, most_bytes));
      return false;
    }
    static_cast<void>(forget(peer_));
    peer_ = peer;
    have_ = request.have;
    waiting_ = std::move(call);
    return true;
  }
  /// Who waits for a cut; 0: nobody.
  [[nodiscard]] auto peer() const noexcept -> Peer { return waiting_ ? peer_ : 0; }
  [[nodiscard]] auto have() const noexcept -> Step { return have_; }

  /// The cut for this peer; null: there is none.
  void send(Peer peer, const Cut* cut) {
    if (peer != peer_ || !waiting_) return;
    if (cut != nullptr) pieces_.emplace(*cut);
    std::exchange(waiting_, std::nullopt)->reply(cut == nullptr ? StateReply{} : pieces_->piece(0, most_bytes));
  }

  /// It is gone. Whether it had asked.
  auto forget(Peer peer) -> bool {
    if (peer != peer_) return false;
    if (waiting_) std::exchange(waiting_, std::nullopt)->fail(rpc_errc::cancelled);
    pieces_.reset();
    peer_ = 0;
    return true;
  }

 private:
  static constexpr std::size_t most_bytes = std::size_t{1} << 20;  // of one answer

  Peer peer_ = 0;  // 0: nobody has asked
  Step have_ = 0;
  std::optional<Call<State, Connection>> waiting_;
  std::optional<CutPieces> pieces_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

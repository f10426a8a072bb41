// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/instant.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/rpc/call.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The calls of one connection that its shard has still to answer: the stream of Join, and pulls that wait for their
/// step. Each is answered, ended or failed once. `Connection`: what `Call` sends its answers to.
///
/// Threads: one at a time.
template <class Connection>
class PeerCalls {
 public:
  /// Keeps the stream of a Join. Before it, `end` or `refuse` an earlier stream.
  void join(Call<Join, Connection> stream) {
    stream_ = std::move(stream);
    owed_.reset();
  }
  /// True if there is a stream of Join.
  [[nodiscard]] auto joined() const noexcept -> bool { return stream_.has_value(); }

  /// Sends an item on the stream; does nothing without a stream. If the client has granted no credit, remembers the
  /// kind: `tell_owed` sends it later, with the progress of that time. Only one item is owed at a time.
  void tell(JoinItem::Kind kind, const Progress& progress) {
    if (!stream_) return;
    if (stream_->item({kind, progress, 0})) owed_.reset();
    else if (owed_ != JoinItem::Kind::joined)  // a joined item says everything that a notice says
      owed_ = kind;
  }
  /// Sends the item that is owed, if there is one, with this progress.
  void tell_owed(const Progress& progress) {
    if (owed_) tell(*owed_, progress);
  }

  /// Reports that `rank` is lost permanently: by an item, or by failing the stream if the client has granted no credit.
  void tell_lost(Rank rank) {
    if (stream_ && !stream_->item({JoinItem::Kind::rank_lost, {}, rank}))
      refuse(ps_errc::rank_lost, "rank " + std::to_string(rank));
  }

  /// Ends the stream.
  void end() {
    if (stream_) std::exchange(stream_, std::nullopt)->end();
  }
  /// Fails the stream with this error.
  void refuse(const std::error_code& code, std::string_view where) {
    if (stream_) std::exchange(stream_, std::nullopt)->fail(code, where);
  }

  /// Keeps a pull until the core answers it. `came`: when the pull arrived; `Instant{}`: not known.
  void park(Step step, Call<Pull, Connection> pull, Instant came = {}) {
    pulls_.push_back({step, came, std::move(pull)});
  }

  /// Returns when the pull arrived that the next `answer` of this step is for. `Instant{}`: there is none, or the time
  /// is not known.
  [[nodiscard]] auto came(Step step) const noexcept -> Instant {
    for (const Parked& parked : pulls_)
      if (parked.step == step) return parked.came;
    return {};
  }

  /// Returns how many pulls wait.
  [[nodiscard]] auto parked() const noexcept -> std::size_t { return pulls_.size(); }

  /// The core has answered a pull of this step: answers the pull of this step that arrived first. If the client has
  /// cancelled that pull, the answer is dropped.
  void answer(Step step, const PullReply& reply) {
    const auto first = std::ranges::find(pulls_, step, &Parked::step);
    if (first == pulls_.end()) return;
    const Call<Pull, Connection> pull = std::move(first->call);
    pulls_.erase(first);
    pull.reply(reply);
  }

  /// Fails all pulls: none will be answered any more.
  void fail_pulls(const std::error_code& code) {
    for (const Parked& parked : std::exchange(pulls_, {})) parked.call.fail(code);
  }

  /// The client has cancelled a call. Returns true if it was the stream. A cancelled pull stays in the list, because
  /// the core still answers it, and the next pull of its step may have asked for other rows; the connection drops that
  /// answer.
  auto forget(std::uint64_t call) -> bool {
    if (!stream_ || stream_->id() != call) return false;
    stream_.reset();
    return true;
  }

 private:
  struct Parked {
    Step step = 0;
    Instant came{};
    Call<Pull, Connection> call;
  };

  std::optional<Call<Join, Connection>> stream_;
  std::optional<JoinItem::Kind> owed_;
  std::vector<Parked> pulls_;
};

}  // namespace v0
}  // namespace distrib

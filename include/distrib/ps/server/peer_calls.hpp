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

/// The calls of one connection that its shard goes on answering: the stream of Join, and pulls that wait for their
/// step. Each is answered, ended or failed once. `Connection` is what `Call` speaks to. Threads: one at a time.
template <class Connection>
class PeerCalls {
 public:
  /// The stream of a Join, which must be the only one; `end` or `refuse` the one before.
  void join(Call<Join, Connection> stream) {
    stream_ = std::move(stream);
    owed_.reset();
  }
  [[nodiscard]] auto joined() const noexcept -> bool { return stream_.has_value(); }

  /// One item. Not taken now, because the client has asked for no more: it is owed, and told as it is then.
  void tell(JoinItem::Kind kind, const Progress& progress) {
    if (!stream_) return;
    if (stream_->item({kind, progress, 0})) owed_.reset();
    else if (owed_ != JoinItem::Kind::joined)  // which says all that a notice says
      owed_ = kind;
  }
  void tell_owed(const Progress& progress) {
    if (owed_) tell(*owed_, progress);
  }

  /// `rank` is lost for good: an item, or the stream's failure when the client has asked for no more.
  void tell_lost(Rank rank) {
    if (stream_ && !stream_->item({JoinItem::Kind::rank_lost, {}, rank}))
      refuse(ps_errc::rank_lost, "rank " + std::to_string(rank));
  }

  /// The stream is over: well, or with this error.
  void end() {
    if (stream_) std::exchange(stream_, std::nullopt)->end();
  }
  void refuse(const std::error_code& code, std::string_view where) {
    if (stream_) std::exchange(stream_, std::nullopt)->fail(code, where);
  }

  /// A pull that the core is asked to answer; it came at `came`.
  void park(Step step, Call<Pull, Connection> pull, Instant came = {}) {
    pulls_.push_back({step, came, std::move(pull)});
  }

  /// When the pull came that an answer of this step is for; the least: there is none.
  [[nodiscard]] auto came(Step step) const noexcept -> Instant {
    for (const Parked& parked : pulls_)
      if (parked.step == step) return parked.came;
    return {};
  }

  /// Pulls that wait.
  [[nodiscard]] auto parked() const noexcept -> std::size_t { return pulls_.size(); }

  /// The core has answered a pull of this step: the one that came first has waited for it, perhaps taken back.
  void answer(Step step, const PullReply& reply) {
    const auto first = std::ranges::find(pulls_, step, &Parked::step);
    if (first == pulls_.end()) return;
    const Call<Pull, Connection> pull = std::move(first->call);
    pulls_.erase(first);
    pull.reply(reply);
  }

  /// No pull will be answered any more.
  void fail_pulls(const std::error_code& code) {
    for (const Parked& parked : std::exchange(pulls_, {})) parked.call.fail(code);
  }

  /// The client takes a call back. True: it was the stream. A pull keeps its place, for the core answers it all the same,
  /// and the next one of its step may have asked for other rows; the connection passes over what comes for it.
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

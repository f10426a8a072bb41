// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/server/shard_identity.hpp>
#include <distrib/ps/server/shard_options.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// How long a shard has not heard of each rank, and what follows from it (protocol, "Loss, leaving, exit codes").
/// A value that reads no clock.
class ShardClock {
 public:
  struct Verdict {
    enum class Kind {
      none,  ///< Nothing is to be done.
      lost,  ///< `rank` is lost for good.
      nobody_came,  ///< No job was brought for as long as a rank may be away.
      finished,  ///< The last cut, of this job or the one before, is durable; nobody was joined for the linger time.
    };
    Kind kind = Kind::none;
    Rank rank = 0;
  };

  DISTRIB_DECL ShardClock(const ShardOptions& options, const ShardIdentity& identity, Instant now);

  /// The job is known: leases begin. `replicated`: there is another replica to ask.
  DISTRIB_DECL void opened(Instant now, bool replicated = false);
  /// True: somebody else speaks for this rank already.
  auto joined(Rank rank) -> bool {
    ++joined_;
    ask_ = Instant::max();
    return ++ranks_[rank].peers > 1;
  }
  DISTRIB_DECL void parted(Rank rank, Instant now);
  /// A cut is durable, perhaps the last one: the linger time begins, unless somebody is joined.
  void saved(Instant now) {
    if (joined_ == 0) since_ = now;
  }
  void said_goodbye(Rank rank) { ranks_[rank].goodbye = true; }
  /// While no job was brought, others have made the checkpoint of its last step, see `ShardIdentity::finished`.
  void found_finished() { was_finished_ = true; }

  /// A cut found no room: another is to be tried after a pause.
  void found_no_room(Instant now) { again_ = now + pause_; }
  /// Whether that is over now; true once.
  auto tries_again(Instant now) -> bool {
    return now >= again_ && std::exchange(again_, Instant::max()) != Instant::max();
  }

  /// Whether the other replica is to be asked for what this one lacks, as everybody may have gone home: nobody is joined
  /// any more. True once each pause.
  auto asks_sibling(Instant now) -> bool {
    const bool asks = now >= ask_;
    if (asks) ask_ = now + pause_;
    return asks;
  }

  /// When the next verdict is due, a cut to be tried, or the other replica to be asked; `complete`: the last cut is durable.
  [[nodiscard]] auto wake(bool complete) const -> std::optional<Instant> {
    const auto verdict = verdict_at(complete);
    const Instant first = complete ? again_ : std::min(again_, ask_);
    return first == Instant::max() ? verdict : std::min(first, verdict.value_or(first));
  }

  [[nodiscard]] DISTRIB_DECL auto look(Instant now, bool complete) const -> Verdict;

 private:
  struct RankState {
    std::size_t peers = 0;
    Instant since{};  // when the last of them went
    bool goodbye = false;
  };

  static auto is_away(const RankState& rank) -> bool { return rank.peers == 0 && !rank.goodbye; }

  [[nodiscard]] DISTRIB_DECL auto verdict_at(bool complete) const -> std::optional<Instant>;

  std::chrono::milliseconds away_;
  std::chrono::milliseconds linger_;
  std::chrono::milliseconds pause_;
  bool was_finished_;
  Instant since_;  // nobody is joined, or a cut was durable after that
  Instant again_ = Instant::max();  // a cut is to be tried then
  Instant ask_ = Instant::max();  // and the other replica to be asked
  bool opened_ = false;
  bool replicated_ = false;
  std::size_t joined_ = 0;
  std::vector<RankState> ranks_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/server/impl/shard_clock.ipp>
#endif

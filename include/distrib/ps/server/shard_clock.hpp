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
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// How long each rank has been without a connection to a shard, and what follows from that; see docs/design/cluster.md,
/// "The order of ends". A value that reads no clock.
class ShardClock {
 public:
  /// What to do now.
  struct Verdict {
    enum class Kind {
      none,  ///< Nothing.
      lost,  ///< `rank` is lost permanently: end the task.
      /// `rank` is lost permanently, and the job goes on without it: call `vacated`, then `look` again.
      vacant,
      nobody_came,  ///< No job arrived for as long as a rank may be away: end the task.
      /// No worker was joined for the linger time, and the last cut of the job is durable; or no job has arrived, and
      /// the directory has the checkpoint of a job's last step. The task is done.
      finished,
    };
    Kind kind = Kind::none;
    Rank rank = 0;
  };

  DISTRIB_DECL ShardClock(const ShardOptions& options, const ShardIdentity& identity, Instant now);

  /// The job is known, and its cuts are read: the time of absence counts from now for every rank. `replicated`: true if
  /// there is another replica to ask. `needs_no_rank`: the ranks need not wait for each other (`open_end`), or another
  /// process takes over one that is away (dealt ranks, ranks that change); so it is lost only if no worker is joined
  /// for that time. `names`: how many ranks may join, if that is more than the cluster has workers. `spare`: without
  /// how many ranks the job can go on, the number of its backup workers. So many ranks become vacant before a rank is
  /// lost; but rank 0, the chief, is always needed. Ignored with `needs_no_rank`.
  DISTRIB_DECL void opened(Instant now, bool replicated = false, bool needs_no_rank = false, Rank names = 0,
                           Rank spare = 0);
  /// A worker of `rank` has joined; if the rank was vacant, it no longer is. Returns true if another connection of this
  /// rank is joined already.
  auto joined(Rank rank) -> bool {
    ++joined_;
    if (is_awaited(rank)) ++awaited_;
    ask_ = Instant::max();
    came(ranks_[rank]);
    if (std::exchange(ranks_[rank].vacant, false)) --vacant_;
    return ++ranks_[rank].peers > 1;
  }
  /// A worker of `rank` has left, or its connection is lost.
  DISTRIB_DECL void parted(Rank rank, Instant now);
  /// A cut is durable, perhaps the last one: the linger time starts again, unless a worker is joined.
  void saved(Instant now) {
    if (awaited_ == 0) since_ = now;
  }
  /// The rank is done: its absence does not count any more.
  void said_goodbye(Rank rank) {
    came(ranks_[rank]);
    ranks_[rank].goodbye = true;
  }
  /// `look` has returned `vacant` for the rank: its absence does not count any more, until it joins again.
  void vacated(Rank rank) {
    came(ranks_[rank]);
    ranks_[rank].vacant = true;
    ++vacant_;
  }
  /// The last cut is durable, in a job whose ranks may change: from now on only workers of these ranks keep the shard
  /// from ending. Others look on. They may never be able to say goodbye, because other shards have ended already.
  DISTRIB_DECL void waits_only_for(std::span<const Rank> last, Instant now);
  /// The directory has the checkpoint of a job's last step, see `ShardIdentity::finished`. Counts only while no job has
  /// arrived.
  void found_finished() { was_finished_ = true; }

  /// A cut found no disk space: another try follows after a pause.
  void found_no_room(Instant now) { again_ = instant_after(now, pause_); }
  /// True if that pause is over: once for each `found_no_room`.
  auto tries_again(Instant now) -> bool {
    return now >= again_ && std::exchange(again_, Instant::max()) != Instant::max();
  }

  /// True if the other replica is to be asked for what this one lacks: no worker is joined any more, and all may have
  /// ended. True at once, then once per pause.
  auto asks_sibling(Instant now) -> bool {
    const bool asks = now >= ask_;
    if (asks) ask_ = instant_after(now, pause_);
    return asks;
  }

  /// Returns when to look again: for the next verdict, to try a cut, or to ask the other replica. Empty: not before the
  /// next event. `complete`: true if the last cut is durable.
  [[nodiscard]] auto wake(bool complete) const -> std::optional<Instant> {
    const Instant first = std::min({verdict_at(complete), again_, complete ? Instant::max() : ask_});
    return first == Instant::max() ? std::nullopt : std::optional{first};
  }

  /// Returns what to do at `now`. `complete`: true if the last cut is durable.
  [[nodiscard]] DISTRIB_DECL auto look(Instant now, bool complete) const -> Verdict;

 private:
  struct RankState {
    std::size_t peers = 0;
    Instant since{};  // when the last connection of the rank ended
    bool goodbye = false;
    bool vacant = false;  // lost permanently, and not needed
  };

  // True if a worker of the rank keeps the shard from ending.
  [[nodiscard]] auto is_awaited(Rank rank) const -> bool {
    return last_.empty() || std::ranges::binary_search(last_, rank);
  }

  static auto is_away(const RankState& rank) -> bool { return rank.peers == 0 && !rank.goodbye && !rank.vacant; }

  // A rank is not away any more, if it was.
  void came(const RankState& rank) {
    if (is_away(rank)) away_since_.erase(away_since_.find(rank.since));
  }

  // When a rank is lost for good that is away since then.
  [[nodiscard]] DISTRIB_DECL auto lost_at(Instant since) const -> Instant;

  // When there is a verdict other than `none`, unless an event comes first; `Instant::max()`: never.
  [[nodiscard]] DISTRIB_DECL auto verdict_at(bool complete) const -> Instant;

  std::chrono::milliseconds away_;
  std::chrono::milliseconds linger_;
  std::chrono::milliseconds pause_;
  bool was_finished_;
  Instant since_;  // the start of the linger time: when the last worker left, or a cut became durable after that
  Instant again_ = Instant::max();  // when a cut is to be tried again
  Instant ask_ = Instant::max();  // when the other replica is to be asked
  bool opened_ = false;
  bool replicated_ = false;
  bool needs_no_rank_ = false;
  Rank spare_ = 0;
  Rank vacant_ = 0;  // how many ranks are vacant
  std::size_t joined_ = 0;
  std::size_t awaited_ = 0;  // of those that are joined
  std::vector<Rank> last_;  // ascending; empty: each rank is awaited
  std::vector<RankState> ranks_;
  std::multiset<Instant> away_since_;  // of the ranks that are away: so no event looks at all ranks
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/server/impl/shard_clock.ipp>
#endif

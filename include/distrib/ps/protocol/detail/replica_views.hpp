// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/ps/job/replies.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// What a synchronous worker knows of one replica of a shard.
struct ReplicaView {
  Progress progress;
  bool connected = false;
  /// It has joined on this connection, is not getting the state of another replica, and is not `lame`.
  bool live = false;
  bool joined = false;  ///< It has joined since all replicas were last asked to join.
  bool is_old = false;  ///< It reports no history, although the job has one.
  bool begun = false;  ///< Contribution 0 was sent since it joined.
  Step sent = 0;  ///< The last contribution that was sent since it joined.
  /// The step that was pulled since it joined only to learn when it has room for more contributions.
  Step awaited = 0;
  Step cut_asked = 0;  ///< The step at which it was asked to make a cut since it joined.
  std::optional<Step> asked;  ///< The step whose values were requested from it: t, or with backup workers a later one.
  SharedBuffer got;  ///< The values that arrived for `asked`; null: none yet.
  std::optional<Step> helped_at;  ///< Its step when it was last asked to get the state of another replica.
  /// Since the values of t are wanted, its connection was lost, it joined again, or it became `lame`.
  bool doubtful = false;
  Step stood = 0;  ///< Its step when it last reported on this connection.
  /// A Restore of another worker sent it back on this connection, and it has not advanced since. It gets no state of
  /// another replica: the newer cuts belong to steps that were given up.
  bool sent_back = false;
  bool witness = false;  ///< It reported the other process of this rank, and reports when that process is lost.
  /// Getting the state of another replica did not advance it, and no other replica has a newer cut. Not live, and not
  /// waited for, until it advances by itself or another replica gets such a cut.
  bool lame = false;

  /// The replica reports its progress with Joined: from now on it stands there.
  DISTRIB_DECL void stand_at(Progress heard);

  /// The connection is lost: a report on the next one may be of a process that started again.
  void lose() noexcept {
    connected = sent_back = false;
    stood = 0;
  }

  /// This worker sends it a Restore: wherever it stands then, no other worker has sent it back.
  void asked_back() noexcept {
    sent_back = false;
    stood = 0;
  }

  /// The replica reports its progress. Within one history an older report does not set `done` back. A report without
  /// `all_cuts` keeps the cuts that are known. If the replica is lame and has advanced, it is live again.
  DISTRIB_DECL void learn(Progress heard);

  /// Returns all its cuts with their lineages. If it reported no names, all cuts have the lineage of its history.
  [[nodiscard]] DISTRIB_DECL auto names() const -> std::vector<NamedCut>;

  /// True if it no longer keeps the values of t: it keeps the values of its own step and of the step before.
  [[nodiscard]] auto is_beyond(Step t) const noexcept -> bool { return progress.done > t + 1; }
};

/// The replicas of all shards in the order of their numbers, see `Job::num_replicas`. In questions about a shard its
/// live replicas count, unless a contract says otherwise. A value.
///
/// The common cut, and how many shards have sent their values, are computed once and kept until a view may have
/// changed: otherwise each event would look at all replicas. Access to a view that may be changed forgets both; `quiet`
/// does not.
class ReplicaViews : public std::vector<ReplicaView> {
 public:
  ReplicaViews(std::uint32_t shards, std::uint32_t replicas) : std::vector<ReplicaView>(replicas), shards_{shards} {}

  [[nodiscard]] auto operator[](std::size_t replica) const -> const ReplicaView& { return vector::operator[](replica); }
  [[nodiscard]] auto operator[](std::size_t replica) -> ReplicaView& {
    forget_computed();
    return vector::operator[](replica);
  }
  [[nodiscard]] auto begin() const noexcept { return vector::begin(); }
  [[nodiscard]] auto begin() noexcept {
    forget_computed();
    return vector::begin();
  }
  /// Returns a view that is only read.
  [[nodiscard]] auto of(std::uint32_t replica) const -> const ReplicaView& { return (*this)[replica]; }
  /// Returns a view. Its `progress` and `live` must not be changed, and its values not taken away.
  [[nodiscard]] auto quiet(std::uint32_t replica) -> ReplicaView& { return vector::operator[](replica); }
  /// The replica reports its progress, see `ReplicaView::learn`.
  DISTRIB_DECL void learn(std::uint32_t replica, Progress heard);

  [[nodiscard]] auto shards() const noexcept -> std::uint32_t { return shards_; }
  [[nodiscard]] auto shard_of(std::uint32_t replica) const noexcept -> std::uint32_t { return replica % shards_; }
  /// True if shards have more than one replica.
  [[nodiscard]] auto replicated() const noexcept -> bool { return size() > shards_; }

  /// True if some replica of the shard meets the condition.
  [[nodiscard]] auto some_of(std::uint32_t shard, auto is_like_that) const -> bool {
    for (std::size_t replica = shard; replica < size(); replica += shards_)
      if (std::invoke(is_like_that, (*this)[replica])) return true;
    return false;
  }
  /// True if some replica of each shard meets the condition.
  [[nodiscard]] auto some_of_each(auto is_like_that) const -> bool {
    for (std::uint32_t shard = 0; shard < shards_; ++shard)
      if (!some_of(shard, is_like_that)) return false;
    return true;
  }

  /// True if the replica has no cut of this step or a later one, and a live replica of its shard has one.
  [[nodiscard]] auto lags(std::uint32_t replica, Step step) const -> bool {
    return !(*this)[replica].progress.has_cut_from(step) &&
           some_of(shard_of(replica), [step](const ReplicaView& v) { return v.live && v.progress.has_cut_from(step); });
  }

  /// True if another live replica of its shard has a cut that is newer than the step of this replica.
  [[nodiscard]] auto has_helper(std::uint32_t replica) const -> bool {
    const ReplicaView& behind = (*this)[replica];
    return some_of(shard_of(replica), [&behind](const ReplicaView& v) {
      return &v != &behind && v.live && v.progress.has_cut_from(behind.progress.done + 1);
    });
  }

  /// True if some replica of its shard has no cut of this step or a later one.
  [[nodiscard]] auto some_lack(Step step, std::uint32_t replica) const -> bool {
    return some_of(shard_of(replica), [step](const ReplicaView& v) { return !v.progress.has_cut_from(step); });
  }

  /// True if some replica of every shard has the cut of step `last`, and no connected replica lacks it that could still
  /// get it from a live replica of its shard.
  [[nodiscard]] DISTRIB_DECL auto all_saved(Step last) const -> bool;

  /// True if each shard has a replica that has joined, and no connected replica has still to join.
  [[nodiscard]] auto ready() const -> bool {
    return some_of_each(&ReplicaView::joined) &&
           std::ranges::all_of(*this, [](const ReplicaView& v) { return v.joined || !v.connected; });
  }

  /// Returns the smallest k of all shards. The k of a shard is the largest of its replicas that have joined; 0: none
  /// has.
  [[nodiscard]] DISTRIB_DECL auto least_done() const -> Step;

  /// Forgets which values were requested and which arrived: the values of another step are wanted from all replicas.
  void want_anew() {
    for (ReplicaView& view : *this) {
      view.asked.reset();
      view.got = nullptr;
      view.doubtful = false;
    }
  }

  /// Forgets what depends on the last Join: all replicas are asked to join again.
  void forget() {
    want_anew();
    take_back();
    for (ReplicaView& view : *this) view.joined = false;
  }

  /// Leaves the contributions of this rank after `from` up to `to` to another process of this rank, which `replica`
  /// reported.
  void leave(std::uint32_t replica, Step from, Step to) {
    if (from != left_to_) left_after_ = from;
    left_to_ = to;
    (*this)[replica].witness = true;
  }
  /// True if the contribution of `step` is left to another process.
  [[nodiscard]] auto is_left(Step step) const noexcept -> bool { return step > left_after_ && step <= left_to_; }
  /// Takes back what was left to another process: these contributions must be sent again, if they are still kept.
  void take_back() {
    for (ReplicaView& view : *this) {
      view.witness = false;
      if (left_to_ != 0) view.sent = std::min(view.sent, left_after_);
    }
    left_after_ = left_to_ = 0;
  }

  /// True if the values of t for this shard are to be pulled from this replica, not from the other replica.
  [[nodiscard]] auto is_source(std::uint32_t replica, Step t) const -> bool {
    return source(shard_of(replica), t) == replica;
  }

  /// True if a live replica has completed a step after t. Then it has this rank's next contribution already, from
  /// another process of the rank.
  [[nodiscard]] auto some_ahead(Step t) const -> bool {
    return std::ranges::any_of(*this, [t](const ReplicaView& v) { return v.live && v.progress.done > t; });
  }

  /// Returns the values that arrived from a shard; null: none yet.
  [[nodiscard]] auto values_of(std::uint32_t shard) const -> const SharedBuffer& {
    std::size_t replica = shard;
    while ((*this)[replica].got == nullptr && replica + shards_ < size()) replica += shards_;
    return (*this)[replica].got;
  }

  /// True if values have arrived from every shard.
  [[nodiscard]] auto has_all_values() const -> bool {
    while (with_values_ < shards_ && values_of(with_values_) != nullptr) ++with_values_;
    return with_values_ == shards_;
  }

  [[nodiscard]] auto all_values() const -> std::vector<SharedBuffer> {
    std::vector<SharedBuffer> values;
    for (std::uint32_t shard = 0; shard < shards_; ++shard) values.push_back(values_of(shard));
    return values;
  }

  /// Returns the number of the replica of a shard that will have the values of t first, as far as is known. Of equal
  /// replicas, or if none is live, the first one.
  [[nodiscard]] DISTRIB_DECL auto source(std::uint32_t shard, Step t) const -> std::uint32_t;

  /// True if the replica is live and may still send the values of t, or is the source of its shard.
  [[nodiscard]] auto may_give(std::uint32_t replica, Step t) const -> bool {
    return ((*this)[replica].live && !(*this)[replica].is_beyond(t)) || is_source(replica, t);
  }

  /// Returns the newest step that is in every shard's list of cuts (rule 6). The list of a shard: the cuts that all its
  /// live replicas have; if none is live, the cuts that all its replicas have that have reported cuts. 0 if these
  /// replicas are of different histories, or if no replica of a shard has reported cuts.
  [[nodiscard]] auto common_cut() const -> Step {
    if (!common_cut_) common_cut_ = find_common_cut();
    return *common_cut_;
  }

  /// True if the replicas that `common_cut` looks at are of one history.
  [[nodiscard]] DISTRIB_DECL auto have_one_history() const -> bool;

  /// Returns the newest cut that is the same, by step and lineage, in the lists of all replicas that have joined,
  /// whatever their histories. Cut 0 always is. At least one replica must have joined.
  [[nodiscard]] DISTRIB_DECL auto common_of_histories() const -> NamedCut;

 private:
  void forget_computed() noexcept {
    common_cut_.reset();
    with_values_ = 0;
  }
  [[nodiscard]] DISTRIB_DECL auto find_common_cut() const -> Step;

  std::uint32_t shards_;
  mutable std::optional<Step> common_cut_;  // empty: not computed
  mutable std::uint32_t with_values_ = 0;  // so many shards, the first ones, are known to have sent their values
  Step left_after_ = 0;
  Step left_to_ = 0;  // 0: nothing is left to another process
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/protocol/detail/impl/replica_views.ipp>
#endif

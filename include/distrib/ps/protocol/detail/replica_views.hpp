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
  bool live = false;    ///< It has joined on this connection, and does not catch up with another one.
  bool joined = false;  ///< Since everybody was asked to.
  bool is_old = false;  ///< It tells no history, though the job has one.
  bool begun = false;   ///< Contribution 0 was sent since it joined.
  Step sent = 0;       ///< Contributions through this one were sent since it joined.
  Step awaited = 0;    ///< Pulled since it joined, to hear when it has room for more.
  Step cut_asked = 0;  ///< Asked since it joined to make a cut at this step.
  std::optional<Step> asked;  ///< Whose values are wanted of it: t, or with backup workers a later one.
  SharedBuffer got;           ///< These values.
  std::optional<Step> helped_at;  ///< Where it was when it was last told to catch up.
  bool doubtful = false;  ///< Since t is wanted it was lost, has joined anew or was left behind.
  bool witness = false;  ///< It told of the process that something is left to, and tells when that is lost.
  bool lame = false;  ///< That did not help: it is left behind until another one has a cut that will.

  /// It says where it is, unless that was heard before. One that was left behind and has moved since is so no more.
  DISTRIB_DECL void learn(Progress heard);

  /// All its cuts. Where it names none all have the lineage of its history, which has one entry.
  [[nodiscard]] DISTRIB_DECL auto names() const -> std::vector<NamedCut>;

  /// It no longer has the values of t.
  [[nodiscard]] auto is_beyond(Step t) const noexcept -> bool { return progress.done > t + 1; }
};

/// The replicas of all shards in the order of their numbers, see `Job::num_replicas`. Of those of one shard the live ones
/// count. A value.
class ReplicaViews : public std::vector<ReplicaView> {
 public:
  ReplicaViews(std::uint32_t shards, std::uint32_t replicas) : std::vector<ReplicaView>(replicas), shards_{shards} {}

  [[nodiscard]] auto shards() const noexcept -> std::uint32_t { return shards_; }
  [[nodiscard]] auto shard_of(std::uint32_t replica) const noexcept -> std::uint32_t { return replica % shards_; }
  /// Whether shards have more than one.
  [[nodiscard]] auto replicated() const noexcept -> bool { return size() > shards_; }

  /// Whether some replica of the shard, or of each shard, is like that.
  [[nodiscard]] auto some_of(std::uint32_t shard, auto is_like_that) const -> bool {
    for (std::size_t replica = shard; replica < size(); replica += shards_)
      if (std::invoke(is_like_that, (*this)[replica])) return true;
    return false;
  }
  [[nodiscard]] auto some_of_each(auto is_like_that) const -> bool {
    for (std::uint32_t shard = 0; shard < shards_; ++shard)
      if (!some_of(shard, is_like_that)) return false;
    return true;
  }

  /// Whether it has no cut of this step or a later one, and a live replica of its shard has.
  [[nodiscard]] auto lags(std::uint32_t replica, Step step) const -> bool {
    return !(*this)[replica].progress.has_cut_from(step) &&
           some_of(shard_of(replica), [step](const ReplicaView& v) { return v.live && v.progress.has_cut_from(step); });
  }

  /// Whether another live replica of its shard has a cut that is ahead of it.
  [[nodiscard]] auto has_helper(std::uint32_t replica) const -> bool {
    const ReplicaView& behind = (*this)[replica];
    return some_of(shard_of(replica), [&behind](const ReplicaView& v) {
      return &v != &behind && v.live && v.progress.has_cut_from(behind.progress.done + 1);
    });
  }

  /// Whether some replica of its shard has no cut of this step or a later one.
  [[nodiscard]] auto some_lack(Step step, std::uint32_t replica) const -> bool {
    return some_of(shard_of(replica), [step](const ReplicaView& v) { return !v.progress.has_cut_from(step); });
  }

  /// Whether every shard has the last cut. A replica that is connected and can have it of another one is waited for.
  [[nodiscard]] DISTRIB_DECL auto all_saved(Step last) const -> bool;

  /// Whether everybody has joined who can be waited for.
  [[nodiscard]] auto ready() const -> bool {
    return some_of_each(&ReplicaView::joined) &&
           std::ranges::all_of(*this, [](const ReplicaView& v) { return v.joined || !v.connected; });
  }

  /// The smallest k of all shards, where that of a shard is the largest of its replicas that have joined.
  [[nodiscard]] DISTRIB_DECL auto least_done() const -> Step;

  /// Values of another step are wanted of all.
  void want_anew() {
    for (ReplicaView& view : *this) {
      view.asked.reset();
      view.got = nullptr;
      view.doubtful = false;
    }
  }

  /// Everybody is asked anew to join.
  void forget() {
    want_anew();
    take_back();
    for (ReplicaView& view : *this) view.joined = false;
  }

  /// This rank's contributions after `from` through `to` are left to another process of it, of which the replica told.
  void leave(std::uint32_t replica, Step from, Step to) {
    if (from != left_to_) left_after_ = from;
    left_to_ = to;
    (*this)[replica].witness = true;
  }
  [[nodiscard]] auto is_left(Step step) const noexcept -> bool { return step > left_after_ && step <= left_to_; }
  /// Nothing is left to anybody any more: what was is to be sent, or cannot be.
  void take_back() {
    for (ReplicaView& view : *this) {
      view.witness = false;
      if (left_to_ != 0) view.sent = std::min(view.sent, left_after_);
    }
    left_after_ = left_to_ = 0;
  }

  /// Whether it is the one of its shard that gives the values of t.
  [[nodiscard]] auto is_source(std::uint32_t replica, Step t) const -> bool {
    return source(shard_of(replica), t) == replica;
  }

  /// Whether a shard is beyond t: it has this rank's next contribution from another process.
  [[nodiscard]] auto some_ahead(Step t) const -> bool {
    return std::ranges::any_of(*this, [t](const ReplicaView& v) { return v.live && v.progress.done > t; });
  }

  /// The values that came of a shard; null: none yet.
  [[nodiscard]] auto values_of(std::uint32_t shard) const -> const SharedBuffer& {
    std::size_t replica = shard;
    while ((*this)[replica].got == nullptr && replica + shards_ < size()) replica += shards_;
    return (*this)[replica].got;
  }

  /// Those of each shard.
  [[nodiscard]] auto all_values() const -> std::vector<SharedBuffer> {
    std::vector<SharedBuffer> values;
    for (std::uint32_t shard = 0; shard < shards_; ++shard) values.push_back(values_of(shard));
    return values;
  }

  /// The replica of a shard that will have the values of t first, as far as is known; of equal ones the first.
  [[nodiscard]] DISTRIB_DECL auto source(std::uint32_t shard, Step t) const -> std::uint32_t;

  /// Whether it may come to have them, or is the one that would have them first.
  [[nodiscard]] auto may_give(std::uint32_t replica, Step t) const -> bool {
    return ((*this)[replica].live && !(*this)[replica].is_beyond(t)) || is_source(replica, t);
  }

  /// The newest step that is in every shard's list of cuts (rule 6): in those of its live replicas, or when none is, of
  /// all that were heard of. 0 where they are of different histories.
  [[nodiscard]] DISTRIB_DECL auto common_cut() const -> Step;

  /// Whether those that `common_cut` asks are of one history, as far as they were heard of.
  [[nodiscard]] DISTRIB_DECL auto have_one_history() const -> bool;

  /// The newest cut that is the same in the lists of all that have joined, whatever their histories; cut 0 always is.
  [[nodiscard]] DISTRIB_DECL auto common_of_histories() const -> NamedCut;

 private:
  std::uint32_t shards_;
  Step left_after_ = 0;
  Step left_to_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/protocol/detail/impl/replica_views.ipp>
#endif

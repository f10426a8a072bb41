// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job/rank_block.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/step.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Number of one connection to a shard. A worker that connects again is a new peer. An older process of the same rank
/// that is still connected keeps its own number.
using Peer = std::uint64_t;

/// A step to pull in an asynchronous job: answered with the final values when the contributions of all ranks are
/// counted and durable.
inline constexpr Step end_of_job = std::numeric_limits<Step>::max();

/// A cut, named by its step and the number of its lineage.
struct NamedCut {
  Step step = 0;
  std::uint64_t lineage = 0;  ///< `Lineage::digest`.

  [[nodiscard]] auto operator==(const NamedCut&) const -> bool = default;
};

/// What a shard reports of itself with every reply: how far it is, and which cuts it has.
struct Progress {
  /// Synchronous: k, the last step completed. Asynchronous: the number of the last contribution of the asking rank that
  /// was counted.
  Step done = 0;
  /// Ascending. Synchronous: steps with a durable cut of the shard's history; 0 is always one of them. Asynchronous:
  /// the last contribution of the asking rank that a durable cut has; and, in a job whose ranks change, `end_of_job` if
  /// that cut has all contributions of the job.
  std::vector<Step> cuts;
  /// True if the last cut could not be written because the disk is full. Workers with full buffers then do not wait for
  /// the next cut.
  bool no_room = false;
  /// True if the shard is at step 0 and waits for contribution 0, which has the custom initial values.
  bool no_values = false;
  /// Synchronous, with Gone: true if the newest contribution of the asking rank came from another process of that rank,
  /// which is connected.
  bool doubled = false;
  /// Number of the lineage of what the shard computes next, see `Lineage::digest`. 0: the shard reports none, because
  /// it is of an older version, or the job is asynchronous or has backup workers.
  std::uint64_t history = 0;
  /// With Joined: all durable cuts, also those of other histories, in ascending order of steps. Empty: the shard
  /// reports no history, or all its cuts have the shard's own lineage, which has one entry.
  std::vector<NamedCut> all_cuts = {};
  /// Which ranks make which steps, as far as the shard knows. With values of step t it has all entries up to step t + 1
  /// that this shard will ever have; asynchronous: with values after step t. Null: the job's ranks never change.
  SharedRankLog ranks = nullptr;

  /// True if there is a cut of this step or of a later one.
  [[nodiscard]] auto has_cut_from(Step step) const noexcept -> bool { return !cuts.empty() && cuts.back() >= step; }

  [[nodiscard]] auto operator==(const Progress&) const -> bool = default;
};

/// One contribution to a shard: its name (step, rank), and the block for this shard, see
/// `ps/store/table_gradients.hpp`. For step 0 the block is the dense block alone, in float32: the custom initial values
/// of the job.
///
/// With a `level` it is the sum of the contributions of a block of ranks, whose first rank is `rank`, and the block is
/// the dense block in float32, whatever the job's `FloatFormat` is.
struct Contribution {
  Step step = 0;
  Rank rank = 0;
  SharedBuffer block;
  /// Of the block; set by the shell that carries the contribution. Compared only between repeats of one name.
  std::uint32_t checksum = 0;
  Step common_cut = 0;  ///< The newest cut that, as the worker knows, every shard has.
  std::uint64_t history = 0;  ///< Lineage of the values that it was computed from, see `Progress::history`.
  std::uint32_t level = 0;  ///< See `RankBlock`. 0: a single rank.
  /// The ranks that make its step: the step is complete with the contributions of these. Null: the job's ranks never
  /// change, or it is contribution 0.
  SharedRankEntry entry = nullptr;
  /// Asynchronous, in a job whose ranks change: the step of the rank's contribution before this one; 0: it is the first.
  Step after = 0;

  [[nodiscard]] auto ranks() const noexcept -> RankBlock { return {rank, level}; }
};

/// Answers Join. Also sent when the worker behind `peer` must start again with this shard as after a Join.
struct JoinedReply {
  Peer peer = 0;
  Progress progress;
};
/// Reports to the worker behind `peer` that the shard's progress has changed.
struct NoticeReply {
  Peer peer = 0;
  Progress progress;
};
/// Answers a pull with values.
struct ValuesReply {
  Peer peer = 0;
  Step step = 0;  ///< The step that was pulled.
  SharedBuffer block;
  Progress progress;
  /// What the values are made of. Synchronous: steps. Asynchronous: contributions of all ranks together.
  Step counted = 0;
};
/// Answers a pull of `step`: the shard does not have those values any more.
struct GoneReply {
  Peer peer = 0;
  Step step = 0;
  Progress progress;
};
/// Answers a push of `step`.
struct PushedReply {
  Peer peer = 0;
  Step step = 0;
  Progress progress;
};
/// Refuses a Join, a push or a pull of the worker behind `peer`. `ps_errc::not_repeatable` only reports: the push is
/// answered too.
struct RefusedReply {
  Peer peer = 0;
  /// The reason, usually a `ps_errc`.
  std::error_code code;
  Step step = 0;
  Rank rank = 0;
  std::string what = {};  ///< The variable or table concerned, or the reason. May be empty.
};

/// Returns a text for messages about the contribution that was refused: "step 3 of rank 1, hidden/weights".
[[nodiscard]] inline auto to_string(const RefusedReply& refused) -> std::string {
  return "step " + std::to_string(refused.step) + " of rank " + std::to_string(refused.rank) +
         (refused.what.empty() ? "" : ", " + refused.what);
}

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job/step.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Which connection a message came by. A worker that comes back has a new one; a zombie still has its own.
using Peer = std::uint64_t;

/// To be pulled in an asynchronous job: the values when every rank's contributions are counted
/// and durable.
inline constexpr Step end_of_job = std::numeric_limits<Step>::max();

/// A cut by its step and the number of its lineage.
struct NamedCut {
  Step step = 0;
  std::uint64_t lineage = 0;  ///< `Lineage::digest`.

  [[nodiscard]] auto operator==(const NamedCut&) const -> bool = default;
};

/// What a shard always tells of itself: how far it is and which cuts it has.
struct Progress {
  Step done = 0;  ///< Synchronous: k, steps completed. Asynchronous: the asking rank's contributions counted.
  std::vector<Step> cuts;  ///< Ascending. Synchronous: steps with a durable cut of its history, 0 always among them.
      ///< Asynchronous: one entry, the last contribution of the asking rank that a durable cut holds.
  bool no_room = false;  ///< The last cut could not be written: the disk is full. Workers need not wait for the next.
  bool no_values = false;  ///< It is at step 0 and waits for contribution 0, which has the custom initial values.
  bool doubled = false;  ///< Synchronous, with Gone: the newest contribution of the asking rank came from another
      ///< process of it, which is connected.
  /// The lineage of what it computes next, see `Lineage::digest`. 0: it tells none, because it is of an older version, or the
  /// job is asynchronous or has backup workers.
  std::uint64_t history = 0;
  /// With Joined: its durable cuts, also those of other histories, steps ascending. Empty: it tells no history, or all have
  /// the lineage of its own, which has one entry.
  std::vector<NamedCut> all_cuts = {};

  /// Whether there is a cut of this step or a later one.
  [[nodiscard]] auto has_cut_from(Step step) const noexcept -> bool { return !cuts.empty() && cuts.back() >= step; }

  [[nodiscard]] auto operator==(const Progress&) const -> bool = default;
};

/// One gradient: the name (step, rank) and the shard's block of it, see `ps/store/table_gradients.hpp`. Whoever carries
/// it fills in the checksum, which is compared only between repeats of one name. Of step 0 the block is the dense block
/// itself, in float32: the initial values of a job that has custom ones.
struct Contribution {
  Step step = 0;
  Rank rank = 0;
  SharedBuffer block;
  std::uint32_t checksum = 0;
  Step common_cut = 0;  ///< The newest cut that the worker knows every shard to have.
  std::uint64_t history = 0;  ///< Of the values that it was made from, see `Progress::history`.
};

/// Answers and notices of a shard to the worker behind `peer`.
struct JoinedReply {
  Peer peer = 0;
  Progress progress;
};
struct NoticeReply {
  Peer peer = 0;
  Progress progress;
};
struct ValuesReply {
  Peer peer = 0;
  Step step = 0;  ///< The step that was asked for.
  SharedBuffer block;
  Progress progress;
  Step counted = 0;  ///< What the block is made of: steps; asynchronous: contributions of all ranks together.
};
struct GoneReply {
  Peer peer = 0;
  Step step = 0;
  Progress progress;
};
struct PushedReply {
  Peer peer = 0;
  Step step = 0;
  Progress progress;
};
struct RefusedReply {
  Peer peer = 0;
  std::error_code code;
  Step step = 0;
  Rank rank = 0;
  std::string what = {};  ///< The variable or table that it is about, or why; may be empty.
};

/// Which contribution it was, and what of it: "step 3 of rank 1, hidden/weights".
[[nodiscard]] inline auto to_string(const RefusedReply& refused) -> std::string {
  return "step " + std::to_string(refused.step) + " of rank " + std::to_string(refused.rank) +
         (refused.what.empty() ? "" : ", " + refused.what);
}

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/rank_file.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/step.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What became of a proposal.
struct RankAnswer {
  std::uint64_t caller = 0;  ///< As it was passed with the proposal.
  bool taken = false;  ///< True: the entry is durable here, and in force. False: propose a step after `horizon`.
  Step horizon = 0;
  /// Why it is not taken: `ps_errc::ranks_too_soon`, `bad_ranks`, `bad_rate` or `too_many_changes`.
  std::error_code why = {};
};

/// One shard's part of the log of the ranks: takes proposals, says what must be durable before a value is told. Rules
/// E1 to E3 of docs/design/membership.md.
///
/// Decides only: no clock, no I/O. After each event its host asks `next_write`, and makes the file durable that it
/// returns, in place of the one before; then it calls `SyncShardCore::ranks_written`, and sends `take_answers`.
///
/// Threads: one at a time.
class RankLogCore {
 public:
  /// The log of a job that begins with the ranks from 0 to `ranks` - 1; all ranks are below `most_ranks`.
  /// `scales_rates`: entries may have a factor of the learning rate (`can_scale_rates`).
  DISTRIB_DECL RankLogCore(Rank ranks, Rank most_ranks, bool scales_rates = true);

  /// The shard starts. `file`: what was written last; empty: nothing yet. `steps_ahead`: how far the horizon is raised
  /// beyond the newest step; at least 1. It must be called once; nothing is told and nothing is taken before.
  DISTRIB_DECL void open(const std::optional<RankFile>& file, Step steps_ahead);

  /// Someone wants these ranks from a step on. E2: it is taken if that step is beyond the horizon, and beyond the newest
  /// step. Its answer follows when it is durable, or refused.
  DISTRIB_DECL void propose(std::uint64_t caller, RankEntry entry);
  /// A contribution states this entry, which is in force then (`is_rank_entry`, or the ranks that the job begins with).
  DISTRIB_DECL void hear(const SharedRankEntry& entry);

  /// Returns the file to write next, if there is something to write and none is being written. `newest`: the newest
  /// step that the shard has completed.
  [[nodiscard]] DISTRIB_DECL auto next_write(Step newest) -> std::optional<RankFile>;
  /// The file that `next_write` returned is durable.
  DISTRIB_DECL void written();

  /// E1: true if values of this step may be told: the horizon is durable beyond it.
  [[nodiscard]] auto may_tell(Step step) const noexcept -> bool { return horizon_ > step; }
  /// Returns the log that is told with each answer: what is durable, and what was heard.
  [[nodiscard]] auto log() const noexcept -> const SharedRankLog& { return log_; }
  /// Returns the entry of the ranks that the job begins with.
  [[nodiscard]] auto first() const noexcept -> const SharedRankEntry& { return first_; }
  /// Returns the horizon that is durable.
  [[nodiscard]] auto horizon() const noexcept -> Step { return horizon_; }
  /// True if all entries of `log` are durable here, also those that were heard.
  [[nodiscard]] auto is_written() const noexcept -> bool { return !heard_ && !writes_heard_; }
  /// Returns the answers since the last call.
  [[nodiscard]] auto take_answers() -> std::vector<RankAnswer> { return std::exchange(answers_, {}); }

 private:
  struct Asked {
    std::uint64_t caller = 0;
    SharedRankEntry entry;
  };
  static constexpr std::size_t most_asked = 64;

  /// Returns why an entry is not taken.
  [[nodiscard]] DISTRIB_DECL auto refuses(const RankEntry& entry, const RankLog& log, Step newest) const
      -> std::error_code;

  Rank most_ranks_;
  bool scales_rates_;
  SharedRankLog log_;
  SharedRankEntry first_;
  Step horizon_ = 0;  // durable
  Step steps_ahead_ = 0;  // 0: not open
  bool heard_ = false;  // `log_` has entries that the file lacks
  bool writes_heard_ = false;  // the file that is being written has such entries
  std::vector<Asked> asked_;
  std::vector<Asked> taken_;  // in the file that is being written
  std::optional<Step> writing_;  // its horizon
  std::vector<RankAnswer> answers_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/protocol/impl/rank_log_core.ipp>
#endif

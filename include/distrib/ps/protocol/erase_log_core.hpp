// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/erased_keys.hpp>
#include <distrib/ps/job/rank_file.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/job/table_share.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What became of a call that asks for keys to be erased.
struct EraseAnswer {
  std::uint64_t caller = 0;  ///< As it was passed with the call.
  std::vector<std::uint64_t> keys = {};  ///< Those that belong to this shard, ascending.
  Step after = 0;  ///< They go after this step; 0: no key belongs to this shard, or `why` is set.
  /// Why they are not erased: `ps_errc::no_such_table`, `not_erasable`, `too_many_erased` or `shard_done`.
  std::error_code why = {};
};

/// One shard's part of the log of erased keys: binds each call to a step, says what must be durable before a step is
/// made or told, and which keys go after a step. Rules X1 to X4 of docs/design/online.md.
///
/// Decides only: no clock, no I/O. After each event its host asks `next_write`, and makes the file durable that it
/// returns, in place of the one before; then it calls `SyncShardCore::ranks_written`, and sends `take_answers`.
///
/// Threads: one at a time.
class EraseLogCore {
 public:
  /// The log of a shard with these shares of tables, of a job that ends with `last_step`.
  DISTRIB_DECL EraseLogCore(Step last_step, std::vector<TableShare> tables);

  /// The shard starts. `file`: what was written last, also by other shards: only the keys of this shard count. Empty:
  /// nothing yet. `steps_ahead`: how far the horizon is raised beyond the newest step; at least 1. It must be called
  /// once; nothing is told and nothing is taken before.
  DISTRIB_DECL void open(const std::optional<RankFile>& file, Step steps_ahead);

  /// Someone wants these keys erased; in any order. Its answer follows when that is durable, or refused.
  DISTRIB_DECL void ask(std::uint64_t caller, std::string table, std::vector<std::uint64_t> keys);

  /// The shard has completed this step.
  void completed(Step step) noexcept { told_ = std::max(told_, step); }

  /// Returns the file to write next, if there is something to write and none is being written. `newest`: the newest
  /// step that the shard has completed.
  [[nodiscard]] DISTRIB_DECL auto next_write(Step newest) -> std::optional<RankFile>;
  /// The file that `next_write` returned is durable.
  DISTRIB_DECL void written();

  /// X1: true if values of this step may be told: the horizon is durable beyond it.
  [[nodiscard]] auto may_tell(Step step) const noexcept -> bool { return horizon_ > step; }
  /// X3: true if this step may be completed: what goes after it is durable.
  [[nodiscard]] auto may_complete(Step step) const noexcept -> bool {
    return taken_.empty() || step < taken_.front().entry.after;
  }
  /// Returns what goes after the update of this step.
  [[nodiscard]] DISTRIB_DECL auto after(Step step) const noexcept -> std::span<const ErasedKeys>;

  /// Returns the horizon that is durable.
  [[nodiscard]] auto horizon() const noexcept -> Step { return horizon_; }
  /// Returns all entries that are durable, by ascending steps.
  [[nodiscard]] auto entries() const noexcept -> std::span<const ErasedKeys> { return entries_; }
  /// Returns the answers since the last call.
  [[nodiscard]] auto take_answers() -> std::vector<EraseAnswer> { return std::exchange(answers_, {}); }

 private:
  struct Asked {
    std::uint64_t caller = 0;
    ErasedKeys entry;
  };
  static constexpr std::size_t most_asked = 64;

  [[nodiscard]] DISTRIB_DECL auto share_of(std::string_view table) const noexcept -> const TableShare*;

  Step last_step_;
  std::vector<TableShare> tables_;
  std::vector<ErasedKeys> entries_;  // durable, ascending
  std::size_t keys_ = 0;  // of `entries_` and `taken_`
  Step horizon_ = 0;  // durable
  Step told_ = 0;  // no process of this shard has completed a later step, as far as this one can know
  Step steps_ahead_ = 0;  // 0: not open
  std::vector<Asked> asked_;
  std::vector<Asked> taken_;  // in the file that is being written, all after the same step
  std::optional<Step> writing_;  // its horizon
  std::vector<EraseAnswer> answers_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/protocol/impl/erase_log_core.ipp>
#endif

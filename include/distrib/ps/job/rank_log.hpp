// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/rank_rate.hpp>
#include <distrib/ps/job/step.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {

/// From one step on these ranks make each step, until another entry says otherwise. A value.
struct RankEntry {
  Step from = 1;  ///< The first step that they make.
  /// Of two entries from one step the one with the higher number counts. 0: the ranks that the job begins with.
  std::uint64_t number = 0;
  std::vector<Rank> ranks;  ///< Ascending, at least one; rank 0 is always one of them.
  RankRate rate = {};  ///< How the learning rate of these steps differs from what its schedule says.

  [[nodiscard]] auto operator<=>(const RankEntry&) const = default;

  /// Returns how many of its ranks are below `rank`: the place of a rank among them.
  [[nodiscard]] DISTRIB_DECL auto place_of(Rank rank) const noexcept -> Rank;
  /// Returns by what the learning rate of `step`, one of its steps, is multiplied.
  [[nodiscard]] auto factor_of(Step step) const noexcept -> double { return rate.at(step - from); }
  /// True if it has the rank.
  [[nodiscard]] DISTRIB_DECL auto has(Rank rank) const noexcept -> bool;
};

/// An entry that several logs and contributions share.
using SharedRankEntry = std::shared_ptr<const RankEntry>;

/// Most entries of a log.
inline constexpr std::size_t max_rank_entries = 4096;
/// Most ranks of all entries of a log together.
inline constexpr std::size_t max_logged_ranks = std::size_t{1} << 22;

/// True if it may be an entry of a job with ranks below `most_ranks`, beside the ranks that the job begins with. Rank 0
/// must be among its ranks: the chief makes it, and reports the result. Its rate is good (`is_rank_rate`). For what an
/// unknown client says.
[[nodiscard]] DISTRIB_DECL auto is_rank_entry(const RankEntry& entry, Rank most_ranks) noexcept -> bool;

/// Which ranks make which steps of a job: a set of entries, to which entries are only added. The union of two logs is
/// the same in whatever order their entries are added. Rules: docs/design/membership.md.
///
/// A value. Memory: the entries, which copies share.
class RankLog {
 public:
  /// The log of a job that begins with the ranks from 0 to `ranks` - 1; at least 1.
  DISTRIB_DECL explicit RankLog(Rank ranks);

  /// Adds an entry. Returns false if that changes nothing: the log has it, or one of the same step that counts more.
  DISTRIB_DECL auto add(SharedRankEntry entry) -> bool;
  /// Adds all entries of another log of the job, but for the ranks that it begins with.
  DISTRIB_DECL void add(const RankLog& other);

  /// True if it may have one more entry with so many ranks.
  [[nodiscard]] DISTRIB_DECL auto has_room_for(std::size_t ranks) const noexcept -> bool;

  /// Returns the entries that count, by ascending steps. The first one is from step 1.
  [[nodiscard]] auto entries() const noexcept -> std::span<const SharedRankEntry> { return entries_; }
  /// Returns the entry that says which ranks make `step`, which is at least 1.
  [[nodiscard]] DISTRIB_DECL auto entry_of(Step step) const noexcept -> const SharedRankEntry&;
  /// True if the rank makes a contribution to `step`.
  [[nodiscard]] auto is_rank_of(Step step, Rank rank) const noexcept -> bool { return entry_of(step)->has(rank); }
  /// Returns the ranks that make contributions to steps after this one, as far as the log says; ascending.
  [[nodiscard]] DISTRIB_DECL auto ranks_after(Step step) const -> std::vector<Rank>;
  /// True if the rank makes a contribution to a step after this one, as far as the log says.
  [[nodiscard]] DISTRIB_DECL auto is_rank_after(Step step, Rank rank) const noexcept -> bool;
  /// Returns the number of the contribution of a rank to `step`: contributions are numbered from 0 on, step by step,
  /// and in a step in the order of its ranks. So each number is used once, whatever the log is. The rank must be one of
  /// the step's.
  [[nodiscard]] DISTRIB_DECL auto number_of(Step step, Rank rank) const noexcept -> std::uint64_t;

  /// Returns the first step after `after` to which the rank makes one of the first `contributions` contributions; 0: it
  /// makes none of them, as far as the log says.
  [[nodiscard]] DISTRIB_DECL auto next_step(Step after, Rank rank, std::uint64_t contributions) const noexcept -> Step;
  /// Returns the last step before `step` that the rank makes; 0: there is none.
  [[nodiscard]] DISTRIB_DECL auto step_before(Step step, Rank rank) const noexcept -> Step;
  /// Returns the step of the contribution with this number: the inverse of `number_of`.
  [[nodiscard]] DISTRIB_DECL auto step_of(std::uint64_t number) const noexcept -> Step;

  /// Returns the ranks that make the last of the first `contributions` contributions, or one of these to the same step;
  /// ascending. `contributions`: at least 1.
  [[nodiscard]] DISTRIB_DECL auto last_ranks(std::uint64_t contributions) const -> std::vector<Rank>;

  /// Returns how many contributions the steps from 1 to `step` have.
  [[nodiscard]] DISTRIB_DECL auto contributions_through(Step step) const noexcept -> std::uint64_t;

  /// True if both say the same.
  [[nodiscard]] DISTRIB_DECL auto operator==(const RankLog& other) const noexcept -> bool;

 private:
  // Index of the entry of `step`.
  [[nodiscard]] DISTRIB_DECL auto index_of(Step step) const noexcept -> std::size_t;

  std::vector<SharedRankEntry> entries_;
};

/// A log that several objects read and that no longer changes.
using SharedRankLog = std::shared_ptr<const RankLog>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/rank_log.ipp>
#endif

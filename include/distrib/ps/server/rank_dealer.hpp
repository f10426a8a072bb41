// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/server/shard_options.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A process that asks which ranks it shall serve.
struct AskingProcess {
  std::uint64_t id = 0;  ///< Drawn by the process at its start; not 0.
  std::uint32_t index = 0;  ///< Its index among the workers of the cluster.
  bool is_chief = false;  ///< It serves rank 0 whatever it is told, because it needs the result.
  std::uint32_t most_ranks = 0;  ///< `Job::most_ranks` of its job.
};

/// Deals the ranks of a job to the processes that are there, so that each rank is served by one process, and the
/// numbers of ranks of two processes differ by at most one. One for a job, on the first shard of its first ps task.
///
/// What it says is advice: contributions are pure functions of (step, rank) and the values, so a rank that two
/// processes serve is harmless, and a rank that no process serves delays the job. So the dealer keeps nothing in files.
/// A dealer that starts anew learns from each process which ranks it serves, and leaves them there.
///
/// - The first dealing gives each process consecutive ranks, in the order of indexes. With 2^n processes and 2^m ranks
///   they are aligned blocks.
/// - Later as few ranks as possible move: a process that has too many gives up its highest ones, and the free ranks go
///   to those that have too few, in the order of indexes.
/// - The chief has rank 0.
/// - A process with the index of an earlier one takes its place and its ranks at once: it was started again. The
///   earlier one gets no rank any more.
/// - If there are more processes than ranks, some have none and wait.
/// - In a job whose ranks change only those are dealt that are needed (`wants`). Before that is known, as after a start,
///   also those that a process serves.
///
/// Events in, answers out; no clock, no I/O, no thread.
class RankDealer {
 public:
  /// `expected`: how many processes may come; when so many have asked, the dealer does not wait any longer.
  RankDealer(Rank ranks, std::size_t expected, const DealingTimes& times, Instant now)
      : times_{times},
        expected_{expected},
        deals_from_{instant_after(now, times.deal_after)},
        wanted_(ranks),
        owners_(ranks) {
    std::iota(wanted_.begin(), wanted_.end(), Rank{0});
  }

  /// A process asks. `serves`: the ranks that it serves now. Call `dealt` for the answer.
  DISTRIB_DECL void asked(const AskingProcess& process, std::span<const Rank> serves, Instant now);
  /// A process gives up all its ranks and does not ask again.
  DISTRIB_DECL void left(std::uint64_t process, Instant now);
  /// These ranks are needed from now on, and no others; rank 0 always is. `ranks`: ascending.
  DISTRIB_DECL void wants(std::vector<Rank> ranks, Instant now);
  /// Time has passed, see `wake`.
  DISTRIB_DECL void look(Instant now);

  /// Returns the ranks that a process shall serve, ascending.
  [[nodiscard]] DISTRIB_DECL auto dealt(std::uint64_t process) const -> std::vector<Rank>;
  /// Returns how many processes are there.
  [[nodiscard]] auto processes() const noexcept -> std::size_t { return processes_.size(); }
  /// Returns a number that changes when ranks move.
  [[nodiscard]] auto version() const noexcept -> std::uint64_t { return version_; }
  /// Returns when `look` must be called; empty: not before the next event.
  [[nodiscard]] DISTRIB_DECL auto wake() const -> std::optional<Instant>;

 private:
  struct Process {
    std::uint32_t index = 0;
    bool is_chief = false;
    Instant heard{};
    std::set<Rank> ranks;
  };

  [[nodiscard]] DISTRIB_DECL auto is_wanted(Rank rank) const -> bool;
  DISTRIB_DECL void want(Rank rank);
  DISTRIB_DECL void deal(Instant now);
  // Takes what is too much from processes; gives it, and what has no owner, to those that have too little.
  DISTRIB_DECL void level();
  [[nodiscard]] DISTRIB_DECL auto quotas() const -> std::map<std::uint64_t, std::size_t>;
  DISTRIB_DECL void give(std::uint64_t process, Rank rank);
  DISTRIB_DECL void take(Rank rank);
  DISTRIB_DECL void remove(std::uint64_t process);
  DISTRIB_DECL void take_place_of_earlier(const AskingProcess& process);

  DealingTimes times_;
  std::size_t expected_;
  Instant deals_from_;  // until then processes keep what they serve
  bool has_dealt_ = false;
  std::uint64_t version_ = 0;
  std::vector<Rank> wanted_;  // ascending
  bool is_told_ = false;  // `wants` was called
  std::vector<std::uint64_t> owners_;  // by rank; 0: none
  std::map<std::uint64_t, Process> processes_;  // by id
  std::set<std::uint64_t> replaced_;  // earlier processes of an index
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/server/impl/rank_dealer.ipp>
#endif

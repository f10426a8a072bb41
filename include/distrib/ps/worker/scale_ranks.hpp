// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/address.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/rank_rate.hpp>
#include <distrib/ps/job/rate_rule.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/wire/ask_shard.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What the shards of a running job say about its ranks (`TrainerBuilder::with_most_ranks`).
struct JobRanks {
  std::size_t shards = 0;  ///< How many shards there are.
  Step step = 0;  ///< A step that all shards have completed.
  Step first = 0;  ///< Other ranks can begin at this step, or at a later one.
  Rank began_with = 0;  ///< How many ranks the job began with.
  std::vector<RankEntry> changes;  ///< The entries of all their logs but the first, by ascending steps.
};

/// Returns the rate of an entry of `ranks` ranks from step `from` in this job, see `rate_of`.
[[nodiscard]] DISTRIB_DECL auto rate_of(const RateRule& rule, const JobRanks& job, Step from, Rank ranks) -> RankRate;

/// Asks all shards of all parameter servers of a job. On failure the result is empty.
///
/// Errors: as `ask_status`, and `ps_errc::fixed_ranks` if the ranks of the job never change.
///
/// Blocks as `ask_status`, for each server. Threads: any.
[[nodiscard]] DISTRIB_DECL auto ranks_of_job(std::span<const Address> servers, const AskOptions& how, ErrorRef to)
    -> JobRanks;
/// This overload throws the error as `std::system_error`.
[[nodiscard]] inline auto ranks_of_job(std::span<const Address> servers, const AskOptions& how = {}) -> JobRanks {
  Error error;
  return detail::or_throw(ranks_of_job(servers, how, error), error);
}

/// What became of a request for other ranks.
struct ScaledRanks {
  std::size_t shards = 0;  ///< How many shards were asked.
  std::size_t taken = 0;  ///< How many have the entry in their files. One is enough: then it is in force.
  /// Why a shard does not take it: a `ps_errc`, and which shard. No error: none has refused it.
  Error refused;
  Error failed;  ///< A shard that did not answer; perhaps it has the entry nevertheless. No error: all have answered.
};

/// Asks all shards of all parameter servers of a job for the ranks of `entry`. Its step must be `JobRanks::first` or a
/// later one, its number higher than that of each other entry: use the time. If `taken` is 0 and none has failed to
/// answer, nothing has changed.
///
/// Rank 0 must be among the ranks: the chief makes it, and reports the result. `RankEntry::rate` says how the learning
/// rate goes on: `rate_of` computes it.
///
/// Errors: as `ranks_of_job`, if the first shard of a server does not say how many shards there are: then nobody was asked;
/// `ps_errc::bad_ranks` without rank 0, `bad_rate` if no entry may have the rate.
///
/// Blocks as `ranks_of_job`. Threads: any.
[[nodiscard]] DISTRIB_DECL auto scale_ranks(std::span<const Address> servers, const RankEntry& entry,
                                            const AskOptions& how, ErrorRef to) -> ScaledRanks;
/// This overload throws the error as `std::system_error`.
[[nodiscard]] inline auto scale_ranks(std::span<const Address> servers, const RankEntry& entry,
                                      const AskOptions& how = {}) -> ScaledRanks {
  Error error;
  return detail::or_throw(scale_ranks(servers, entry, how, error), error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/worker/impl/scale_ranks.ipp>
#endif

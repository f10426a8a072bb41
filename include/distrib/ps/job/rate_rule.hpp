// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/rank_rate.hpp>
#include <distrib/ps/job/step.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// How the learning rate follows when a job goes on with other ranks: the rule by which the rate of an entry is
/// computed when it is asked for. The entry has numbers, not the rule. A value.
struct RateRule {
  enum class Kind : std::uint8_t {
    keep,  ///< As it was; a warm-up that is under way goes on.
    /// Times W / W0, where W is the number of ranks and W0 the number with which the job began: for SGD, whose gradient
    /// is the mean of a batch that is W / W0 times as large (Goyal et al., 2017, who warm up for five epochs).
    linear,
    sqrt,  ///< Times the square root of W / W0: for Adam and its relatives (Malladi et al., 2022).
    fixed,  ///< `factor`.
  };
  Kind kind = Kind::keep;
  double factor = 1;  ///< Of `fixed`, relative to what the schedule says.
  /// Steps in which the rate goes along a straight line from what it was in the step before. 0: at once. Not for `keep`.
  Step warm_up = 0;

  [[nodiscard]] auto operator==(const RateRule&) const -> bool = default;
};

/// Reads keep, linear, sqrt or a number. Empty: it is none of these.
[[nodiscard]] DISTRIB_DECL auto parse_rate_rule(std::string_view text) -> std::optional<RateRule>;

/// Returns the rate of an entry of `ranks` ranks from step `from`, at least 1. `log`: the entries that are known;
/// `began_with`: the number of ranks with which the job began. What the log has from `from` on does not count. The
/// result may be none that an entry may have: ask `is_rank_rate`.
[[nodiscard]] DISTRIB_DECL auto rate_of(const RateRule& rule, const RankLog& log, Rank began_with, Step from,
                                        Rank ranks) -> RankRate;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/rate_rule.ipp>
#endif

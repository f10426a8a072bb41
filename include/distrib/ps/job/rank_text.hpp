// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/step.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Returns ranks as a person writes them: "0-15,20". `ranks`: ascending.
[[nodiscard]] DISTRIB_DECL auto ranks_text(std::span<const Rank> ranks) -> std::string;

/// Reads such a text, in any order. Empty: it is none, names a rank twice, or one that is not below `max_job_ranks`.
[[nodiscard]] DISTRIB_DECL auto parse_ranks(std::string_view text) -> std::vector<Rank>;

/// Returns a rate as words: "rate 3", or "rate 1 to 3 within 500".
[[nodiscard]] DISTRIB_DECL auto to_text(const RankRate& rate) -> std::string;

/// Returns an entry as a line without its end: "from 1221 number 1764515299123 ranks 0-47"; its rate follows, if the
/// learning rate is not the one of its schedule: "from 1221 number 1764515299123 ranks 0-47 rate 1 to 3 within 500".
[[nodiscard]] DISTRIB_DECL auto to_text(const RankEntry& entry) -> std::string;

/// Reads lines of entries; empty lines and what follows a # do not count.
///
/// Errors: `ps_errc::bad_ranks`, with the number of the line. The result is empty then.
[[nodiscard]] DISTRIB_DECL auto parse_rank_entries(std::string_view text, ErrorRef to) -> std::vector<RankEntry>;
/// This overload throws the error as `std::system_error`.
[[nodiscard]] inline auto parse_rank_entries(std::string_view text) -> std::vector<RankEntry> {
  Error error;
  return detail::or_throw(parse_rank_entries(text, error), error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/rank_text.ipp>
#endif

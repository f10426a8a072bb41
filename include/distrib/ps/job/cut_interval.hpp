// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/job.hpp>

#include <cstddef>
#include <cstdint>

namespace distrib {
inline namespace v0 {

/// Returns how many steps (asynchronous: contributions of all ranks) lie between two cuts: the largest divisor of
/// `keep_every` for which the contributions of one rank between two cuts take at most half of its replay budget, so
/// that a cut is durable before the buffer is full. Only dense blocks count, as they travel: rows of tables are not
/// known before. With `keep_every` 0 the result need not be a divisor. At least 1, even if one contribution exceeds the
/// budget; above 1 at most `total_steps`. A function of the job, so all ranks agree.
[[nodiscard]] DISTRIB_DECL auto cut_interval(const Job& job, std::uint64_t keep_every, std::size_t replay_budget_bytes)
    -> std::uint64_t;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/cut_interval.ipp>
#endif

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/job.hpp>

#include <cstddef>
#include <cstdint>

namespace distrib {
inline namespace v0 {

/// How many steps (asynchronous: contributions of all ranks) lie between two cuts: the largest divisor of `keep_every`
/// that keeps the contributions of one rank in between within half of its replay budget, so that a cut is durable before
/// the buffer is full. With `keep_every` 0 any number will do. At least 1. A function of the job: all ranks agree.
[[nodiscard]] DISTRIB_DECL auto cut_interval(const Job& job, std::uint64_t keep_every, std::size_t replay_budget_bytes)
    -> std::uint64_t;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/cut_interval.ipp>
#endif

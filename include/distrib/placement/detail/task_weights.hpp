// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <cstdint>
#include <span>

namespace distrib {
inline namespace v0 {
namespace detail {

// Throws unless `weights` is empty, or has one weight of at least 1 for each of `num_tasks` tasks.
DISTRIB_DECL void check_weights(std::span<const std::uint32_t> weights, std::uint32_t num_tasks);

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/placement/detail/impl/task_weights.ipp>
#endif

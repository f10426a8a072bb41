// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sim/detail/hosted_shard.hpp>

namespace distrib {
inline namespace v0 {
namespace sim {
namespace detail {

#ifndef DISTRIB_HEADER_ONLY
template auto make_shard<ShardCores>(World& world, std::uint32_t replica, HostOwner& owner)
    -> std::unique_ptr<ShardHost>;
#endif

}  // namespace detail
}  // namespace sim
}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/tf/detail/take_line.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto TakeLine::cancel(std::uint64_t id) -> bool {
  for (auto at = takes_.begin(); at != takes_.end(); ++at) {
    if (at->id != id) continue;
    takes_.erase(at);
    return true;
  }
  return false;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Called by a connection when it handles an event. Returns true if no other connection has called this on the same
/// thread since its last call.
inline auto is_at_work_again(const void* connection) noexcept -> bool {
  static thread_local const void* last = nullptr;
  return std::exchange(last, connection) == connection;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

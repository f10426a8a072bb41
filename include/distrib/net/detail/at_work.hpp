// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace distrib::inline v0::detail {

/// Whether the connection that is at work now was the last one that was, on this thread.
inline auto is_at_work_again(const void* connection) noexcept -> bool {
  static thread_local const void* last = nullptr;
  return std::exchange(last, connection) == connection;
}

}  // namespace distrib::inline v0::detail

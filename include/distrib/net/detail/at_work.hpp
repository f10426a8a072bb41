// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Whether the connection that is at work now was the last one that was, on this thread.
inline auto is_at_work_again(const void* connection) noexcept -> bool {
  static thread_local const void* last = nullptr;
  return std::exchange(last, connection) == connection;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

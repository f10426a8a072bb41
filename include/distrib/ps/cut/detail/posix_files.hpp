// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/perform.hpp>
#include <distrib/core/io_action.hpp>

#include <span>

namespace distrib {
inline namespace v0 {

/// Performs plans of file actions with POSIX calls: see `perform`, also for what it throws.
struct PosixFiles {
  void operator()(std::span<const FileAction> plan) const { perform(plan); }

  /// Returns the time of the system's clock, in seconds since 1970.
  [[nodiscard]] auto now() const noexcept -> double { return detail::seconds_now(); }
};

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Lets a thread wait for something elsewhere, until another thread says that it must not wait any more.
///
/// Threads: any.
class Patience {
 public:
  /// Waits for this time; returns false, at once or earlier, when `end` was called.
  [[nodiscard]] auto wait(std::chrono::milliseconds time) -> bool {
    std::unique_lock lock{mutex_};
    return !changed_.wait_for(lock, time, [this] { return ended_; });
  }

  /// From now on nobody waits.
  void end() {
    {
      const std::lock_guard lock{mutex_};
      ended_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

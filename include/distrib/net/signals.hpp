// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/net/asio.hpp>

#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Calls back once when somebody asks the process to end (SIGINT, SIGTERM): time to finish and save. From then on both
/// signals have their default action again, so that a second one ends the process at once.
///
/// The callback runs on the executor, and never after the destructor has returned; the destructor waits for one that is
/// running, unless it is called from there. Without a callback the destructor restores the default action too.
///
/// Threads: any thread may destroy it. Only one of it at a time in a process. It must not outlive the executor's
/// context, and counts as work of it until it has called or is destroyed.
class Signals {
 public:
  /// Watches from now on. Throws `std::system_error` when the signals cannot be watched.
  DISTRIB_DECL Signals(const asio::io_context::executor_type& executor, std::function<void()> callback);
  Signals(asio::io_context& context, std::function<void()> callback)
      : Signals{context.get_executor(), std::move(callback)} {}
  Signals(const Signals&) = delete;
  auto operator=(const Signals&) -> Signals& = delete;
  ~Signals() { watch_->end(); }

 private:
  /// Lives as long as the wait does, because a cancelled handler runs later than the destructor.
  struct Watch {
    Watch(const asio::io_context::executor_type& executor, std::function<void()> function)
        : signals{executor, SIGINT, SIGTERM}, callback{std::move(function)} {}

    DISTRIB_DECL void on_signal(const std::error_code& ec);

    void end() noexcept {
      const std::scoped_lock lock{mutex};
      ended = true;
      restore_default_action();
    }

    void restore_default_action() noexcept {
      std::error_code ignored;
      signals.cancel(ignored);
      signals.clear(ignored);
    }

    std::recursive_mutex mutex;  // the callback may destroy its owner
    // Not asio::signal_set: to wrap an executor into any_io_executor takes a quarter of a second to compile.
    asio::basic_signal_set<asio::io_context::executor_type> signals;
    std::function<void()> callback;
    bool ended = false;
  };

  std::shared_ptr<Watch> watch_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/net/impl/signals.ipp>
#endif

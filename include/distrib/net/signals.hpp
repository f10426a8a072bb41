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

/// Calls a function once when the process is asked to end (SIGINT, SIGTERM), so that it can finish and save. From then
/// on both signals have their default action again, so a second signal ends the process at once.
///
/// The callback runs on the executor, and never after the destructor has returned. The destructor waits for a callback
/// that is running, unless the callback itself destroys the object. If no signal has arrived, the destructor restores
/// the default action.
///
/// Threads: may be destroyed on any thread. A process may have only one such object at a time. Must be destroyed before
/// the executor's context, and keeps that context's `run()` busy until the callback was called or it is destroyed.
class Signals {
 public:
  /// Starts to watch the signals. Throws `std::system_error` if they cannot be watched.
  DISTRIB_DECL Signals(const asio::io_context::executor_type& executor, std::function<void()> callback);
  Signals(asio::io_context& context, std::function<void()> callback)
      : Signals{context.get_executor(), std::move(callback)} {}
  Signals(const Signals&) = delete;
  auto operator=(const Signals&) -> Signals& = delete;
  ~Signals() { watch_->end(); }

 private:
  /// Lives until the wait has ended: a cancelled handler runs after the destructor.
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

    std::recursive_mutex mutex;  // recursive, because the callback may destroy its owner
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/net/asio.hpp>

#include <atomic>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace distrib {
inline namespace v0 {

/// A pool of threads that the user makes and owns. Each thread has an `io_context` of its own: handlers on one executor
/// never run at the same time, so they need no lock. It is the only type that starts threads.
///
/// Objects on an executor (timers, sockets) must be destroyed before the pool, or be owned by handlers of that same
/// executor.
///
/// Errors: an exception of a handler ends the whole pool: every thread stops after the handler that it is in, and
/// `join()` throws the first exception. If no `join()` has thrown it, the destructor ends the program by
/// `std::terminate`, so that no exception is lost unnoticed.
///
/// Threads: `executor`, `has_left` and `stop` may be called on any thread; `join` and the destructor on a thread that
/// does not belong to the pool.
class IoPool {
 public:
  /// The type of the executors: for posting handlers, and for making timers and sockets.
  using Executor = asio::io_context::executor_type;

  /// Starts `threads` threads. `failed` is called once, on the thread where a handler threw, so that an owner that
  /// waits for the pool's work can stop waiting. It must not throw, and must not call `join`. Throws
  /// `std::system_error` for 0 threads, and if the system cannot start a thread.
  DISTRIB_DECL explicit IoPool(std::size_t threads, std::function<void()> failed = {});
  IoPool(const IoPool&) = delete;
  auto operator=(const IoPool&) -> IoPool& = delete;

  /// Stops the threads and waits for them. Handlers that have not begun are dropped; call `join()` first if they must
  /// run.
  DISTRIB_DECL ~IoPool();

  /// Returns the number of threads.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return loops_.size(); }

  /// Returns the executor of the thread with this number, which must be below `size()` (not checked).
  [[nodiscard]] auto executor(std::size_t thread) noexcept -> Executor { return loops_[thread].context.get_executor(); }

  /// Returns the executor of each thread in turn.
  [[nodiscard]] auto executor() noexcept -> Executor {
    return executor(next_.fetch_add(1, std::memory_order_relaxed) % size());
  }

  /// Waits until nothing is left to do (every handler has run, and no operation is outstanding) or, after `stop` or an
  /// exception of a handler, until each thread has left its present handler. Then the threads have ended, and handlers
  /// that are posted later never run. Throws the first exception of a handler.
  void join() {
    for (Loop& loop : loops_) loop.work.reset();
    join_threads();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  /// True if the thread with this number, which must be below `size()`, will never run a handler again: some time after
  /// `stop` or after an exception of a handler; in `join`, as soon as the thread has nothing left to do. The caller
  /// then sees everything that the thread has written.
  [[nodiscard]] auto has_left(std::size_t thread) const noexcept -> bool { return loops_[thread].left; }

  /// Asks every thread to stop after the handler that it is in. Does not wait for that; `join()` and the destructor do.
  void stop() noexcept {
    for (Loop& loop : loops_) loop.context.stop();
  }

 private:
  struct Loop {
    asio::io_context context{1};
    asio::executor_work_guard<Executor> work{context.get_executor()};
    std::thread thread;
    std::atomic<bool> left = false;
  };

  DISTRIB_DECL void run(Loop& loop) noexcept;

  void join_threads() {
    for (Loop& loop : loops_)
      if (loop.thread.joinable()) loop.thread.join();
  }

  std::function<void()> failed_;
  std::deque<Loop> loops_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr failure_;  // guarded by mutex_ until the threads are joined
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/net/impl/io_pool.ipp>
#endif

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

/// Threads that the user makes and owns, each with an `io_context` of its own: what runs on one executor never runs at
/// the same time as something else there, so it needs no lock. The only type that starts threads.
///
/// A handler that throws ends the whole pool: every thread stops after the handler it is in, and `join()` throws what
/// was thrown first. If nobody joined, the destructor ends the program by `std::terminate`, so that nothing is lost
/// unseen.
///
/// Threads: `executor`, `has_left`, `stop` from any thread; `join` and the destructor from one that is not of the pool.
/// Objects on an executor (timers, sockets) must be gone before the pool is, or be owned by handlers of that same
/// executor.
class IoPool {
 public:
  /// What to post to, and to make timers and sockets with.
  using Executor = asio::io_context::executor_type;

  /// Starts `threads` threads. `failed` is called once, on the thread where a handler threw, for an owner who would wait
  /// for ever otherwise. Throws `std::system_error` for 0, and when the system has no thread left.
  DISTRIB_DECL explicit IoPool(std::size_t threads, std::function<void()> failed = {});
  IoPool(const IoPool&) = delete;
  auto operator=(const IoPool&) -> IoPool& = delete;

  /// Stops and joins. Handlers that have not begun are dropped; `join()` first to have them run.
  DISTRIB_DECL ~IoPool();

  /// Number of threads.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return loops_.size(); }

  /// Of the thread of this number, below `size()`.
  [[nodiscard]] auto executor(std::size_t thread) noexcept -> Executor { return loops_[thread].context.get_executor(); }

  /// Of the threads in turn.
  [[nodiscard]] auto executor() noexcept -> Executor {
    return executor(next_.fetch_add(1, std::memory_order_relaxed) % size());
  }

  /// Blocks until nothing is left to do: every handler has run, no operation is outstanding. Afterwards the threads are
  /// gone, and what is posted is never run. Throws what a handler threw.
  void join() {
    for (Loop& loop : loops_) loop.work.reset();
    join_threads();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  /// Whether the thread of this number runs nothing any more, and never will: some time after `stop`, or after a
  /// handler threw; in `join`, as soon as nothing is left to do there. What it did is visible then.
  [[nodiscard]] auto has_left(std::size_t thread) const noexcept -> bool { return loops_[thread].left; }

  /// Asks every thread to stop after the handler it is in. Does not wait: `join()` and the destructor do.
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

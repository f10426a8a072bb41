// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/asio.hpp>
#include <distrib/net/io_pool.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <semaphore>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Runs `work` on a thread of a pool, and waits for it and for all handlers that were posted to that thread before it
/// or by it. If the thread has ended, runs `work` on the calling thread; so `work` may run twice. `work` is never
/// called after this function has returned. Must not be called on a thread of the pool.
template <class Work> void run_on(IoPool& pool, std::size_t thread, Work work) {
  constexpr std::chrono::milliseconds patience{10};  // how often to check if the thread has ended
  const auto over = std::make_shared<std::binary_semaphore>(0);
  asio::post(pool.executor(thread), [&work, over, executor = pool.executor(thread)] {
    work();
    asio::post(executor, [over] { over->release(); });
  });
  while (!over->try_acquire_for(patience) && !pool.has_left(thread)) continue;
  if (pool.has_left(thread)) work();
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

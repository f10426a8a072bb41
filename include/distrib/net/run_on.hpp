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

/// Has `work` run on a thread of a pool and waits for it, and for all that was posted to that thread before it or by it.
/// What a thread that has left did not run is done here, so `work` must be such that it may be done twice; it is called
/// after this returns no more. Not from a thread of the pool.
template <class Work> void run_on(IoPool& pool, std::size_t thread, Work work) {
  constexpr std::chrono::milliseconds patience{10};  // until it is looked whether the thread is there yet
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

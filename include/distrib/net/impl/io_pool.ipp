// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/io_pool.hpp>

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL IoPool::IoPool(std::size_t threads, std::function<void()> failed) : failed_{std::move(failed)} {
  if (threads == 0)
    throw_error(std::make_error_code(std::errc::invalid_argument), "an IoPool needs at least one thread");
  try {
    for (std::size_t i = 0; i < threads; ++i) loops_.emplace_back();
    for (Loop& loop : loops_) loop.thread = std::thread{[this, &loop] { run(loop); }};
  } catch (...) {
    stop();
    join_threads();
    throw;
  }
}

DISTRIB_DECL void IoPool::run(Loop& loop) noexcept {
  try {
    loop.context.run();
  } catch (...) {
    const std::scoped_lock lock{mutex_};
    const bool first = !failure_;
    if (first) failure_ = std::current_exception();
    stop();
    if (first && failed_) failed_();
  }
  loop.left = true;
}

DISTRIB_DECL IoPool::~IoPool() {
  stop();
  join_threads();
  if (failure_) std::terminate();
}

}  // namespace v0
}  // namespace distrib

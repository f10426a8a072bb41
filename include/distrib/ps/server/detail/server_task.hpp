// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/net/io_pool.hpp>

#include <cstdint>
#include <functional>
#include <memory>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The interface of a task of job "ps" to its `Server`. Its destructor must not run on a thread of the pool; it ends
/// everything and waits for that.
class ServerTask {
 public:
  using Executor = IoPool::Executor;

  virtual ~ServerTask() = default;
  [[nodiscard]] virtual auto executor() const noexcept -> Executor = 0;
  [[nodiscard]] virtual auto port() const noexcept -> std::uint16_t = 0;
  [[nodiscard]] virtual auto metrics_port() const noexcept -> std::uint16_t = 0;
  [[nodiscard]] virtual auto why() const noexcept -> const Error& = 0;

  /// Calls `told` with the exit code, on the executor, when the task is over; soon if it is over already.
  virtual void join(std::function<void(int)> told) = 0;

  /// From any thread: saves every shard, then the task is over.
  virtual void stop() = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

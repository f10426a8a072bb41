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

/// What a `Server` of job "ps" is outside. Its destructor, on no thread of the pool, ends all of it and waits for that.
class ServerTask {
 public:
  using Executor = IoPool::Executor;

  virtual ~ServerTask() = default;
  [[nodiscard]] virtual auto executor() const noexcept -> Executor = 0;
  [[nodiscard]] virtual auto port() const noexcept -> std::uint16_t = 0;
  [[nodiscard]] virtual auto metrics_port() const noexcept -> std::uint16_t = 0;
  [[nodiscard]] virtual auto why() const noexcept -> const Error& = 0;

  /// Calls `told` on the executor when it is over.
  virtual void join(std::function<void(int)> told) = 0;

  /// From any thread: every shard saves, then it is over.
  virtual void stop() = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

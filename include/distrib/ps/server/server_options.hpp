// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/event.hpp>
#include <distrib/net/address.hpp>
#include <distrib/ps/server/shard_options.hpp>
#include <distrib/rpc/server_options.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace distrib {
inline namespace v0 {

/// How a `Server` behaves.
struct ServerOptions {
  std::string directory;  ///< Where its cuts are; empty: where the workers' job says. Given, a server that is started
      ///< again after a job's end knows so, and a second process of the task is told at once.
  std::chrono::milliseconds lock_within{5'000};  ///< How long a process of the task that ends may still have it.
  ShardOptions shard;
  RpcServerOptions rpc;  ///< `services` and `threads` are the server's own business.
  std::optional<Address> metrics;  ///< Where `GET /metrics` is answered for Prometheus, to whoever can reach it and
      ///< without TLS; nowhere unless told. Port 0 takes a free one.
  Observer observer;  ///< Told on the first thread of the pool.
};

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/event.hpp>
#include <distrib/net/transport.hpp>
#include <distrib/rpc/shared_secret.hpp>

#include <chrono>
#include <cstdint>
#include <memory>

namespace distrib {
inline namespace v0 {

/// How a worker of a coordinator behaves.
struct FunctionWorkerOptions {
  std::uint32_t max_bytes = 64U << 20;  ///< As `CoordinatorOptions::max_bytes`.
  /// How long a pull or push, or the end of a function, waits for a parameter server. Then the coordinator hears of it.
  std::chrono::milliseconds ps_within{30'000};
  /// How long this worker waits for a coordinator: at the start, and when the connection to it is lost. Then it ends
  /// with code 1.
  std::chrono::milliseconds coordinator_within{660'000};
  /// How long this worker waits at the end for its pushes to be saved.
  std::chrono::milliseconds end_within{600'000};
  /// A parameter server that cannot be reached for this long is lost for good, see `WorkerClientOptions::lost_after`.
  std::chrono::milliseconds ps_lost_after{660'000};
  SharedSecret secret = {};  ///< If set, coordinator and parameter servers must have the same one.
  /// Makes all connections of this worker secure, as `CoordinatorOptions::tls`. The certificate of a coordinator must
  /// be for the host of a task of the cluster, such as its task "chief", or for one of `TlsOptions::peers`.
  std::shared_ptr<const Transport> tls = {};
  /// Receives what happens to the connections to parameter servers, that the coordinator is waited for, and which
  /// certificate files are refused. Called on a thread of the worker.
  Observer observer = {};
};

}  // namespace v0
}  // namespace distrib

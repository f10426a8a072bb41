// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/rpc/client_options.hpp>

#include <chrono>
#include <vector>

namespace distrib {
inline namespace v0 {

/// How a worker finds its parameter servers and lets go of them.
struct WorkerClientOptions {
  std::chrono::milliseconds start_within{
      300'000};  ///< A server that nobody has reached by then ends the worker: code 1.
  std::chrono::milliseconds lost_after{660'000};    ///< One that was lost for so long is lost for good: code 70.
  std::chrono::milliseconds goodbye_within{5'000};  ///< How long the last words may take.
  RpcClientOptions rpc;                             ///< `service` and `categories` are the worker's own business.
  WorkerOptions worker;
  Observer observer;                                ///< Told on the executor.
};

/// How a worker's part of a job ended.
struct WorkerEnd {
  int code = 0;  ///< An exit code: 0 done, 1 stopped or nobody there, 65 refused, 70 somebody lost.
  Error why;  ///< When it failed.
  std::vector<SharedBuffer> result;  ///< See `WorkerDone`.
};

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/transport.hpp>
#include <distrib/ps/job/phase.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/rpc/client_options.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace distrib {
inline namespace v0 {

/// How a worker finds its parameter servers, and how long it waits for them.
struct WorkerClientOptions {
  /// If this worker has not reached a server for this long after its start, it ends with code 1. With replicas it
  /// continues to wait while it can reach another replica of the shard.
  std::chrono::milliseconds start_within{300'000};
  /// A server that this worker cannot reach again for this long, from the loss of the connection, is lost permanently:
  /// code 70. With replicas it continues to wait while it can reach another replica of the shard.
  std::chrono::milliseconds lost_after{660'000};
  /// How long the goodbyes at the end may take, and how long this worker tries to reach a server that it lost after
  /// everything was saved.
  std::chrono::milliseconds goodbye_within{5'000};
  RpcClientOptions rpc;  ///< `service` and `categories` are set by the worker.
  /// With a transport: which clients the servers accept. Changed certificate files of this worker are used only if the
  /// servers accept them. Null: not checked.
  std::shared_ptr<const ClientRules> accepted;
  WorkerOptions worker;
  Observer observer;  ///< Called on the executor.
  PhaseObserver phases;  ///< Called on the executor, with what this rank does.
  /// Called on the executor when the bytes have changed that this worker keeps to send again: by how much. When the
  /// worker has ended, the sum of all changes is 0. Empty: it is not told.
  std::function<void(std::int64_t change)> replay_changed = {};
};

/// How a worker ended.
struct WorkerEnd {
  /// An exit code: 0 done; 1 stopped, or a server cannot be reached at the start or after everything was saved, or a
  /// shard has ended with the job (`ps_errc::shard_done`), or contributions of a job that is not replayable are lost; 65
  /// refused by a server; 70 a rank or a server is lost permanently.
  int code = 0;
  Error why;  ///< Why it failed; no error: done or stopped.
  std::vector<SharedBuffer> result;  ///< See `WorkerDone`.
  bool retired = false;  ///< With code 1: see `WorkerDone`.
};

}  // namespace v0
}  // namespace distrib

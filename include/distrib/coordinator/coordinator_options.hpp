// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/event.hpp>
#include <distrib/net/transport.hpp>
#include <distrib/rpc/error_categories.hpp>
#include <distrib/rpc/shared_secret.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace distrib {
inline namespace v0 {

/// How a coordinator treats functions, workers and failures.
struct CoordinatorOptions {
  /// Most functions that wait for a worker; `schedule` blocks while there are so many. At least 1.
  std::size_t most_queued = 262'144;
  /// Most bytes of the arguments of one function, and of one result. Workers need the same limit.
  std::uint32_t max_bytes = 64U << 20;
  /// Longest time that one function may run.
  std::chrono::milliseconds function_within{3'600'000};
  /// How long a function that was asked to stop may still run. Then the connection to its worker is closed, and the
  /// worker counts as lost.
  std::chrono::milliseconds stop_within{30'000};
  /// Longest time until the first worker is connected.
  std::chrono::milliseconds start_within{300'000};
  /// Longest time without any connected worker while functions wait.
  std::chrono::milliseconds recovery_within{3'600'000};
  /// How long `finish` waits for a worker: to be connected, to have everything saved on the parameter servers, to end.
  std::chrono::milliseconds end_within{660'000};
  /// The first function of worker i begins at the earliest i times this after the start of the coordinator, so that not
  /// all workers ask the parameter servers at the same moment.
  std::chrono::milliseconds start_delay{0};
  std::chrono::milliseconds longest_start_delay{3'600'000};  ///< No worker is delayed more than this.
  /// A parameter server counts as lost with this report that it is unreachable; the reports before are answered by
  /// another run of the function. 0 counts as 1.
  std::uint32_t ps_reports = 3;
  /// A connection to a worker ends if nothing arrived on it for this long.
  std::chrono::milliseconds silent_after{30'000};
  /// Categories in which errors of functions are looked up by name, besides those of the library. They must outlive the
  /// coordinator. An error of an unknown category becomes a code of `remote_category()` with the same condition.
  ErrorCategories categories = {};
  SharedSecret secret = {};  ///< If set, workers must have the same one.
  /// Makes the connections to workers secure: `Tls::of_job()` of `net/tls/tls.hpp`. Null: they are plain. The
  /// certificate of a worker must be for its host in the cluster.
  std::shared_ptr<const Transport> tls = {};
  /// Receives connections and losses of workers, with "/job:worker/task:N" as peer, and which certificate files are
  /// refused. Called on the coordinator's own thread; must not call the coordinator.
  Observer observer = {};
};

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/address.hpp>
#include <distrib/rpc/shared_secret.hpp>

#include <chrono>
#include <cstddef>
#include <optional>

namespace distrib {
inline namespace v0 {

/// How a job of several processes behaves.
struct ClusterMode {
  /// How long a worker waits at its start for a parameter server that nobody has reached.
  std::chrono::milliseconds start_within{300'000};
  /// A worker that nobody has heard of for its lease, and for the time to start it again, is lost for good; so is a
  /// parameter server that cannot be reached for so long. Then everybody ends with code 70.
  std::chrono::milliseconds lease{60'000};
  std::chrono::milliseconds restart_window{600'000};
  /// What a worker keeps of its contributions, for a parameter server that comes back. Cuts are made as often as half of
  /// it wants.
  std::size_t replay_budget_bytes = std::size_t{256} << 20;
  /// Where a parameter server shows its metrics, see `ServerOptions::metrics`.
  std::optional<Address> metrics = std::nullopt;
  /// What all tasks of the job know, if they are to let in nobody else: `SharedSecret::of_job()` where the starter gives
  /// one. A task with another one, or none, is refused, and ends with 65.
  SharedSecret secret = {};
};

}  // namespace v0
}  // namespace distrib

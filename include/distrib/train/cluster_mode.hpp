// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/address.hpp>
#include <distrib/net/transport.hpp>
#include <distrib/rpc/shared_secret.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>

namespace distrib {
inline namespace v0 {

/// How a job of several processes behaves.
struct ClusterMode {
  /// How long a worker waits at its start for a parameter server that it cannot reach; then it ends with code 1. With
  /// replicas the wait goes on while the worker can reach another replica of the same shard.
  std::chrono::milliseconds start_within{300'000};
  /// The first part of the time for which a task may be away: its connection is lost, and it connects again by itself.
  /// Only the sum of `lease` and `restart_window` counts, from the end of the task's last connection. (A silent machine
  /// keeps its connection until `silent_after`: 60 s for a worker, 30 s for a server.) After that the task is lost
  /// permanently, and all tasks end with code 70. With replicas a server counts as lost only if no replica of a shard
  /// can be reached; and with backup workers the job goes on without workers that it does not need.
  std::chrono::milliseconds lease{60'000};
  /// The second part of that time: for the launcher or the cluster manager, which starts the task again.
  std::chrono::milliseconds restart_window{600'000};
  /// Most bytes of its own contributions that a worker keeps, to send them again to a parameter server that comes back.
  /// The interval between cuts is chosen so that the contributions of a worker between two cuts fit into half of it; at
  /// least 1 step.
  ///
  /// With dealt ranks (`ClusterFlags::ranks`) each rank has an equal part of it, because a process may come to serve
  /// all.
  std::size_t replay_budget_bytes = std::size_t{256} << 20;
  /// With dealt ranks: a process pushes one sum for each aligned block of the ranks that it serves, which saves pulls,
  /// pushes and memory, and makes the same bits. False: each rank pushes alone; then a contribution that is made twice,
  /// differently (`ps_errc::not_repeatable`), is noticed more often, and parameter servers of an older version take it.
  bool sum_ranks = true;
  /// With dealt ranks: a process that does not ask for ranks for this long is lost, and others serve its ranks.
  std::chrono::milliseconds adopt_after{15'000};
  /// In a job whose ranks change, or whose keys may be erased: a parameter server tells the values of at most so many
  /// steps before it writes a small file, in the background. Other ranks can begin at the earliest so many steps after
  /// the present one, or half of it; after a restart keys go after about so many steps.
  std::uint64_t rank_steps_ahead = 1000;
  /// How long a task `evaluator` waits for a new checkpoint; then it ends with code 1.
  std::chrono::milliseconds evaluator_patience{3'600'000};
  /// Address at which a parameter server shows its metrics, see `ServerOptions::metrics`. Empty: it shows none.
  std::optional<Address> metrics = std::nullopt;
  /// Address at which a worker answers `GET /metrics` for Prometheus with what it does (`WorkerMeter`), from a thread of
  /// its own. Each worker of a machine needs its own port. Empty: it shows none.
  std::optional<Address> worker_metrics = std::nullopt;
  /// A secret that all tasks of the job share, so that no other process can join it: `SharedSecret::of_job()` if the
  /// program that starts the tasks provides one. A task with another secret, or with none, is refused and ends with
  /// code 65.
  SharedSecret secret = {};
  /// Encrypts all connections between the tasks, and makes each task show who it is: `Tls::of_job()` of
  /// `net/tls/tls.hpp` if the program that starts the tasks provides certificates. Null: the connections are plain. A
  /// task without TLS cannot join a job with TLS, nor the other way round; it ends with code 65.
  std::shared_ptr<const Transport> tls = {};
  bool metrics_need_certificate = false;  ///< See `ServerOptions::metrics_need_certificate`; for workers, too.
};

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/event.hpp>
#include <distrib/net/address.hpp>
#include <distrib/ps/job/phase.hpp>
#include <distrib/ps/server/shard_options.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/rpc/server_options.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace distrib {
inline namespace v0 {

/// Options of a `Server`.
struct ServerOptions {
  /// Where its cuts are: a path, or a URL that `open_store` opens; empty: where the job of the workers says. If it is
  /// set, a server that is started after the end of its job finds the finished job there, and the constructor refuses a
  /// second process of the task. Of a URL it does not: there a second process ends when it claims the shards while the
  /// first one answers, and the first one ends when it does not answer for 5 s and is followed.
  std::string directory;
  /// Opens directories that are URLs: `s3_stores()` of `remote.hpp`. Empty: the server refuses a URL, also that of a job.
  OpenObjectStore open_store;
  /// How long to wait for another process of the task, which ends and may still lock the directory.
  std::chrono::milliseconds lock_within{5'000};
  /// Ranks of the job, which are dealt to the workers that are there, see `ClusterFlags::ranks`; 0: each worker is one.
  std::uint32_t ranks = 0;
  ShardOptions shard;
  RpcServerOptions rpc;  ///< `services`, `threads`, `clients` and `refused` are set by the server.
  /// The address on which `GET /metrics` is answered for Prometheus, to anyone who can connect; empty: none. Port 0
  /// takes a free port. With `RpcServerOptions::transport` it is answered over HTTPS.
  std::optional<Address> metrics;
  /// True: with a transport, metrics are shown only to clients whose certificate the task accepts. Kubernetes' own
  /// probes have no certificate.
  bool metrics_need_certificate = false;
  Observer observer;  ///< Called on the first thread of the pool.
  PhaseObserver phases;  ///< Called on the first thread of the pool, with what the shards do.
};

}  // namespace v0
}  // namespace distrib

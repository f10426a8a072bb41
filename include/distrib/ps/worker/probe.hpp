// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/address.hpp>
#include <distrib/ps/wire/shard_status.hpp>
#include <distrib/ps/worker/ask_status.hpp>

#include <string>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What ails the task of these flags, asked by another process in the same container: a program with a flag for it is
/// its own health check, where an image has neither shell nor `distrib status`. Empty when nothing does.
///
/// A ps task is well when its shards answer, and have read their cuts if they know the job: until then
/// `std::errc::resource_unavailable_try_again`, else as `ask_shard`. It is asked at its address in the cluster, or at
/// this machine's loopback when nobody answers there: its name may not be known yet when it is well. Other tasks listen
/// to nobody and are as well as their process. Waits as `ask_status`, twice.
template <class = void>
[[nodiscard]] auto probe(const ClusterFlags& flags, const AskOptions& how = {}) -> Error {
  if (flags.job_name != "ps") return {};
  Error error;
  const Address address = Address::parse(flags.ps_hosts.at(flags.task_index), error.code);
  if (error) return {error.code, flags.ps_hosts[flags.task_index]};
  std::vector<ShardStatus> shards = ask_status(address, how, error);
  if (error) {
    Error there;
    shards = ask_status({"127.0.0.1", address.port}, how, there);
    if (there) return error;
  }
  for (const ShardStatus& shard : shards)
    if (shard.shards != 0 && !shard.open)
      return {std::make_error_code(std::errc::resource_unavailable_try_again),
              "shard " + std::to_string(shard.shard) + " reads its cuts"};
  return {};
}

#ifdef DISTRIB_SEPARATE_COMPILATION  // in cmake/separate/cluster.cpp
extern template auto probe(const ClusterFlags&, const AskOptions&) -> Error;
#endif

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/worker/probe.hpp>

#include <distrib/net/address.hpp>
#include <distrib/ps/wire/shard_status.hpp>

#include <string>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto probe(const ClusterFlags& flags, const AskOptions& how) -> Error {
  if (flags.job_name != "ps") return {};
  Error error;
  const Address address = Address::parse(flags.ps_hosts.at(flags.task_index), error.code);
  if (error) return {error.code, flags.ps_hosts[flags.task_index]};
  std::vector<ShardStatus> shards = ask_status(address, how, error);
  if (error) {
    Error there;
    AskOptions here = how;
    if (here.host.empty()) here.host = address.host;  // the certificate is for the name of the task
    shards = ask_status({"127.0.0.1", address.port}, here, there);
    if (there) return error;
  }
  for (const ShardStatus& shard : shards)
    if (shard.shards != 0 && !shard.open)
      return {std::make_error_code(std::errc::resource_unavailable_try_again),
              "shard " + std::to_string(shard.shard) + " is still reading its cuts"};
  return {};
}

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/worker/detail/shards_of_job.hpp>

#include <distrib/ps/wire/shard_status.hpp>

#include <algorithm>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto shards_of_job(std::span<const Address> servers, const AskOptions& how, ps_errc no_job, Error& error)
    -> std::vector<ShardAddress> {
  constexpr std::uint32_t most_shards = 256;  // of one task
  std::vector<ShardAddress> all;
  for (const Address& server : servers) {
    const ShardStatus status = ask_shard(server, 0, how, error);
    if (!error && status.shards == 0) error = {no_job, "the parameter server at " + server.to_string()};
    if (error) return {};
    for (std::uint32_t shard = 0; shard < std::min(status.shards, most_shards); ++shard) all.push_back({server, shard});
  }
  return all;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

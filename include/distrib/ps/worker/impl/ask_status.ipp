// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/worker/ask_status.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto ask_status(const Address& server, const AskOptions& how, ErrorRef to) -> std::vector<ShardStatus> {
  detail::ErrorOut error{to};
  constexpr std::uint32_t most_shards = 256;  // of one task
  std::vector<ShardStatus> all{detail::ask_shard(server, 0, how, error)};
  const std::uint32_t shards = std::min(all.front().shards, most_shards);
  for (std::uint32_t shard = 1; shard < shards && !error; ++shard)
    all.push_back(detail::ask_shard(server, shard, how, error));
  return error ? std::vector<ShardStatus>{} : all;
}

}  // namespace v0
}  // namespace distrib

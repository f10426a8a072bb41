// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/worker/erase_keys.hpp>

#include <distrib/ps/job/error.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/ps/worker/detail/shards_of_job.hpp>

#include <algorithm>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto KeysErased::keys() const noexcept -> std::size_t {
  std::size_t sum = 0;
  for (const ErasedKeys& entry : entries) sum += entry.keys.size();
  return sum;
}

DISTRIB_DECL auto erase_keys(std::span<const Address> servers, const std::string& table,
                             std::vector<std::uint64_t> keys, const AskOptions& how, ErrorRef to) -> KeysErased {
  detail::ErrorOut error{to};
  KeysErased erased;
  std::ranges::sort(keys);
  const auto twice = std::ranges::unique(keys);
  keys.erase(twice.begin(), twice.end());
  const std::vector<detail::ShardAddress> shards = detail::shards_of_job(servers, how, ps_errc::not_erasable, error);
  erased.shards = shards.size();
  for (const auto& [server, shard] : shards)
    for (std::size_t at = 0; at < keys.size() && !error; at += std::min(max_erased_at_once, keys.size() - at)) {
      const auto some = std::span{keys}.subspan(at, std::min(max_erased_at_once, keys.size() - at));
      const EraseRequest request{table, {some.begin(), some.end()}, how.who};
      EraseReply reply = detail::erase_on_shard(server, shard, request, how, error);
      if (!error && !reply.keys.empty()) erased.entries.push_back({reply.after, table, std::move(reply.keys)});
    }
  if (!error && erased.keys() < keys.size())
    error = {ps_errc::no_such_row, std::to_string(keys.size() - erased.keys()) + " of " + std::to_string(keys.size()) +
                                       " keys belong to no shard that was asked: name all parameter servers"};
  return erased;
}

}  // namespace v0
}  // namespace distrib

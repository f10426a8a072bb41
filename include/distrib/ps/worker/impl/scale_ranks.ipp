// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/worker/scale_ranks.hpp>

#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/rank_text.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/ps/worker/detail/shards_of_job.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto ranks_of_job(std::span<const Address> servers, const AskOptions& how, ErrorRef to) -> JobRanks {
  detail::ErrorOut error{to};
  JobRanks found;
  const std::vector<detail::ShardAddress> shards = detail::shards_of_job(servers, how, ps_errc::fixed_ranks, error);
  RankLog log{1};
  for (const auto& [server, shard] : shards) {
    const ScaleReply reply = detail::scale_shard(server, shard, {}, how, error);
    if (error) return {};
    found.step = found.shards == 0 ? reply.step : std::min(found.step, reply.step);
    found.first = std::max(found.first, std::max(reply.horizon, reply.step) + 1);
    ++found.shards;
    found.began_with = reply.began_with;
    if (reply.ranks != nullptr) log.add(*reply.ranks);
  }
  for (const SharedRankEntry& entry : log.entries())
    if (entry->number != 0) found.changes.push_back(*entry);
  return found;
}

DISTRIB_DECL auto rate_of(const RateRule& rule, const JobRanks& job, Step from, Rank ranks) -> RankRate {
  RankLog log{std::max<Rank>(job.began_with, 1)};
  for (const RankEntry& entry : job.changes) log.add(std::make_shared<const RankEntry>(entry));
  return rate_of(rule, log, job.began_with, from, ranks);
}

DISTRIB_DECL auto scale_ranks(std::span<const Address> servers, const RankEntry& entry, const AskOptions& how,
                              ErrorRef to) -> ScaledRanks {
  detail::ErrorOut error{to};
  ScaledRanks scaled;
  if (!entry.has(0)) {
    error = {ps_errc::bad_ranks, "ranks " + ranks_text(entry.ranks) + ": rank 0 is missing, which the chief makes"};
    return scaled;
  }
  if (!is_rank_rate(entry.rate)) {
    error = {ps_errc::bad_rate, to_text(entry.rate)};
    return scaled;
  }
  const std::vector<detail::ShardAddress> shards = detail::shards_of_job(servers, how, ps_errc::fixed_ranks, error);
  scaled.shards = shards.size();
  const ScaleRequest request{std::make_shared<const RankEntry>(entry), how.who};
  for (const auto& [server, shard] : shards) {
    Error failed;
    static_cast<void>(detail::scale_shard(server, shard, request, how, failed));
    if (!failed) ++scaled.taken;
    else (failed.code.category() == detail::ps_category() ? scaled.refused : scaled.failed) = std::move(failed);
  }
  return scaled;
}

}  // namespace v0
}  // namespace distrib

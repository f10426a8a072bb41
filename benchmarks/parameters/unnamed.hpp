// SPDX-License-Identifier: Apache-2.0
#pragma once

// Programs that measure the cost of contribution names include this before everything else. A shard then applies each
// push and answers each pull without checking which worker sent it, or whether it is a repeat. Without names a worker
// cannot send contributions again, so there are no cuts either.

#include <distrib/ps/protocol/shard_cores.hpp>

#include <span>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

class UnnamedShardCore : public AsyncShardCore {
 public:
  template <class... Args>
  explicit UnnamedShardCore(const Job& job, Args&&... args)
      : AsyncShardCore{without_cuts(job), std::forward<Args>(args)...} {}

  void push(Peer peer, Contribution contribution, auto& out) {
    auto [given, bad] = store().read(std::move(contribution.block));
    if (bad) return out(RefusedReply{peer, bad.code, contribution.step, contribution.rank, std::move(bad.where)});
    std::error_code ec;
    store().apply(++pushes_, std::span{&given, 1}, ec);
    if (ec) return out(RefusedReply{peer, ec, contribution.step, contribution.rank});
    out(PushedReply{peer, contribution.step, {}});
  }

  void pull(Peer peer, Step finished, auto& out, PullRows rows = {}) {
    if (const std::error_code bad = store().check(rows)) return out(RefusedReply{peer, bad, finished, 0});
    out(ValuesReply{peer, finished, store().values(rows), {}, pushes_});
  }

 private:
  static auto without_cuts(Job job) -> Job {
    job.cut_interval = 0;
    return job;
  }

  Step pushes_ = 0;
};

template <>
struct ShardCores<void> {
  using Synchronous = SyncShardCore;
  using Asynchronous = UnnamedShardCore;
};

}  // namespace v0
}  // namespace distrib

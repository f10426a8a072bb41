// SPDX-License-Identifier: Apache-2.0
#pragma once

// In the place of ps/protocol/async_shard_core.hpp: contributions have no names for the shard, to show what names cost.
// Each push is applied and each pull answered, whoever sends it and whatever came before.

#define AsyncShardCore NamedAsyncShardCore
#include "../../../../../../include/distrib/ps/protocol/async_shard_core.hpp"
#undef AsyncShardCore

namespace distrib {
inline namespace v0 {

class AsyncShardCore : public NamedAsyncShardCore {
 public:
  using NamedAsyncShardCore::NamedAsyncShardCore;

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
  Step pushes_ = 0;
};

}  // namespace v0
}  // namespace distrib

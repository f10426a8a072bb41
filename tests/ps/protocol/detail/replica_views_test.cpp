// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/protocol/detail/replica_views.hpp>

#include "support/catch.hpp"

#include <distrib/core/bytes.hpp>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

using distrib::Step;
using distrib::detail::ReplicaView;
using distrib::detail::ReplicaViews;

namespace {

/// Views of one shard, whose replicas are all live and at these steps.
auto live_views(const std::vector<Step>& at) -> ReplicaViews {
  ReplicaViews views{1, static_cast<std::uint32_t>(at.size())};
  for (std::size_t i = 0; i < at.size(); ++i) {
    views[i].live = views[i].joined = true;
    views[i].progress.done = at[i];
  }
  return views;
}

}  // namespace

TEST_CASE("ReplicaView: a replica keeps the values of its step and of the one before", "[ps]") {
  ReplicaView view;
  view.progress.done = 5;
  CHECK(view.is_beyond(3));
  CHECK_FALSE(view.is_beyond(4));
  CHECK_FALSE(view.is_beyond(5));
}

TEST_CASE("ReplicaView: a replica that goes back on one connection was sent back, until it advances", "[ps]") {
  const auto at = [](Step done) {
    distrib::Progress progress;
    progress.done = done;
    return progress;
  };
  ReplicaView view;
  view.stand_at(at(6));
  CHECK_FALSE(view.sent_back);
  view.learn(at(7));
  view.stand_at(at(6));
  CHECK(view.sent_back);
  view.stand_at(at(6));
  view.learn(at(6));
  CHECK(view.sent_back);
  view.learn(at(7));
  CHECK_FALSE(view.sent_back);
  view.stand_at(at(0));
  CHECK(view.sent_back);
  view.lose();  // it may start again with fewer cuts
  CHECK_FALSE(view.sent_back);
  view.stand_at(at(0));
  CHECK_FALSE(view.sent_back);
  view.stand_at(at(4));
  view.stand_at(at(2));
  view.stand_at(at(4));
  CHECK_FALSE(view.sent_back);
  view.asked_back();  // by this worker: that counts for no one else
  view.stand_at(at(1));
  CHECK_FALSE(view.sent_back);
  view.stand_at(at(0));
  CHECK(view.sent_back);
  view.asked_back();
  CHECK_FALSE(view.sent_back);
}

TEST_CASE("ReplicaViews: the source is the replica that will have the values of t first, the first of equal ones",
          "[ps]") {
  CHECK(live_views({2, 2}).source(0, 2) == 0);
  CHECK(live_views({3, 2}).source(0, 2) == 0);
  CHECK(live_views({4, 2}).source(0, 2) == 1);  // the first no longer has them
  CHECK(live_views({1, 3}).source(0, 2) == 1);
  CHECK(live_views({1, 2, 3}).source(0, 2) == 1);
  CHECK(live_views({4, 5}).source(0, 2) == 0);  // none has them
  ReplicaViews lost = live_views({2, 4});
  lost[0].live = false;
  CHECK(lost.source(0, 2) == 1);
}

TEST_CASE("ReplicaViews: the common cut is the newest cut that all live replicas of each shard have", "[ps]") {
  ReplicaViews views = live_views({9, 9});
  CHECK(views.common_cut() == 0);
  views[0].progress.cuts = {0, 2, 4};
  views[1].progress.cuts = {0, 2};
  CHECK(views.common_cut() == 2);
  views[1].live = false;
  CHECK(views.common_cut() == 4);
  views[0].live = false;  // none is live: all replicas that reported cuts count
  CHECK(views.common_cut() == 2);
  views[0].progress.cuts.clear();
  CHECK(views.common_cut() == 2);
}

TEST_CASE("ReplicaViews: the common cut follows every change of a view", "[ps]") {
  ReplicaViews views{2, 2};
  const auto at = [](Step done, std::vector<Step> cuts) {
    distrib::Progress progress;
    progress.done = done;
    progress.cuts = std::move(cuts);
    return progress;
  };
  for (std::uint32_t shard = 0; shard < 2; ++shard) {
    views[shard].live = true;
    views[shard].progress = at(4, {0, 2});
  }
  CHECK(views.common_cut() == 2);
  views.learn(0, at(5, {0, 2, 4}));
  CHECK(views.common_cut() == 2);
  views.learn(1, at(5, {0, 2, 4}));
  CHECK(views.common_cut() == 4);
  views.learn(1, at(6, {0, 2, 4}));
  CHECK(views.common_cut() == 4);
  auto other = at(6, {0, 2, 4});
  other.history = 7;
  views.learn(1, other);
  CHECK(views.common_cut() == 0);
  views[1].progress.history = 0;
  CHECK(views.common_cut() == 4);
  views[1].live = false;  // it still counts, as its shard has no other replica
  views[1].progress.cuts = {0};
  CHECK(views.common_cut() == 0);
  views[1].lame = true;
  views[1].helped_at = 6;
  views.learn(1, at(7, {0}));
  CHECK(views.of(1).live);
  CHECK(views.common_cut() == 0);
}

TEST_CASE("ReplicaViews: whether all values have arrived", "[ps]") {
  ReplicaViews views{2, 4};
  const auto block = std::make_shared<const distrib::AlignedBuffer>(64);
  CHECK_FALSE(views.has_all_values());
  views.quiet(1).got = block;
  CHECK_FALSE(views.has_all_values());
  views.quiet(2).got = block;  // the other replica of shard 0
  CHECK(views.has_all_values());
  CHECK(views.has_all_values());
  views[2].got = nullptr;
  CHECK_FALSE(views.has_all_values());
  views[2].got = block;
  CHECK(views.has_all_values());
  views.want_anew();
  CHECK_FALSE(views.has_all_values());
}

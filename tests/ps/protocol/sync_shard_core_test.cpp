// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/protocol/sync_shard_core.hpp>

#include <distrib/optimizer/momentum.hpp>
#include <distrib/optimizer/sgd.hpp>

#include "ps/core_events.hpp"
#include "support/catch.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using distrib::Contribution;
using distrib::Cut;
using distrib::DurableCut;
using distrib::Job;
using distrib::Lineage;
using distrib::Peer;
using distrib::Rank;
using distrib::RankBlock;
using distrib::Step;
using distrib::SyncShardCore;
using story::block;
using story::sgd;
using story::ShardStory;
using story::tell;
using support::ShardActions;
using SyncShard = story::Shard<SyncShardCore>;

namespace {

auto one_rank(Step total, Step interval) -> SyncShard {
  return {SyncShardCore{story::job(1, 1, total, interval), 0, sgd()}};
}

/// A shard that comes back with its newest cut, whose values are `number`, and a list of cuts.
auto came_back(Rank ranks, Step total, Step interval, Step newest, float number, const std::vector<Step>& cuts)
    -> SyncShard {
  const Job job = story::job(1, ranks, total, interval);
  return {SyncShardCore{job, 0, sgd(), Cut{newest, block(number), {}, {}, {}, story::only_lineage(job)},
                        story::cuts_at(cuts, job)}};
}

}  // namespace

TEST_CASE("SyncShardCore: a step is complete with the contributions of all ranks; two steps are kept (rules 1, 4)",
          "[ps]") {
  SyncShard shard{SyncShardCore{story::job(1, 2, 4, 2), 0, sgd()}};
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"join", shard.join(11), {"joined 11 k=0 cuts=0"}},
      {"4: the initial values", shard.pull(10, 0), {"values 10 step=0 w=0 k=0 cuts=0"}},
      {"4: a future step is parked", shard.pull(10, 1), {}},
      {"1: one rank is not enough", shard.push(1, 1, 4), {"pushed 11 step=1 k=0 cuts=0"}},
      {"1: the mean is applied",
       shard.push(0, 1, 2),
       {"values 10 step=1 w=-3 k=1 cuts=0", "pushed 10 step=1 k=1 cuts=0"}},
      {"4: the step before is kept", shard.pull(11, 0), {"values 11 step=0 w=0 k=1 cuts=0"}},
      {"a contribution may be ahead", shard.push(1, 3, 8), {"pushed 11 step=3 k=1 cuts=0"}},
      {"a contribution may be ahead", shard.push(1, 2, 2), {"pushed 11 step=2 k=1 cuts=0"}},
      {"5: a cut is due at 2", shard.push(0, 2, 0), {"save 2 w=-4", "pushed 10 step=2 k=2 cuts=0"}},
      {"4: older values are gone", shard.pull(10, 0), {"gone 10 step=0 k=2 cuts=0"}},
      {"4: the step before", shard.pull(10, 1), {"values 10 step=1 w=-3 k=2 cuts=0"}},
      {"5: all peers get a notice", shard.saved(2), {"notice 10 k=2 cuts=0,2", "notice 11 k=2 cuts=0,2"}},
      {"4: far ahead, parked", shard.pull(11, 4), {}},
      {"1: the contribution that was ahead counts", shard.push(0, 3, 0), {"pushed 10 step=3 k=3 cuts=0,2"}},
      {"a contribution ahead", shard.push(0, 4, 0), {"pushed 10 step=4 k=3 cuts=0,2"}},
      {"5: a cut is due at the end",
       shard.push(1, 4, 2),
       {"save 4 w=-9", "values 11 step=4 w=-9 k=4 cuts=0,2", "pushed 11 step=4 k=4 cuts=0,2"}},
  });
  CHECK(shard.core.step() == 4);
  CHECK(shard.core.store().dense()->as<float>()[1] == -9.0F);
  CHECK(shard.core.progress().cuts == std::vector<Step>{0, 2});
  CHECK(shard.core.store().layout().block_bytes() == 64);
}

TEST_CASE("SyncShardCore: contributions are reduced in rank order, whatever the order of arrival (rule 1)", "[ps]") {
  // In floats (2^24 + 1) + 1 is 2^24, and 1 + 1 + 2^24 is 2^24 + 2.
  const std::array<float, 3> numbers{16777216.0F, 1.0F, 1.0F};
  std::array<Rank, 3> order{0, 1, 2};
  do {
    SyncShard shard{SyncShardCore{story::job(1, 3, 1, 0), 0, sgd()}};
    ShardActions ignored;
    for (const Rank rank : order) shard.push(rank, 1, numbers[rank])(ignored);
    CHECK(shard.core.store().dense()->as<float>()[0] == -16777216.0F / 3.0F);
  } while (std::next_permutation(order.begin(), order.end()));
}

namespace {

auto tree_job(Rank ranks, Step total) -> Job {
  Job job = story::job(1, ranks, total, 0);
  job.reduction = distrib::ReductionOrder::tree;
  return job;
}

/// Gives the core these contributions to `step`, in this order of ranks.
template <class Order>
void push_all(SyncShard& shard, Step step, const Order& order, const std::array<float, 4>& numbers) {
  ShardActions ignored;
  for (const Rank rank : order) shard.push(rank, step, numbers[rank])(ignored);
}

}  // namespace

TEST_CASE("SyncShardCore: with ReductionOrder::tree the sum is (0 + 1) + (2 + 3), whatever the order of arrival",
          "[ps]") {
  // In floats (2^24 + 1) + (1 + 1) is 2^24 + 2, but ((2^24 + 1) + 1) + 1 is 2^24.
  const std::array<float, 4> numbers{16777216.0F, 1.0F, 1.0F, 1.0F};
  std::array<Rank, 4> order{0, 1, 2, 3};
  do {
    SyncShard shard{SyncShardCore{tree_job(4, 1), 0, sgd()}};
    push_all(shard, 1, order, numbers);
    CHECK(shard.core.step() == 1);
    CHECK(shard.core.store().dense()->as<float>()[0] == -16777218.0F / 4.0F);
  } while (std::next_permutation(order.begin(), order.end()));
  SyncShard in_order{SyncShardCore{story::job(1, 4, 1, 0), 0, sgd()}};
  push_all(in_order, 1, order, numbers);
  CHECK(in_order.core.store().dense()->as<float>()[0] == -16777216.0F / 4.0F);
}

TEST_CASE("SyncShardCore: reports the bytes of contributions that wait, of all steps, and the most", "[ps]") {
  const std::size_t size = block(0)->size();
  for (const bool tree : {false, true}) {
    SyncShard shard{SyncShardCore{tree ? tree_job(4, 4) : story::job(1, 4, 4, 0), 0, sgd()}};
    ShardActions ignored;
    CHECK(shard.core.waiting_bytes() == 0);
    for (const Rank rank : {0U, 1U, 2U}) shard.push(rank, 1, 1)(ignored);
    shard.push(2, 1, 1)(ignored);  // again
    const std::size_t waiting = tree ? 2 : 3;  // the sum of 0 and 1, and 2
    CHECK(shard.core.waiting_bytes() == waiting * size);
    shard.push(0, 2, 1)(ignored);  // ahead
    CHECK(shard.core.waiting_bytes() == (waiting + 1) * size);
    shard.push(3, 1, 1)(ignored);
    CHECK(shard.core.step() == 1);
    CHECK(shard.core.waiting_bytes() == size);
    CHECK(shard.core.most_waiting_bytes() == (tree ? 3 : 5) * size);
  }
}

TEST_CASE("SyncShardCore: with ReductionOrder::tree each rank counts once, also for steps ahead", "[ps]") {
  SyncShard shard{SyncShardCore{tree_job(3, 4), 0, sgd()}};
  tell(ShardStory{
      {"", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"ahead", shard.push(1, 2, 6), {"pushed 11 step=2 k=0 cuts=0"}},
      {"first", shard.push(0, 1, 2), {"pushed 10 step=1 k=0 cuts=0"}},
      {"again, while it waits", shard.push(0, 1, 2), {"pushed 10 step=1 k=0 cuts=0"}},
      {"the pair", shard.push(1, 1, 4), {"pushed 11 step=1 k=0 cuts=0"}},
      {"again, when it is in a sum", shard.push(1, 1, 4), {"pushed 11 step=1 k=0 cuts=0"}},
      {"the rank without a sibling", shard.push(2, 1, 9), {"pushed 12 step=1 k=1 cuts=0"}},
      {"", shard.push(2, 2, 3), {"pushed 12 step=2 k=1 cuts=0"}},
      {"", shard.push(0, 2, 0), {"pushed 10 step=2 k=2 cuts=0"}},
      {"-(2 + 4 + 9) / 3 - (0 + 6 + 3) / 3", shard.pull(10, 2), {"values 10 step=2 w=-8 k=2 cuts=0"}},
  });
}

namespace {

/// The events of a worker of a block of ranks, on any connection.
struct BlockEvents {
  SyncShard& shard;

  auto join(Peer peer, RankBlock ranks) {
    return [=, this](ShardActions& out) { shard.core.join(peer, ranks, out); };
  }
  auto push(Peer peer, RankBlock ranks, Step step, float number, std::uint32_t checksum = 0) {
    return [=, this](ShardActions& out) {
      shard.core.push(peer, Contribution{step, ranks.first, block(number), checksum, 0, 0, ranks.level}, out);
    };
  }
};

}  // namespace

TEST_CASE("SyncShardCore: sums of blocks and single ranks complete a step in any mixture, each rank once", "[ps]") {
  SyncShard shard{SyncShardCore{tree_job(6, 9), 0, sgd()}};
  BlockEvents blocks{shard};
  tell(ShardStory{
      {"", blocks.join(10, {0, 2}), {"joined 10 k=0 cuts=0"}},
      {"", blocks.join(11, {4, 1}), {"joined 11 k=0 cuts=0"}},
      {"", blocks.join(12, 4), {"joined 12 k=0 cuts=0"}},
      {"", blocks.join(13, {0, 3}), {"joined 13 k=0 cuts=0"}},
      {"a rank", blocks.push(12, 4, 1, 50), {"pushed 12 step=1 k=0 cuts=0"}},
      {"the pair that it is in takes its place", blocks.push(11, {4, 1}, 1, 6), {"pushed 11 step=1 k=0 cuts=0"}},
      {"a part of the pair", blocks.push(12, 4, 1, 50), {"pushed 12 step=1 k=0 cuts=0"}},
      {"the rest", blocks.push(10, {0, 2}, 1, 6), {"pushed 10 step=1 k=1 cuts=0"}},
      {"all, too late", blocks.push(13, {0, 3}, 1, 60), {"pushed 13 step=1 k=1 cuts=0"}},
      {"all", blocks.push(13, {0, 3}, 2, 12), {"pushed 13 step=2 k=2 cuts=0"}},
      {"-(6 + 6) / 6 - 12 / 6", shard.pull(10, 2), {"values 10 step=2 w=-4 k=2 cuts=0"}},
  });
  CHECK(shard.core.stale() == 0);
}

TEST_CASE("SyncShardCore: of sums equal names are compared, and no others", "[ps]") {
  SyncShard shard{SyncShardCore{tree_job(4, 9), 0, sgd()}};
  BlockEvents blocks{shard};
  tell(ShardStory{
      {"", blocks.join(10, {0, 1}), {"joined 10 k=0 cuts=0"}},
      {"", blocks.push(10, {0, 1}, 1, 3, 77), {"pushed 10 step=1 k=0 cuts=0"}},
      {"a rank in it", blocks.push(10, 0, 1, 4, 78), {"pushed 10 step=1 k=0 cuts=0"}},
      {"the same, dropped before", blocks.push(10, 0, 1, 4, 78), {"pushed 10 step=1 k=0 cuts=0"}},
      {"other bytes of a name that was dropped",
       blocks.push(10, 0, 1, 5, 79),
       {"refused 10 step=1 rank=0: a contribution arrived twice with different bytes: the model or its input is not "
        "repeatable; make both depend on seed, step and rank only",
        "pushed 10 step=1 k=0 cuts=0"}},
      {"other bytes of the sum",
       blocks.push(10, {0, 1}, 1, 4, 80),
       {"refused 10 step=1 rank=0: a contribution arrived twice with different bytes: the model or its input is not "
        "repeatable; make both depend on seed, step and rank only",
        "pushed 10 step=1 k=0 cuts=0"}},
  });
}

TEST_CASE("SyncShardCore: a push of a block speaks for all its ranks", "[ps]") {
  SyncShard shard{SyncShardCore{tree_job(4, 2), 0, sgd()}};
  BlockEvents blocks{shard};
  tell(ShardStory{
      {"", blocks.join(10, {0, 1}), {"joined 10 k=0 cuts=0"}},
      {"", blocks.join(11, {2, 1}), {"joined 11 k=0 cuts=0"}},
      {"", blocks.join(12, {0, 2}), {"joined 12 k=0 cuts=0"}},
      {"", blocks.push(10, {0, 1}, 1, 2), {"pushed 10 step=1 k=0 cuts=0"}},
      {"", blocks.push(11, {2, 1}, 1, 2), {"pushed 11 step=1 k=1 cuts=0"}},
      {"", blocks.push(10, {0, 1}, 2, 2), {"pushed 10 step=2 k=1 cuts=0"}},
      {"a cut is due at the end", blocks.push(11, {2, 1}, 2, 2), {"save 2 w=-2", "pushed 11 step=2 k=2 cuts=0"}},
      {"two others made the newest of all its ranks", shard.pull(12, 0), {"gone 12 step=0 k=2 cuts=0 doubled"}},
      {"one is lost: those with ranks of it hear it", shard.disconnect(11), {"joined 12 k=2 cuts=0"}},
      {"nobody here made those of 2 and 3", shard.pull(12, 0), {"gone 12 step=0 k=2 cuts=0"}},
      {"", shard.saved(2), {"notice 10 k=2 cuts=0,2", "notice 12 k=2 cuts=0,2"}},
      {"", shard.goodbye(10), {}},
      {"all ranks are done", shard.goodbye(12), {"done"}},
  });
}

TEST_CASE("SyncShardCore: a block that the job does not have is refused, and a sum where there is no tree", "[ps]") {
  SyncShard shard{SyncShardCore{tree_job(6, 9), 0, sgd()}};
  BlockEvents blocks{shard};
  const std::string unknown = ": the job has no such rank: start as many workers as the job has";
  CHECK(shard.core.takes_sums());
  tell(ShardStory{
      {"not aligned", blocks.join(10, {1, 1}), {"refused 10 step=0 rank=1" + unknown}},
      {"another name of 4 and 5", blocks.push(10, {4, 2}, 1, 1), {"refused 10 step=1 rank=4" + unknown}},
      {"beyond", blocks.push(10, {8, 1}, 1, 1), {"refused 10 step=1 rank=8" + unknown}},
  });
  SyncShard in_order{SyncShardCore{story::job(1, 6, 9, 0), 0, sgd()}};
  BlockEvents sums{in_order};
  const std::string none =
      ": the parameter server takes no sums of ranks: start all tasks with one version, or set ClusterMode::sum_ranks "
      "to "
      "false";
  CHECK_FALSE(in_order.core.takes_sums());
  tell(ShardStory{
      {"", sums.join(10, {0, 1}), {"refused 10 step=0 rank=0" + none}},
      {"", sums.push(10, {0, 1}, 1, 1), {"refused 10 step=1 rank=0" + none}},
  });
}

TEST_CASE("SyncShardCore: a job that was begun in rank order stays in rank order", "[ps]") {
  const std::array<float, 4> numbers{16777216.0F, 1.0F, 1.0F, 1.0F};
  const std::array<Rank, 4> order{3, 2, 1, 0};
  const Job job = tree_job(4, 9);
  Job before = job;
  before.reduction = distrib::ReductionOrder::rank_order;
  const auto from_cut = [&](const Lineage& lineage) {
    return SyncShard{
        SyncShardCore{job, 0, sgd(), Cut{3, block(0), {}, {}, {}, lineage}, std::vector<DurableCut>{{3, lineage}}}};
  };
  SyncShard old = from_cut(story::only_lineage(before));
  CHECK(old.core.lineage() == story::only_lineage(before));
  push_all(old, 4, order, numbers);
  CHECK(old.core.store().dense()->as<float>()[0] == -16777216.0F / 4.0F);
  // sent back to the initial values, it begins anew, in the tree
  ShardActions actions;
  old.core.restore(10, 0, actions);
  old.core.cut_loaded(Cut{0, block(0), {}, {}, {}, {}}, actions);
  CHECK(old.core.lineage() == story::only_lineage(job));
  push_all(old, 1, order, numbers);
  CHECK(old.core.store().dense()->as<float>()[0] == -16777218.0F / 4.0F);
  SyncShard own = from_cut(story::only_lineage(job));
  push_all(own, 4, order, numbers);
  CHECK(own.core.store().dense()->as<float>()[0] == -16777218.0F / 4.0F);
  before.updater = "another";  // other settings too: it is another job from here on
  const SyncShard other = from_cut(story::only_lineage(before));
  REQUIRE(other.core.lineage().entries().size() == 2);
  CHECK(other.core.lineage().entries()[1] == Lineage::Entry{3, distrib::settings_hash(job)});
}

TEST_CASE("SyncShardCore: a repeat is dropped, a repeat with other bytes is reported (rule 2)", "[ps]") {
  SyncShard shard{SyncShardCore{story::job(1, 2, 9, 2), 0, sgd()}};
  const std::string differs =
      ": a contribution arrived twice with different bytes: the model or its input is not repeatable; make both depend "
      "on seed, step and rank only";
  tell(ShardStory{
      {"first", shard.push(0, 1, 2, 0, 7), {"pushed 10 step=1 k=0 cuts=0"}},
      {"a stored one again", shard.push(0, 1, 2, 0, 7), {"pushed 10 step=1 k=0 cuts=0"}},
      {"a stored one, different",
       shard.push(0, 1, 50, 0, 8),
       {"refused 10 step=1 rank=0" + differs, "pushed 10 step=1 k=0 cuts=0"}},
      {"the first one counts", shard.push(1, 1, 2, 0, 9), {"pushed 11 step=1 k=1 cuts=0"}},
      {"a counted one again", shard.push(1, 1, 2, 0, 9), {"pushed 11 step=1 k=1 cuts=0"}},
      {"a counted one, different",
       shard.push(1, 1, 2, 0, 3),
       {"refused 11 step=1 rank=1" + differs, "pushed 11 step=1 k=1 cuts=0"}},
      {"up to the cut", shard.push(0, 2, 0), {"pushed 10 step=2 k=1 cuts=0"}},
      {"up to the cut", shard.push(1, 2, 0), {"save 2 w=-2", "pushed 11 step=2 k=2 cuts=0"}},
      {"remembered until the cut is durable",
       shard.push(1, 1, 2, 0, 3),
       {"refused 11 step=1 rank=1" + differs, "pushed 11 step=1 k=2 cuts=0"}},
      {"durable", shard.saved(2), {}},
      {"no longer remembered", shard.push(1, 1, 2, 0, 3), {"pushed 11 step=1 k=2 cuts=0,2"}},
      {"nor remembered anew", shard.push(1, 1, 2, 0, 4), {"pushed 11 step=1 k=2 cuts=0,2"}},
      {"beyond the window: dropped", shard.push(1, 7, 2, 0, 3), {"pushed 11 step=7 k=2 cuts=0,2"}},
      {"and not remembered", shard.push(1, 7, 2, 0, 4), {"pushed 11 step=7 k=2 cuts=0,2"}},
  });
}

TEST_CASE("SyncShardCore: contributions are stored within the window (rule 3)", "[ps]") {
  struct Row {
    Step interval;
    Step window;
  };
  for (const Row& row : {Row{0, 2}, Row{1, 2}, Row{3, 6}}) {
    CAPTURE(row.interval);
    SyncShard shard{SyncShardCore{story::job(1, 1, 20, row.interval), 0, sgd()}};
    ShardActions out;
    shard.push(0, row.window + 1, 1)(out);  // dropped
    for (Step step = row.window; step >= 1; --step) shard.push(0, step, 1)(out);
    CHECK(shard.core.step() == row.window);
    shard.push(0, row.window + 1, 1)(out);
    CHECK(shard.core.step() == row.window + 1);
  }
}

TEST_CASE("SyncShardCore: contributions of unknown ranks and of wrong sizes are refused", "[ps]") {
  SyncShard shard{SyncShardCore{story::job(1, 2, 4, 2), 0, sgd()}};
  const auto push = [&](Contribution contribution) {
    return [&, contribution](ShardActions& out) { shard.core.push(10, contribution, out); };
  };
  const std::string size =
      ": the size does not match the job's variables and tables: run the same model on every worker";
  tell(ShardStory{
      {"rank",
       shard.join(12),
       {"refused 12 step=0 rank=2: the job has no such rank: start as many workers as the job has"}},
      {"rank",
       shard.push(2, 1, 1),
       {"refused 12 step=1 rank=2: the job has no such rank: start as many workers as the job has"}},
      {"no block", push({1, 0, nullptr}), {"refused 10 step=1 rank=0" + size}},
      {"short", push({1, 0, std::make_shared<distrib::AlignedBuffer>(4)}), {"refused 10 step=1 rank=0" + size}},
      {"long", push({1, 0, std::make_shared<distrib::AlignedBuffer>(128)}), {"refused 10 step=1 rank=0" + size}},
  });
  CHECK(shard.core.step() == 0);
}

TEST_CASE("SyncShardCore: one cut is written at a time, the newest due one is next (rule 5)", "[ps]") {
  SyncShard shard = one_rank(9, 1);
  tell(ShardStory{
      {"due", shard.push(0, 1, 1), {"save 1 w=-1", "pushed 10 step=1 k=1 cuts=0"}},
      {"waits", shard.push(0, 2, 1), {"pushed 10 step=2 k=2 cuts=0"}},
      {"replaces 2", shard.push(0, 3, 1), {"pushed 10 step=3 k=3 cuts=0"}},
      {"not the cut being written", shard.saved(2), {}},
      {"next", shard.saved(1), {"save 3 w=-3"}},
      {"none is waiting", shard.saved(3), {}},
      {"a cut never mixes steps", shard.push(0, 4, 1), {"save 4 w=-4", "pushed 10 step=4 k=4 cuts=0,1,3"}},
  });
}

TEST_CASE(
    "SyncShardCore: without disk space for a cut it continues and tries the next cut, and always the last one again",
    "[ps]") {
  SyncShard shard = one_rank(4, 1);
  tell(ShardStory{
      {"", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"no cut is being written", shard.save_again(), {}},
      {"due", shard.push(0, 1, 1), {"save 1 w=-1", "pushed 10 step=1 k=1 cuts=0"}},
      {"no room", shard.no_room(), {"notice 10 k=1 cuts=0 no room"}},
      {"no cut is due", shard.save_again(), {}},
      {"due", shard.push(0, 2, 1), {"save 2 w=-2", "pushed 10 step=2 k=2 cuts=0 no room"}},
      {"due", shard.push(0, 3, 1), {"pushed 10 step=3 k=3 cuts=0 no room"}},
      {"no room", shard.no_room(), {"notice 10 k=3 cuts=0 no room"}},
      {"the newest due cut", shard.save_again(), {"save 3 w=-3"}},
      {"there is disk space", shard.saved(3), {"notice 10 k=3 cuts=0,3"}},
      {"the last one", shard.push(0, 4, 1), {"save 4 w=-4", "pushed 10 step=4 k=4 cuts=0,3"}},
      {"no room", shard.no_room(), {"notice 10 k=4 cuts=0,3 no room"}},
      {"again", shard.save_again(), {"save 4 w=-4"}},
      {"and again", shard.save_again(), {"save 4 w=-4"}},
      {"there is disk space", shard.saved(4), {"notice 10 k=4 cuts=0,3,4"}},
  });
}

TEST_CASE("SyncShardCore: a cut that found no disk space is not tried again after a restore to a step before it",
          "[ps]") {
  SyncShard shard = one_rank(9, 2);
  ShardActions ignored;
  shard.join(10)(ignored);
  for (const Step step : {1U, 2U}) shard.push(0, step, 1)(ignored);
  shard.saved(2)(ignored);
  for (const Step step : {3U, 4U}) shard.push(0, step, 1)(ignored);
  tell(ShardStory{
      {"no room", shard.no_room(), {"notice 10 k=4 cuts=0,2 no room"}},
      {"back", shard.restore(10, 2), {"load 2"}},
      {"that cut is of no use now", shard.save_again(), {}},
      {"there", shard.loaded(2, -2), {"joined 10 k=2 cuts=0,2 no room"}},
      {"", shard.push(0, 3, 1), {"pushed 10 step=3 k=3 cuts=0,2 no room"}},
      {"due", shard.push(0, 4, 1), {"save 4 w=-4", "pushed 10 step=4 k=4 cuts=0,2 no room"}},
      {"the cut made again", shard.saved(4), {"notice 10 k=4 cuts=0,2,4"}},
  });
}

TEST_CASE("SyncShardCore: while other shards make no cuts, only the newest cuts after the common one are kept",
          "[ps]") {
  SyncShard shard = one_rank(99, 1);
  ShardActions ignored;
  shard.join(10)(ignored);
  for (const Step step : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U}) {
    shard.push(0, step, 1, step < 2 ? 0 : 1)(ignored);
    if (step < 9) shard.saved(step)(ignored);
  }
  tell(ShardStory{
      {"eight after the common cut", shard.saved(9), {"notice 10 k=9 cuts=0,1,2,3,4,5,6,7,8,9"}},
      {"due", shard.push(0, 10, 1, 1), {"save 10 w=-10", "pushed 10 step=10 k=10 cuts=0,1,2,3,4,5,6,7,8,9"}},
      {"one more", shard.saved(10), {"drop 2 unneeded", "notice 10 k=10 cuts=0,1,3,4,5,6,7,8,9,10"}},
      {"back to the common cut", shard.restore(10, 1), {"load 1"}},
      {"", shard.loaded(1, -1), {"joined 10 k=1 cuts=0,1,3,4,5,6,7,8,9,10"}},
      {"due", shard.push(0, 2, 1, 1), {"save 2 w=-2", "pushed 10 step=2 k=2 cuts=0,1,3,4,5,6,7,8,9,10"}},
      {"cuts after k are not counted", shard.saved(2), {"notice 10 k=2 cuts=0,1,2,3,4,5,6,7,8,9,10"}},
  });
}

TEST_CASE("SyncShardCore: old cuts are dropped (rule 5)", "[ps]") {
  SyncShard shard = came_back(1, 99, 9, 5, 0, {0, 1, 2, 3, 4, 5});
  tell(ShardStory{
      {"only two are not newer than the common cut", shard.push(0, 1, 1, 2), {"pushed 10 step=1 k=5 cuts=0,1,2,3,4,5"}},
      {"the two newest of these stay",
       shard.push(0, 1, 1, 4),
       {"drop 1", "drop 2", "pushed 10 step=1 k=5 cuts=0,3,4,5"}},
      {"and so do all newer ones", shard.push(0, 1, 1, 4), {"pushed 10 step=1 k=5 cuts=0,3,4,5"}},
      {"0 always stays", shard.push(0, 1, 1, 99), {"drop 3", "pushed 10 step=1 k=5 cuts=0,4,5"}},
  });
}

TEST_CASE("SyncShardCore: a shard that comes back continues from its newest cut (rule 8)", "[ps]") {
  SyncShard shard = came_back(2, 9, 2, 4, -7, {4});
  tell(ShardStory{
      {"0 is in every list", shard.join(10), {"joined 10 k=4 cuts=0,4"}},
      {"the values of the cut", shard.pull(10, 4), {"values 10 step=4 w=-7 k=4 cuts=0,4"}},
      {"the step before is not known", shard.pull(10, 3), {"gone 10 step=3 k=4 cuts=0,4"}},
      {"what follows is sent again", shard.push(1, 5, 2), {"pushed 11 step=5 k=4 cuts=0,4"}},
      {"what follows is sent again", shard.push(0, 5, 2), {"pushed 10 step=5 k=5 cuts=0,4"}},
      {"now the step before is known", shard.pull(10, 4), {"values 10 step=4 w=-7 k=5 cuts=0,4"}},
  });
}

TEST_CASE("SyncShardCore: restore to an older cut (rule 11)", "[ps]") {
  SyncShard shard = came_back(2, 9, 2, 4, -7, {0, 2, 4});
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=4 cuts=0,2,4"}},
      {"join", shard.join(11), {"joined 11 k=4 cuts=0,2,4"}},
      {"stored", shard.push(0, 5, 1, 0, 1), {"pushed 10 step=5 k=4 cuts=0,2,4"}},
      {"parked", shard.pull(10, 5), {}},
      {"a cut that it does not have", shard.restore(11, 3), {"joined 11 k=4 cuts=0,2,4"}},
      {"the step where it is", shard.restore(11, 4), {"joined 11 k=4 cuts=0,2,4"}},
      {"newer cuts stay", shard.restore(11, 2), {"load 2"}},
      {"a repeat", shard.restore(10, 2), {}},
      {"another one, late: it is answered when the values are loaded", shard.restore(10, 0), {}},
      {"a join meanwhile", shard.join(10), {"joined 10 k=2 cuts=0,2,4"}},
      {"step 2 is parked until its values are loaded", shard.pull(11, 2), {}},
      {"and so is a step that is not kept", shard.pull(11, 0), {}},
      {"stored meanwhile", shard.push(1, 3, 4), {"pushed 11 step=3 k=2 cuts=0,2,4"}},
      {"no old cut is dropped meanwhile", shard.push(0, 3, 2, 9), {"pushed 10 step=3 k=2 cuts=0,2,4"}},
      {"all peers are answered, all parked pulls are tried again",
       shard.loaded(2, -5),
       {"joined 10 k=2 cuts=0,2,4", "joined 11 k=2 cuts=0,2,4", "values 11 step=2 w=-5 k=2 cuts=0,2,4",
        "gone 11 step=0 k=2 cuts=0,2,4"}},
      {"a second time is ignored", shard.loaded(2, 99), {}},
  });
  CHECK(shard.core.step() == 3);  // the contributions that arrived meanwhile completed it
  CHECK(shard.core.store().dense()->as<float>()[0] == -8.0F);
  tell(ShardStory{
      {"5 was dropped, and so was its checksum", shard.push(0, 5, 6, 0, 2), {"pushed 10 step=5 k=3 cuts=0,2,4"}},
      {"4", shard.push(0, 4, 0), {"pushed 10 step=4 k=3 cuts=0,2,4"}},
      {"4, made again", shard.push(1, 4, 0), {"save 4 w=-8", "pushed 11 step=4 k=4 cuts=0,2,4"}},
      {"the parked pull stayed",
       shard.push(1, 5, 0),
       {"values 10 step=5 w=-11 k=5 cuts=0,2,4", "pushed 11 step=5 k=5 cuts=0,2,4"}},
      {"durable again", shard.saved(4), {"notice 10 k=5 cuts=0,2,4", "notice 11 k=5 cuts=0,2,4"}},
  });
}

TEST_CASE(
    "SyncShardCore: a Restore keeps newer cuts and the cut being written, so the shard can go forward to them again",
    "[ps]") {
  SyncShard shard = one_rank(9, 2);
  ShardActions ignored;
  shard.join(10)(ignored);
  for (const Step step : {1U, 2U}) shard.push(0, step, 1)(ignored);
  shard.saved(2)(ignored);
  for (const Step step : {3U, 4U}) shard.push(0, step, 1, 2)(ignored);
  shard.saved(4)(ignored);
  for (const Step step : {5U, 6U}) shard.push(0, step, 1, 4)(ignored);
  tell(ShardStory{
      {"back", shard.restore(10, 2), {"load 2"}},
      {"the cut that was being written", shard.saved(6), {"notice 10 k=2 cuts=0,2,4,6"}},
      {"loaded", shard.loaded(2, -2), {"joined 10 k=2 cuts=0,2,4,6"}},
      {"names are compared again", shard.push(0, 4, 1, 0, 1), {"pushed 10 step=4 k=2 cuts=0,2,4,6"}},
      {"other bytes",
       shard.push(0, 4, 1, 0, 2),
       {"refused 10 step=4 rank=0: " + make_error_code(distrib::ps_errc::not_repeatable).message(),
        "pushed 10 step=4 k=2 cuts=0,2,4,6"}},
      {"forward to the newest cut", shard.restore(10, 6), {"load 6"}},
      {"loaded", shard.loaded(6, -6), {"joined 10 k=6 cuts=0,2,4,6"}},
  });
}

TEST_CASE("SyncShardCore: a cut that cannot be read is forgotten, and the shard goes to its newest cut (rule 11)",
          "[ps]") {
  SyncShard shard = came_back(1, 9, 2, 8, -8, {0, 2, 4, 8});
  const auto refused = [&shard](ShardActions& out) { shard.core.cut_refused(out); };
  tell(ShardStory{
      {"", shard.join(10), {"joined 10 k=8 cuts=0,2,4,8"}},
      {"nothing is loaded", refused, {}},
      {"", shard.restore(10, 4), {"load 4"}},
      {"cut 4 is missing", refused, {"load 8"}},
      {"", shard.push(0, 9, 1), {"pushed 10 step=9 k=8 cuts=0,2,8"}},
      {"so is cut 8", refused, {"load 2"}},
      {"so is cut 2", refused, {"load 0"}},
      {"cut 0 always exists", refused, {}},
      {"", shard.loaded(0, 0), {"joined 10 k=0 cuts=0"}},
      {"", shard.restore(10, 4), {"joined 10 k=0 cuts=0"}},
  });
  CHECK(shard.core.step() == 0);
}

TEST_CASE("SyncShardCore: restore to a newer cut (rule 11)", "[ps]") {
  SyncShard shard = came_back(1, 99, 2, 8, -1, {0, 2, 4, 8});
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=8 cuts=0,2,4,8"}},
      {"back", shard.restore(10, 0), {"load 0"}},
      {"at 0", shard.loaded(0, 0), {"joined 10 k=0 cuts=0,2,4,8"}},
      {"forward again", shard.restore(10, 8), {"load 8"}},
      {"at 8", shard.loaded(8, -1), {"joined 10 k=8 cuts=0,2,4,8"}},
  });
  SyncShard behind = came_back(1, 99, 9, 2, -1, {0, 2, 6});
  tell(ShardStory{
      {"join", behind.join(10), {"joined 10 k=2 cuts=0,2,6"}},
      {"stored", behind.push(0, 7, 3), {"pushed 10 step=7 k=2 cuts=0,2,6"}},
      {"forward", behind.restore(10, 6), {"load 6"}},
      {"no old cut is dropped while one is read", behind.push(0, 6, 3, 99), {"pushed 10 step=6 k=6 cuts=0,2,6"}},
      {"7 was stored", behind.loaded(6, -5), {"joined 10 k=6 cuts=0,2,6"}},
  });
  CHECK(behind.core.step() == 7);
  CHECK(behind.core.store().dense()->as<float>()[0] == -8.0F);
}

TEST_CASE("SyncShardCore: the last cut stays, because workers may have ended when it was durable (rules 11, 12)",
          "[ps]") {
  SyncShard shard = came_back(1, 4, 2, 4, -4, {0, 2, 4});
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=4 cuts=0,2,4"}},
      {"back, by a worker that does not know the last cut", shard.restore(10, 0), {"load 0"}},
      {"at 0", shard.loaded(0, 0), {"joined 10 k=0 cuts=0,2,4"}},
      {"1", shard.push(0, 1, 1), {"pushed 10 step=1 k=1 cuts=0,2,4"}},
      {"2 is due again", shard.push(0, 2, 1), {"save 2 w=-2", "pushed 10 step=2 k=2 cuts=0,2,4"}},
      {"durable", shard.saved(2), {"notice 10 k=2 cuts=0,2,4"}},
      {"3", shard.push(0, 3, 1), {"pushed 10 step=3 k=3 cuts=0,2,4"}},
      {"4 exists already", shard.push(0, 4, 1), {"pushed 10 step=4 k=4 cuts=0,2,4"}},
      {"done", shard.goodbye(10), {"done"}},
  });
}

TEST_CASE("SyncShardCore: restore does nothing when the values are kept (rule 11)", "[ps]") {
  SyncShard shard = one_rank(99, 2);
  ShardActions ignored;
  shard.join(10)(ignored);
  for (Step step = 1; step <= 3; ++step) shard.push(0, step, 1)(ignored);
  shard.saved(2)(ignored);
  tell(ShardStory{
      {"the step before", shard.restore(10, 2), {"joined 10 k=3 cuts=0,2"}},
      {"it is still at 3", shard.pull(10, 3), {"values 10 step=3 w=-3 k=3 cuts=0,2"}},
  });
}

TEST_CASE("SyncShardCore: a cut being written during a restore is kept, and is made again when it is due", "[ps]") {
  SyncShard shard = one_rank(99, 2);
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"1", shard.push(0, 1, 1), {"pushed 10 step=1 k=1 cuts=0"}},
      {"2", shard.push(0, 2, 1), {"save 2 w=-2", "pushed 10 step=2 k=2 cuts=0"}},
      {"3", shard.push(0, 3, 1), {"pushed 10 step=3 k=3 cuts=0"}},
      {"4 is due", shard.push(0, 4, 1), {"pushed 10 step=4 k=4 cuts=0"}},
      {"back", shard.restore(10, 0), {"load 0"}},
      {"back", shard.loaded(0, 0), {"joined 10 k=0 cuts=0"}},
      {"1", shard.push(0, 1, 1), {"pushed 10 step=1 k=1 cuts=0"}},
      {"2 is due again and waits", shard.push(0, 2, 1), {"pushed 10 step=2 k=2 cuts=0"}},
      {"one at a time", shard.saved(2), {"save 2 w=-2", "notice 10 k=2 cuts=0,2"}},
      {"durable again", shard.saved(2), {"notice 10 k=2 cuts=0,2"}},
  });
}

TEST_CASE("SyncShardCore: a job that is not replayable drops the cuts after the cut that it goes to", "[ps]") {
  Job job = story::job(1, 1, 99, 2);
  job.replayable = false;
  SyncShard shard{SyncShardCore{job, 0, sgd(), Cut{6, block(-7), {}, {}, {}, story::only_lineage(job)},
                                story::cuts_at({2, 4, 6}, job)}};
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=6 cuts=0,2,4,6"}},
      {"back", shard.restore(10, 2), {"drop 6 unneeded", "drop 4 unneeded", "load 2"}},
      {"back", shard.loaded(2, -5), {"joined 10 k=2 cuts=0,2"}},
      {"3", shard.push(0, 3, 1), {"pushed 10 step=3 k=3 cuts=0,2"}},
      {"4 is due", shard.push(0, 4, 1), {"save 4 w=-7", "pushed 10 step=4 k=4 cuts=0,2"}},
      {"back again, while it is being written", shard.restore(10, 2), {"load 2"}},
      {"", shard.loaded(2, -5), {"joined 10 k=2 cuts=0,2"}},
      {"3, made anew", shard.push(0, 3, 2), {"pushed 10 step=3 k=3 cuts=0,2"}},
      {"4, made anew, waits", shard.push(0, 4, 2), {"pushed 10 step=4 k=4 cuts=0,2"}},
      {"the old cut of 4 is of no use, the new one follows",
       shard.saved(4),
       {"drop 4 unneeded", "save 4 w=-9", "notice 10 k=4 cuts=0,2"}},
      {"durable", shard.saved(4), {"notice 10 k=4 cuts=0,2,4"}},
  });
}

TEST_CASE("SyncShardCore: it makes a cut when asked", "[ps]") {
  SyncShard shard = one_rank(99, 50);
  tell(ShardStory{
      {"cut 0 exists", shard.save(), {}},
      {"1", shard.push(0, 1, 1), {"pushed 10 step=1 k=1 cuts=0"}},
      {"asked", shard.save(), {"save 1 w=-1"}},
      {"it is being written", shard.save(), {}},
      {"durable", shard.saved(1), {}},
      {"it exists", shard.save(), {}},
  });
}

TEST_CASE("SyncShardCore: it is done when all ranks said goodbye and the last cut is durable (rule 12)", "[ps]") {
  SyncShard shard{SyncShardCore{story::job(1, 2, 1, 0), 0, sgd()}};
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"join", shard.join(11), {"joined 11 k=0 cuts=0"}},
      {"1", shard.push(0, 1, 1), {"pushed 10 step=1 k=0 cuts=0"}},
      {"the last cut", shard.push(1, 1, 1), {"save 1 w=-1", "pushed 11 step=1 k=1 cuts=0"}},
      {"not all ranks", shard.goodbye(10), {}},
      {"the same rank again", shard.goodbye(10), {}},
      {"a peer that has not joined", shard.goodbye(77), {}},
      {"the cut is not durable", shard.goodbye(11), {}},
      {"now", shard.saved(1), {"notice 10 k=1 cuts=0,1", "notice 11 k=1 cuts=0,1", "done"}},
      {"once", shard.goodbye(11), {}},
  });
  SyncShard late = came_back(1, 1, 0, 1, 0, {0, 1});
  tell(ShardStory{
      {"join", late.join(10), {"joined 10 k=1 cuts=0,1"}},
      {"done", late.goodbye(10), {"done"}},
  });
}

TEST_CASE("SyncShardCore: a connection that is lost gets no answers", "[ps]") {
  SyncShard shard = one_rank(9, 1);
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"parked", shard.pull(10, 1), {}},
      {"lost", shard.disconnect(10), {}},
      {"no values; only the push is answered", shard.push(0, 1, 1), {"save 1 w=-1", "pushed 10 step=1 k=1 cuts=0"}},
      {"no notice", shard.saved(1), {}},
  });
}

TEST_CASE("SyncShardCore: Gone reports whether another process of the rank is connected and ahead (rule 9)", "[ps]") {
  SyncShard shard{SyncShardCore{story::job(1, 2, 9, 0), 0, sgd()}};
  const auto again = [&shard](Peer peer, Rank rank) {
    return [=, &shard](ShardActions& out) { shard.core.join(peer, rank, out); };
  };
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"join", shard.join(11), {"joined 11 k=0 cuts=0"}},
      {"a second process of rank 1", again(21, 1), {"joined 21 k=0 cuts=0"}},
      {"1", shard.push(0, 1, 1), {"pushed 10 step=1 k=0 cuts=0"}},
      {"1", shard.push(1, 1, 1), {"pushed 11 step=1 k=1 cuts=0"}},
      {"2", shard.push(0, 2, 1), {"pushed 10 step=2 k=1 cuts=0"}},
      {"2", shard.push(1, 2, 1), {"pushed 11 step=2 k=2 cuts=0"}},
      {"the newest contribution is from another process", shard.pull(21, 0), {"gone 21 step=0 k=2 cuts=0 doubled"}},
      {"the newest contribution is its own", shard.pull(11, 0), {"gone 11 step=0 k=2 cuts=0"}},
      {"rank 0 has one process", shard.pull(10, 0), {"gone 10 step=0 k=2 cuts=0"}},
      {"what was left to that process may be lost", shard.disconnect(11), {"joined 21 k=2 cuts=0"}},
      {"the other process is no longer connected", shard.pull(21, 0), {"gone 21 step=0 k=2 cuts=0"}},
      {"back on another connection", again(31, 1), {"joined 31 k=2 cuts=0"}},
      {"it has sent nothing yet", shard.pull(21, 0), {"gone 21 step=0 k=2 cuts=0"}},
      {"no other process of rank 0", shard.disconnect(10), {}},
  });
  SyncShard restored = came_back(1, 9, 0, 2, 2, {0, 2});
  const auto push = [&restored](Peer peer, Step step) {
    return [=, &restored](ShardActions& out) { restored.core.push(peer, {step, 0, block(1)}, out); };
  };
  const auto join = [&restored](Peer peer) {
    return [=, &restored](ShardActions& out) { restored.core.join(peer, 0, out); };
  };
  tell(ShardStory{
      {"join", join(10), {"joined 10 k=2 cuts=0,2"}},
      {"join", join(20), {"joined 20 k=2 cuts=0,2"}},
      {"which process made 2 is not known", restored.pull(20, 0), {"gone 20 step=0 k=2 cuts=0,2"}},
      {"3", push(10, 3), {"pushed 10 step=3 k=3 cuts=0,2"}},
      {"now it is known", restored.pull(20, 0), {"gone 20 step=0 k=3 cuts=0,2 doubled"}},
      {"11: back", restored.restore(20, 0), {"load 0"}},
      {"11: all peers are answered", restored.loaded(0, 0), {"joined 10 k=0 cuts=0,2", "joined 20 k=0 cuts=0,2"}},
      {"a repeat of a dropped contribution", push(20, 1), {"pushed 20 step=1 k=1 cuts=0,2"}},
      {"its own", push(20, 2), {"pushed 20 step=2 k=2 cuts=0,2"}},
      {"the newest contribution is from peer 20", restored.pull(10, 0), {"gone 10 step=0 k=2 cuts=0,2 doubled"}},
      {"the same contribution, from peer 10", push(10, 2), {"pushed 10 step=2 k=2 cuts=0,2"}},
      {"peer 10 has sent it last", restored.pull(10, 0), {"gone 10 step=0 k=2 cuts=0,2"}},
      {"", restored.pull(20, 0), {"gone 20 step=0 k=2 cuts=0,2 doubled"}},
  });
}

TEST_CASE("SyncShardCore: a cut contains the optimizer's slots", "[ps]") {
  const distrib::JobUpdaters momentum{distrib::Momentum{.learning_rate = 1.0F, .momentum = 0.5F}};
  const distrib::Job job = story::job(1, 1, 9, 2);
  SyncShardCore core{job, 0, momentum};
  const auto push = [](SyncShardCore& to, Step step) {
    ShardActions out;
    to.push(10, {step, 0, block(1)}, out);
    return out;
  };
  push(core, 1);
  const ShardActions actions = push(core, 2);
  const Cut cut = std::get<distrib::SaveCut>(actions.front()).cut;
  REQUIRE(cut.slots.size() == 1);
  CHECK(cut.values->as<float>()[0] == -2.5F);
  CHECK(cut.slots[0]->as<float>()[0] == 1.5F);
  push(core, 3);
  CHECK(core.store().dense()->as<float>()[0] == -4.25F);
  CHECK(cut.slots[0]->as<float>()[0] == 1.5F);  // not changed by later steps

  SyncShardCore again{job, 0, momentum, cut, story::cuts_at({0, 2}, job)};
  push(again, 3);
  CHECK(again.store().dense()->as<float>()[0] == -4.25F);
}

namespace {

constexpr auto no_such_row = ": the table has no such row: look up only keys of the table";
constexpr auto budget_exceeded =
    ": a table needs more memory than its budget has: give it max_rows, raise the budget, or use more servers";

}  // namespace

TEST_CASE("SyncShardCore: rows are sent with the values of their step: now, parked, and of the step before", "[ps]") {
  SyncShard shard{SyncShardCore{story::with_tables(story::job(1, 2, 9, 2)), 0, sgd()}};
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"join", shard.join(11), {"joined 11 k=0 cuts=0"}},
      {"initial rows", shard.pull(10, 0, {{{5, 7}, {0}}}), {"values 10 step=0 w=0 rows=8,8,8 k=0 cuts=0"}},
      {"parked with its rows", shard.pull(10, 1, {{{7}, {}}}), {}},
      {"parked without rows", shard.pull(11, 1), {}},
      {"parked with other rows", shard.pull(11, 1, {{{5, 6, 7}, {0, 2}}}), {}},
      {"one rank", shard.push(0, 1, block(2, {{5, 4}}, {{2, 1}})), {"pushed 10 step=1 k=0 cuts=0"}},
      {"each pull gets its own rows; a row moves by the mean of the ranks that have its key",
       shard.push(1, 1, block(4, {{5, 2}, {7, 6}})),
       {"values 10 step=1 w=-3 rows=2 k=1 cuts=0", "values 11 step=1 w=-3 k=1 cuts=0",
        "values 11 step=1 w=-3 rows=5,8,2,8,7 k=1 cuts=0", "pushed 11 step=1 k=1 cuts=0"}},
      {"the step before, in which 7 had no row",
       shard.pull(11, 0, {{{5, 7}, {2}}}),
       {"values 11 step=0 w=0 rows=8,8,8 k=1 cuts=0"}},
      {"and without rows", shard.pull(11, 0), {"values 11 step=0 w=0 k=1 cuts=0"}},
      {"a pull does not make a row", shard.pull(11, 1, {{{9}, {}}}), {"values 11 step=1 w=-3 rows=8 k=1 cuts=0"}},
      {"2, without key 5", shard.push(0, 2, block(0, {{7, 1}})), {"pushed 10 step=2 k=1 cuts=0"}},
      {"a cut has the rows", shard.push(1, 2, block(0, {})), {"copy", "pushed 11 step=2 k=2 cuts=0"}},
      {"when they are copied", shard.copy(), {"save 2 w=-3 keys=5,7;0,1,2"}},
      {"rows of the step before", shard.pull(10, 1, {{{5, 7}, {}}}), {"values 10 step=1 w=-3 rows=5,2 k=2 cuts=0"}},
      {"rows of the present step", shard.pull(10, 2, {{{5, 7}, {}}}), {"values 10 step=2 w=-3 rows=5,1 k=2 cuts=0"}},
      {"older values are gone", shard.pull(10, 0, {{{5, 7}, {}}}), {"gone 10 step=0 k=2 cuts=0"}},
  });
}

TEST_CASE("SyncShardCore: a shard that went to a cut has its rows, and no values of the step before", "[ps]") {
  const distrib::Job job = story::with_tables(story::job(1, 1, 9, 2));
  SyncShard shard{SyncShardCore{job, 0, sgd()}};
  ShardActions out;
  shard.join(10)(out);
  shard.push(0, 1, block(1, {{5, 1}}))(out);
  shard.push(0, 2, block(1, {{7, 1}}))(out);
  shard.copy()(out);
  const Cut cut = std::get<distrib::SaveCut>(out.back()).cut;
  shard.saved(2)(out);
  shard.push(0, 3, block(1, {{5, 1}, {9, 1}}))(out);
  shard.push(0, 4, block(1, {{5, 1}}))(out);
  const ShardStory back{
      {"back", shard.restore(10, 2), {"load 2"}},
      {"parked with its rows", shard.pull(10, 2, {{{5, 7, 9}, {}}}), {}},
      {"loaded",
       [&](ShardActions& to) { shard.core.cut_loaded(cut, to); },
       {"joined 10 k=2 cuts=0,2", "values 10 step=2 w=-2 rows=7,7,8 k=2 cuts=0,2"}},
      {"the step before is not known", shard.pull(10, 1, {{{5}, {}}}), {"gone 10 step=1 k=2 cuts=0,2"}},
      {"3", shard.push(0, 3, block(1, {{5, 1}})), {"pushed 10 step=3 k=3 cuts=0,2"}},
      {"now the step before is known",
       shard.pull(10, 2, {{{5, 7, 9}, {}}}),
       {"values 10 step=2 w=-2 rows=7,7,8 k=3 cuts=0,2"}},
  };
  tell(back);
  SyncShard other{SyncShardCore{job, 0, sgd(), cut, story::cuts_at({0, 2}, job)}};
  tell(ShardStory{{"a shard that comes back",
                   other.pull(10, 2, {{{5, 7, 9}, {}}}),
                   {"values 10 step=2 w=-2 rows=7,7,8 k=2 cuts=0,2"}}});
}

TEST_CASE("SyncShardCore: keys go after the update of a step, when that is durable, and again after a Restore",
          "[ps]") {
  distrib::Job job = story::with_tables(story::job(1, 1, 9, 2));
  job.erases_keys = true;
  SyncShard shard{SyncShardCore{job, 0, sgd()}};
  distrib::EraseLogCore& log = *shard.core.erase_log();
  log.open(std::nullopt, 4);
  const auto written = [&](ShardActions& out) { shard.core.ranks_written(out); };
  const auto asks = [&](std::vector<std::uint64_t> keys) {
    log.ask(1, "words", std::move(keys));
    REQUIRE(log.next_write(shard.core.step()));
  };
  ShardActions out;
  shard.join(10)(out);
  tell(ShardStory{{"X1: nothing may be told", shard.pull(10, 0), {}}});
  REQUIRE(log.next_write(0));
  tell(ShardStory{{"now it may", written, {"values 10 step=0 w=0 k=0 cuts=0"}},
                  {"1", shard.push(0, 1, block(1, {{5, 1}, {7, 1}})), {"pushed 10 step=1 k=1 cuts=0"}}});
  asks({5, 9});
  tell(ShardStory{
      {"X3: the step waits for the file", shard.push(0, 2, block(1, {{5, 1}})), {"pushed 10 step=2 k=1 cuts=0"}},
      {"parked", shard.pull(10, 2, {{{5, 7}, {}}}), {}},
      {"durable: 5 goes after the update", written, {"copy", "values 10 step=2 w=-2 rows=8,7 k=2 cuts=0"}},
      {"the cut has it no more", shard.copy(), {"save 2 w=-2 keys=7;0,1,2"}},
      {"rows of the step before", shard.pull(10, 1, {{{5, 7}, {}}}), {"values 10 step=1 w=-1 rows=7,7 k=2 cuts=0"}},
      {"it is trained again, and begins anew", shard.push(0, 3, block(1, {{5, 2}})), {"pushed 10 step=3 k=3 cuts=0"}},
      {"", shard.pull(10, 3, {{{5}, {}}}), {"values 10 step=3 w=-3 rows=6 k=3 cuts=0"}},
      {"back to the beginning", shard.restore(10, 0), {"load 0"}},
  });
  ShardActions ignored;
  shard.core.cut_loaded(Cut{0, block(0), {}, {}, {}, {}}, ignored);
  tell(ShardStory{
      {"1 again", shard.push(0, 1, block(1, {{5, 1}, {7, 1}})), {"pushed 10 step=1 k=1 cuts=0"}},
      {"it is there", shard.pull(10, 1, {{{5, 7}, {}}}), {"values 10 step=1 w=-1 rows=7,7 k=1 cuts=0"}},
      {"2 again", shard.push(0, 2, block(1, {{5, 1}})), {"copy", "pushed 10 step=2 k=2 cuts=0"}},
      {"it goes again", shard.pull(10, 2, {{{5, 7}, {}}}), {"values 10 step=2 w=-2 rows=8,7 k=2 cuts=0"}},
  });
  asks({7});
  CHECK(log.may_complete(3));  // 3 has been told: 7 goes after 4
  CHECK_FALSE(log.may_complete(4));
}

TEST_CASE("SyncShardCore: a cut is copied in pieces, and holds its step whatever arrives meanwhile", "[ps]") {
  const distrib::Job job = story::with_tables(story::job(1, 1, 9, 2));
  SyncShard shard{SyncShardCore{job, 0, sgd()}};
  const auto rows = [&shard] { return shard.core.store().values({{{5, 7, 9}, {0}}, false}); };
  tell(ShardStory{
      {"1", shard.push(0, 1, block(1, {{5, 1}, {7, 1}})), {"pushed 10 step=1 k=1 cuts=0"}},
      {"2", shard.push(0, 2, block(1, {{5, 1}})), {"copy", "pushed 10 step=2 k=2 cuts=0"}},
      {"a piece", shard.copy(1), {"copy"}},
      {"asked for already", shard.save(), {}},
      {"3 changes rows that are still to be copied",
       shard.push(0, 3, block(1, {{5, 1}, {7, 1}, {9, 1}}, {{0, 1}})),
       {"pushed 10 step=3 k=3 cuts=0"}},
      {"all pieces", shard.copy(), {"save 2 w=-2 keys=5,7;0,1,2"}},
      {"nothing is left to copy", shard.copy(), {}},
      {"4, while 2 is written", shard.push(0, 4, block(1, {{9, 1}})), {"copy", "pushed 10 step=4 k=4 cuts=0"}},
      {"the next cut is due: this one is copied at once",
       shard.push(0, 5, block(1, {})),
       {"pushed 10 step=5 k=5 cuts=0"}},
      {"6 is due", shard.push(0, 6, block(1, {{11, 1}})), {"pushed 10 step=6 k=6 cuts=0"}},
      {"2 is durable; 4 waited for it", shard.saved(2), {"save 4 w=-4 keys=5,7,9;0,1,2"}},
      {"6 is copied", shard.copy(), {}},
      {"4 is durable", shard.saved(4), {"save 6 w=-6 keys=5,7,9,11;0,1,2"}},
  });
  CHECK(story::text(rows()) == " w=-6 rows=5,6,6,7");
}

TEST_CASE("SyncShardCore: a cut holds the rows of its step bit for bit, in pieces of any size", "[ps]") {
  const distrib::Job job = story::with_tables(story::job(1, 1, 9, 2));
  for (const std::size_t most_bytes : {1U, 100U, 1000U}) {
    SyncShard shard{SyncShardCore{job, 0, sgd()}};
    ShardActions out;
    shard.push(0, 1, block(1, {{5, 1}, {7, 1}}))(out);
    shard.push(0, 2, block(1, {{5, 1}}))(out);
    for (Step step = 3; !std::holds_alternative<distrib::SaveCut>(out.back()); ++step) {
      if (step == 3) shard.push(0, step, block(1, {{5, 1}, {7, 1}, {9, 1}}, {{0, 1}}))(out);
      shard.copy(most_bytes)(out);
      REQUIRE(step < 99);
    }
    SyncShard back{
        SyncShardCore{job, 0, sgd(), std::get<distrib::SaveCut>(out.back()).cut, story::cuts_at({0, 2}, job)}};
    tell(ShardStory{
        {"its rows", back.pull(10, 2, {{{5, 7, 9}, {0, 1}}}), {"values 10 step=2 w=-2 rows=6,7,8,8,8 k=2 cuts=0,2"}}});
  }
}

TEST_CASE("SyncShardCore: a restore drops the cut that is being copied", "[ps]") {
  const distrib::Job job = story::with_tables(story::job(1, 1, 9, 2));
  SyncShard shard{SyncShardCore{job, 0, sgd()}};
  ShardActions out;
  shard.push(0, 1, block(1, {{5, 1}}))(out);
  shard.push(0, 2, block(1, {{5, 1}}))(out);
  shard.copy()(out);
  const Cut cut = std::get<distrib::SaveCut>(out.back()).cut;
  shard.saved(2)(out);
  for (const Step step : {3U, 4U, 5U}) shard.push(0, step, block(1, {{7, 1}}))(out);
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=5 cuts=0,2"}},
      {"back", shard.restore(10, 2), {"load 2"}},
      {"nothing to copy", shard.copy(), {}},
      {"loaded", [&](ShardActions& to) { shard.core.cut_loaded(cut, to); }, {"joined 10 k=2 cuts=0,2"}},
      {"3", shard.push(0, 3, block(1, {{9, 1}})), {"pushed 10 step=3 k=3 cuts=0,2"}},
      {"4, made again", shard.push(0, 4, block(1, {{9, 1}})), {"copy", "pushed 10 step=4 k=4 cuts=0,2"}},
      {"is copied", shard.copy(), {"save 4 w=-4 keys=5,9;0,1,2"}},
  });
}

TEST_CASE("SyncShardCore: keys that no table has are refused, and change nothing", "[ps]") {
  SyncShard shard{SyncShardCore{story::with_tables(story::job(1, 2, 9, 2)), 0, sgd()}};
  auto unsorted = std::make_shared<distrib::AlignedBuffer>(block(1, {{5, 1}, {7, 1}})->size());
  std::ranges::copy(block(1, {{5, 1}, {7, 1}})->bytes(), unsorted->data());
  unsorted->data()[64 + 8 + 2] = std::byte{0};  // the second key becomes 5 too
  tell(ShardStory{
      {"join", shard.join(11), {"joined 11 k=0 cuts=0"}},
      {"the keys of one table are missing",
       shard.pull(11, 0, {{{5}}}),
       {std::string{"refused 11 step=0 rank=1"} + no_such_row}},
      {"no such item", shard.pull(11, 0, {{{5}, {3}}}), {std::string{"refused 11 step=0 rank=1"} + no_such_row}},
      {"no such item, of a later step",
       shard.pull(11, 5, {{{5}, {3}}}),
       {std::string{"refused 11 step=5 rank=1"} + no_such_row}},
      {"no such item",
       shard.push(1, 1, block(1, {{5, 1}}, {{3, 1}})),
       {std::string{"refused 11 step=1 rank=1"} + no_such_row}},
      {"the same key twice",
       shard.push(1, 1, unsorted),
       {"refused 11 step=1 rank=1: the keys of a pull, a gradient or a cut must ascend, and each key may occur once"}},
      {"no keys",
       shard.push(1, 1, block(1)),
       {"refused 11 step=1 rank=1: the size does not match the job's variables and tables: run the same model on every "
        "worker"}},
      {"none of these was stored", shard.push(1, 1, block(1, {{5, 1}})), {"pushed 11 step=1 k=0 cuts=0"}},
      {"the first good one counts", shard.push(0, 1, block(1, {})), {"pushed 10 step=1 k=1 cuts=0"}},
      {"nothing else changed",
       shard.pull(11, 1, {{{5, 7}, {0, 1, 2}}}),
       {"values 11 step=1 w=-1 rows=7,8,8,8,8 k=1 cuts=0"}},
  });
}

TEST_CASE(
    "SyncShardCore: a contribution with NaN or infinity is refused if the job checks numerics, and changes nothing",
    "[ps]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  distrib::Job job = story::with_tables(story::job(1, 2, 9, 2));
  job.check_numerics = true;
  SyncShard shard{SyncShardCore{job, 0, sgd()}};
  const std::string refused =
      "refused 10 step=1 rank=0: a gradient is not finite: NaN or infinity; look for a logarithm, a root, a division, "
      "or too high a learning rate";
  const std::string initial = " step=0 w=0 rows=8,8 k=0 cuts=0";
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"join", shard.join(11), {"joined 11 k=0 cuts=0"}},
      {"dense", shard.push(0, 1, block(nan, {{5, 1}})), {refused + " (v0)"}},
      {"dense", shard.push(0, 1, block(infinity, {{5, 1}})), {refused + " (v0)"}},
      {"a row of any key", shard.push(0, 1, block(1, {{5, 1}, {7, -infinity}})), {refused + " (words)"}},
      {"a numbered row", shard.push(0, 1, block(1, {{5, 1}}, {{2, nan}})), {refused + " (items)"}},
      {"a contribution ahead",
       shard.push(0, 2, block(nan, {})),
       {"refused 10 step=2 rank=0: a gradient is not finite: NaN or infinity; look for a logarithm, a root, a "
        "division, or too high a learning rate (v0)"}},
      {"of the other rank", shard.push(1, 1, block(3, {{5, 3}})), {"pushed 11 step=1 k=0 cuts=0"}},
      {"nothing was counted", shard.pull(10, 0, {{{5}, {2}}}), {"values 10" + initial}},
      {"the first good one counts", shard.push(0, 1, block(1, {{5, 1}})), {"pushed 10 step=1 k=1 cuts=0"}},
      {"and nothing else", shard.pull(10, 1, {{{5, 7}, {2}}}), {"values 10 step=1 w=-2 rows=6,8,8 k=1 cuts=0"}},
      {"a repeat is checked too", shard.push(0, 1, block(nan, {})), {refused + " (v0)"}},
  });
}

TEST_CASE(
    "SyncShardCore: without memory for new rows the step is refused, and can be completed by a shard that has memory",
    "[ps]") {
  const distrib::Job job = story::with_tables(story::job(1, 2, 9, 1));
  // Enough memory for the items and an index of keys, but for no row of words.
  SyncShard shard{SyncShardCore{job, 0, sgd(), std::uint64_t{64} << 10}};
  const std::string refused = "refused 11 step=2 rank=1";
  const auto first = block(1, {}, {{0, 1}});
  ShardActions actions;
  shard.push(0, 1, first)(actions);
  shard.push(1, 1, first)(actions);
  shard.copy()(actions);
  const Cut cut = std::get<distrib::SaveCut>(actions.back()).cut;
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=1 cuts=0"}},
      {"parked", shard.pull(10, 2, {{{5}, {0}}}), {}},
      {"stored", shard.push(0, 2, block(1, {{5, 1}}, {{0, 1}})), {"pushed 10 step=2 k=1 cuts=0"}},
      {"no memory", shard.push(1, 2, block(1, {}, {{0, 1}})), {refused + budget_exceeded}},
      {"nothing has changed", shard.pull(10, 1, {{{5}, {0}}}), {"values 10 step=1 w=-1 rows=8,7 k=1 cuts=0"}},
      {"nor the step before", shard.pull(10, 0, {{{5}, {0}}}), {"values 10 step=0 w=0 rows=8,8 k=1 cuts=0"}},
      {"again", shard.push(1, 2, block(1, {}, {{0, 1}})), {refused + budget_exceeded}},
  });
  SyncShard larger{SyncShardCore{job, 0, sgd(), cut, story::cuts_at({0, 1}, job)}};
  tell(ShardStory{
      {"parked", larger.pull(10, 2, {{{5}, {0}}}), {}},
      {"stored", larger.push(0, 2, block(1, {{5, 1}}, {{0, 1}})), {"pushed 10 step=2 k=1 cuts=0,1"}},
      {"counted",
       larger.push(1, 2, block(1, {}, {{0, 1}})),
       {"copy", "values 10 step=2 w=-2 rows=7,6 k=2 cuts=0,1", "pushed 11 step=2 k=2 cuts=0,1"}},
  });
}

namespace {

/// A shard of four ranks that completes a step with the contributions of two.
auto with_backups(distrib::Job job = story::job(1, 4, 9, 2)) -> SyncShard {
  job.consistency = distrib::BulkSynchronousParallel{.replicas_to_aggregate = 2};
  return {SyncShardCore{job, 0, sgd()}};
}

}  // namespace

TEST_CASE(
    "SyncShardCore: with backup workers the first contributions count, later ones are dropped and counted as stale",
    "[ps]") {
  SyncShard shard = with_backups();
  tell(ShardStory{
      {"the first", shard.push(3, 1, 4), {"pushed 13 step=1 k=0 cuts=0"}},
      {"the same rank again does not count twice", shard.push(3, 1, 4), {"pushed 13 step=1 k=0 cuts=0"}},
      {"parked", shard.pull(10, 1), {}},
      {"the second: the mean of both",
       shard.push(1, 1, 2),
       {"values 10 step=1 w=-3 k=1 cuts=0", "pushed 11 step=1 k=1 cuts=0"}},
      {"too late", shard.push(0, 1, 100), {"pushed 10 step=1 k=1 cuts=0"}},
      {"a repeat of the late one", shard.push(0, 1, 100), {"pushed 10 step=1 k=1 cuts=0"}},
      {"a repeat of one that counted", shard.push(3, 1, 4), {"pushed 13 step=1 k=1 cuts=0"}},
  });
  CHECK(shard.core.stale() == 1);
  tell(ShardStory{
      {"the first of a step ahead", shard.push(3, 3, 2), {"pushed 13 step=3 k=1 cuts=0"}},
      {"the second", shard.push(2, 3, 4), {"pushed 12 step=3 k=1 cuts=0"}},
      {"too late for that step too", shard.push(1, 3, 100), {"pushed 11 step=3 k=1 cuts=0"}},
      {"beyond the window: it will be sent again", shard.push(0, 6, 1), {"pushed 10 step=6 k=1 cuts=0"}},
      {"2", shard.push(0, 2, 0), {"pushed 10 step=2 k=1 cuts=0"}},
      {"2, and 3 with it", shard.push(1, 2, 0), {"save 2 w=-3", "pushed 11 step=2 k=3 cuts=0"}},
      {"two steps are kept", shard.pull(10, 2), {"values 10 step=2 w=-3 k=3 cuts=0"}},
      {"the late worker must continue there", shard.pull(10, 1), {"gone 10 step=1 k=3 cuts=0"}},
      {"3", shard.pull(10, 3), {"values 10 step=3 w=-6 k=3 cuts=0"}},
  });
  CHECK(shard.core.stale() == 2);
}

TEST_CASE("SyncShardCore: with backup workers a cut of any history is read", "[ps]") {
  Job job = story::job(1, 4, 9, 2);
  const Lineage synchronous = story::only_lineage(job);  // the job had no backup workers before
  job.consistency = distrib::BulkSynchronousParallel{.replicas_to_aggregate = 2};
  SyncShard shard{
      SyncShardCore{job, 0, sgd(), Cut{4, block(-4), {}, {}, {}, synchronous}, {{2, synchronous}, {4, synchronous}}}};
  ShardActions out;
  shard.core.restore(10, 2, out);
  CHECK(std::get<distrib::LoadCut>(out.at(0)).step == 2);
  out.clear();
  shard.core.cut_loaded(Cut{2, block(-2), {}, {}, {}, synchronous}, out);
  CHECK(out.empty());
  CHECK(shard.core.store().dense()->as<float>()[0] == -2.0F);
}

TEST_CASE("SyncShardCore: with backup workers the contributions that count are reduced in rank order", "[ps]") {
  const std::array<float, 4> numbers{16777216.0F, 1.0F, 1.0F, 1.0F};
  std::array<Rank, 4> order{0, 1, 2, 3};
  do {
    distrib::Job job = story::job(1, 4, 1, 0);
    job.consistency = distrib::BulkSynchronousParallel{.replicas_to_aggregate = 3};
    SyncShard shard{SyncShardCore{job, 0, sgd()}};
    ShardActions ignored;
    for (const Rank rank : order) shard.push(rank, 1, numbers[rank])(ignored);
    const float sum = order[3] == 0 ? 3.0F : 16777216.0F;  // 2^24 + 1 is 2^24
    CHECK(shard.core.store().dense()->as<float>()[0] == -sum / 3.0F);
    CHECK(shard.core.stale() == 1);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("SyncShardCore: with backup workers a name may arrive again with other bytes", "[ps]") {
  SyncShard shard = with_backups();
  tell(ShardStory{
      {"first", shard.push(0, 1, 2, 0, 7), {"pushed 10 step=1 k=0 cuts=0"}},
      {"made again from other values", shard.push(0, 1, 50, 0, 8), {"pushed 10 step=1 k=0 cuts=0"}},
      {"the first one counts", shard.push(1, 1, 4, 0, 9), {"pushed 11 step=1 k=1 cuts=0"}},
      {"values", shard.pull(10, 1), {"values 10 step=1 w=-3 k=1 cuts=0"}},
  });
  CHECK(shard.core.stale() == 0);
}

TEST_CASE("SyncShardCore: with backup workers a shard that comes back does not know which ranks were late before",
          "[ps]") {
  distrib::Job job = story::job(1, 3, 9, 2);
  job.consistency = distrib::BulkSynchronousParallel{.replicas_to_aggregate = 1};
  SyncShard shard{SyncShardCore{job, 0, sgd(), Cut{2, block(-5), {}, {}, {}, story::only_lineage(job)},
                                story::cuts_at({0, 2}, job)}};
  tell(ShardStory{
      {"it may have counted before", shard.push(0, 2, 1), {"pushed 10 step=2 k=2 cuts=0,2"}},
      {"the first one that is sent again counts", shard.push(2, 3, 1), {"pushed 12 step=3 k=3 cuts=0,2"}},
      {"another rank's is late", shard.push(1, 3, 9), {"pushed 11 step=3 k=3 cuts=0,2"}},
      {"values", shard.pull(10, 3), {"values 10 step=3 w=-6 k=3 cuts=0,2"}},
  });
  CHECK(shard.core.stale() == 1);
}

TEST_CASE("SyncShardCore: with backup workers a vacant rank is not waited for, until it joins again (rule 12)",
          "[ps]") {
  distrib::Job job = story::job(1, 4, 1, 0);
  job.consistency = distrib::BulkSynchronousParallel{.replicas_to_aggregate = 2};
  SyncShard shard{SyncShardCore{job, 0, sgd()}};
  tell(ShardStory{
      {"0", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"1", shard.join(11), {"joined 11 k=0 cuts=0"}},
      {"2 never came", shard.vacate(2), {}},
      {"nor did 3", shard.vacate(3), {}},
      {"told again", shard.vacate(3), {}},
      {"the step needs two", shard.push(0, 1, 4), {"pushed 10 step=1 k=0 cuts=0"}},
      {"1", shard.push(1, 1, 2), {"save 1 w=-3", "pushed 11 step=1 k=1 cuts=0"}},
      {"2 comes late", shard.join(12), {"joined 12 k=1 cuts=0"}},
      {"durable", shard.saved(1), {"notice 10 k=1 cuts=0,1", "notice 11 k=1 cuts=0,1", "notice 12 k=1 cuts=0,1"}},
      {"done", shard.goodbye(10), {}},
      {"2 is here", shard.goodbye(11), {}},
      {"it leaves", shard.disconnect(12), {}},
      {"and does not come back", shard.vacate(2), {"done"}},
      {"once", shard.vacate(3), {}},
  });
  SyncShard again{SyncShardCore{job, 0, sgd(), Cut{1, block(-3), {}, {}, {}, {}}, {{1, {}}}}};
  tell(ShardStory{
      {"0", again.join(10), {"joined 10 k=1 cuts=0,1"}},
      {"2 has said goodbye", again.join(12), {"joined 12 k=1 cuts=0,1"}},
      {"", again.goodbye(12), {}},
      {"and counts once", again.vacate(2), {}},
      {"1", again.vacate(1), {}},
      {"0", again.goodbye(10), {}},
      {"all four", again.vacate(3), {"done"}},
  });
}

TEST_CASE("SyncShardCore: a row is divided by the number of counted contributions that have its key", "[ps]") {
  SyncShard shard = with_backups(story::with_tables(story::job(1, 4, 9, 0)));
  tell(ShardStory{
      {"5", shard.push(3, 1, block(0, {{5, 4}})), {"pushed 13 step=1 k=0 cuts=0"}},
      {"5 and 7", shard.push(0, 1, block(0, {{5, 2}, {7, 3}})), {"pushed 10 step=1 k=1 cuts=0"}},
      {"too late", shard.push(1, 1, block(0, {{5, 50}, {9, 50}})), {"pushed 11 step=1 k=1 cuts=0"}},
      {"rows", shard.pull(10, 1, {{{5, 7, 9}, {}}}), {"values 10 step=1 w=0 rows=5,5,8 k=1 cuts=0"}},
  });
}

TEST_CASE("SyncShardCore: another replica is sent the newest cut, or a cut that is made for it", "[ps]") {
  SyncShard shard = one_rank(9, 2);
  const auto state = [&shard](Peer peer, Step have) {
    return [&shard, peer, have](ShardActions& out) { shard.core.state(peer, have, out); };
  };
  tell(ShardStory{
      {"both are at step 0", state(50, 0), {"state 50 none"}},
      {"", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"", shard.push(0, 1, 1), {"pushed 10 step=1 k=1 cuts=0"}},
      {"a cut is made for it", state(50, 0), {"save 1 w=-1"}},
      {"and sent when it is durable", shard.saved(1), {"notice 10 k=1 cuts=0,1", "state 50 1"}},
      {"there is nothing newer", state(51, 1), {"state 51 none"}},
      {"", shard.push(0, 2, 1), {"save 2 w=-2", "pushed 10 step=2 k=2 cuts=0,1"}},
      {"the newest durable cut", state(51, 0), {"state 51 1"}},
      {"waits", state(52, 1), {}},
      {"no disk space: the replica need not wait",
       shard.no_room(),
       {"notice 10 k=2 cuts=0,1 no room", "state 52 none"}},
      {"the cut is tried again for that replica", shard.save_again(), {"save 2 w=-2"}},
      {"", shard.no_room(), {"notice 10 k=2 cuts=0,1 no room"}},
      {"and again", shard.save_again(), {"save 2 w=-2"}},
      {"", shard.saved(2), {"notice 10 k=2 cuts=0,1,2"}},
      {"", shard.push(0, 3, 1), {"pushed 10 step=3 k=3 cuts=0,1,2"}},
      {"", shard.push(0, 4, 1), {"save 4 w=-4", "pushed 10 step=4 k=4 cuts=0,1,2"}},
      {"", shard.no_room(), {"notice 10 k=4 cuts=0,1,2 no room"}},
      {"no replica has asked since", shard.save_again(), {}},
      {"a replica asks", state(53, 2), {"save 4 w=-4"}},
  });
}

TEST_CASE("SyncShardCore: the end of a pause means nothing while no cut is being written", "[ps]") {
  SyncShard shard = one_rank(9, 2);
  ShardActions ignored;
  shard.join(10)(ignored);
  for (const Step step : {1U, 2U}) shard.push(0, step, 1)(ignored);
  shard.no_room()(ignored);
  tell(ShardStory{
      {"a replica asks", [&shard](ShardActions& out) { shard.core.state(50, 0, out); }, {"state 50 none"}},
      {"back", shard.restore(10, 0), {"load 0"}},
      {"the cut that did not fit is given up", shard.save_again(), {}},
      {"", shard.loaded(0, 0), {"joined 10 k=0 cuts=0 no room"}},
      {"", shard.push(0, 1, 1), {"pushed 10 step=1 k=1 cuts=0 no room"}},
      {"no cut is being written", shard.save_again(), {}},
  });
}

TEST_CASE("SyncShardCore: it continues from the state of another replica that is ahead, and saves it", "[ps]") {
  SyncShard shard = came_back(1, 9, 4, 2, -2, {0, 2});
  const auto came = [&shard](Step step, float number) {
    return [&shard, step, number](ShardActions& out) {
      const Cut cut{step, block(number), {}, {}, {}, shard.core.lineage()};
      shard.core.state_came(&cut, out);
    };
  };
  tell(ShardStory{
      {"", shard.join(10), {"joined 10 k=2 cuts=0,2"}},
      {"", shard.pull(10, 5), {}},
      {"stored", shard.push(0, 6, 1), {"pushed 10 step=6 k=2 cuts=0,2"}},
      {"the other replica has nothing newer",
       [&shard](ShardActions& out) { shard.core.state_came(nullptr, out); },
       {"joined 10 k=2 cuts=0,2"}},
      {"the state is ahead",
       came(5, -5),
       {"save 5 w=-5", "joined 10 k=5 cuts=0,2", "values 10 step=5 w=-5 k=5 cuts=0,2"}},
      {"the stored contribution counts now; this state is not ahead", came(4, -4), {"joined 10 k=6 cuts=0,2"}},
      {"", shard.saved(5), {"notice 10 k=6 cuts=0,2,5"}},
  });
  CHECK(shard.core.step() == 6);
}

TEST_CASE("SyncShardCore: it waits for custom initial values, which the first contribution 0 sets", "[ps]") {
  SyncShard shard{SyncShardCore{story::with_initial_values(story::job(1, 2, 4, 2), 8), 0, sgd()}};
  tell(ShardStory{
      {"its progress says that it has no values", shard.join(10), {"joined 10 k=0 cuts=0 no values"}},
      {"and answers no pull", shard.pull(10, 0), {}},
      {"steps are stored meanwhile", shard.push(0, 1, 2), {"pushed 10 step=1 k=0 cuts=0 no values"}},
      {"and not applied", shard.push(1, 1, 4), {"pushed 11 step=1 k=0 cuts=0 no values"}},
      {"there is no cut to make", shard.save(), {}},
      {"a restore to 0 changes nothing", shard.restore(10, 0), {"joined 10 k=0 cuts=0 no values"}},
      {"the values", shard.push(1, 0, 8, 0, 77), {"values 10 step=0 w=8 k=0 cuts=0", "pushed 11 step=0 k=1 cuts=0"}},
      {"the stored contributions have counted", shard.pull(10, 1), {"values 10 step=1 w=5 k=1 cuts=0"}},
      {"a repeat is dropped", shard.push(0, 0, 8, 0, 77), {"pushed 10 step=0 k=1 cuts=0"}},
      {"rule 2",
       shard.push(0, 0, 9, 0, 78),
       {"refused 10 step=0 rank=0: " + make_error_code(distrib::ps_errc::not_repeatable).message(),
        "pushed 10 step=0 k=1 cuts=0"}},
      {"the step before is kept", shard.pull(10, 0), {"values 10 step=0 w=8 k=1 cuts=0"}},
  });
}

TEST_CASE("SyncShardCore: it waits for custom initial values whenever it starts at step 0", "[ps]") {
  const distrib::Job job = story::with_initial_values(story::job(1, 1, 9, 2), 8);
  SyncShard shard{SyncShardCore{job, 0, sgd(), Cut{4, block(-1), {}, {}, {}, story::only_lineage(job)},
                                story::cuts_at({2, 4}, job)}};
  tell(ShardStory{
      {"a cut has its values", shard.join(10), {"joined 10 k=4 cuts=0,2,4"}},
      {"so contribution 0 is a repeat", shard.push(0, 0, 8), {"pushed 10 step=0 k=4 cuts=0,2,4"}},
      {"back to the beginning", shard.restore(10, 0), {"load 0"}},
      {"too early", shard.push(0, 0, 8), {"pushed 10 step=0 k=0 cuts=0,2,4"}},
      {"", shard.pull(10, 0), {}},
      {"the values of the initializers are not the custom ones",
       shard.loaded(0, 0),
       {"joined 10 k=0 cuts=0,2,4 no values"}},
      {"", shard.push(0, 1, 1), {"pushed 10 step=1 k=0 cuts=0,2,4 no values"}},
      {"the values again",
       shard.push(0, 0, 8),
       {"values 10 step=0 w=8 k=0 cuts=0,2,4", "pushed 10 step=0 k=1 cuts=0,2,4"}},
      {"", shard.pull(10, 1), {"values 10 step=1 w=7 k=1 cuts=0,2,4"}},
  });
  SyncShard another{SyncShardCore{job, 0, sgd()}};
  const Cut state{3, block(5), {}, {}};
  tell(ShardStory{
      {"", another.join(10), {"joined 10 k=0 cuts=0 no values"}},
      {"the state of another replica has values",
       [&](ShardActions& out) { another.core.state_came(&state, out); },
       {"save 3 w=5", "joined 10 k=3 cuts=0"}},
      {"", another.pull(10, 3), {"values 10 step=3 w=5 k=3 cuts=0"}},
  });
}

TEST_CASE("SyncShardCore: initial values other than the job's are refused", "[ps]") {
  SyncShard shard{SyncShardCore{story::with_initial_values(story::job(1, 1, 9, 2), 8), 0, sgd()}};
  const auto refused = [](distrib::ps_errc why) {
    return "refused 10 step=0 rank=0: " + make_error_code(why).message();
  };
  tell(ShardStory{
      {"", shard.join(10), {"joined 10 k=0 cuts=0 no values"}},
      {"other numbers", shard.push(0, 0, 9), {refused(distrib::ps_errc::bad_initial_values)}},
      {"another size",
       shard.push(0, 0, std::make_shared<distrib::AlignedBuffer>(128)),
       {refused(distrib::ps_errc::wrong_size)}},
      {"nothing", shard.push(0, 0, distrib::SharedBuffer{}), {refused(distrib::ps_errc::wrong_size)}},
      {"an unknown rank",
       shard.push(1, 0, 8),
       {"refused 11 step=0 rank=1: " + make_error_code(distrib::ps_errc::unknown_rank).message()}},
      {"it still waits", shard.push(0, 0, 8), {"pushed 10 step=0 k=0 cuts=0"}},
  });
}

namespace {

/// A job of one rank that was started again with other settings, and shards of it with cuts of different lineages.
struct OfTwoHistories {
  Job before = story::job(1, 1, 9, 2);
  Job after = [this] {
    Job job = before;
    job.updater = "sgd learning_rate=0.25";
    return job;
  }();
  Lineage old = story::only_lineage(before);
  Lineage changed = old.continued(4, distrib::settings_hash(to_text(after)));
  Lineage anew = story::only_lineage(after);

  auto shard(Step newest, const Lineage& lineage, std::vector<DurableCut> cuts) const -> SyncShard {
    return {SyncShardCore{after, 0, sgd(), Cut{newest, block(-7), {}, {}, {}, lineage}, std::move(cuts)}};
  }
};

auto names_of(const SyncShardCore& core) -> std::vector<distrib::NamedCut> { return core.named_progress().all_cuts; }

/// Pushes a contribution of rank 0 that was made in the present history of the shard.
auto push_of_present(SyncShard& shard, Step step) {
  return [&shard, step](ShardActions& out) {
    Contribution contribution{step, 0, block(1), 0, 0};
    contribution.history = shard.core.progress().history;
    shard.core.push(10, contribution, out);
  };
}

}  // namespace

TEST_CASE("SyncShardCore: a cut of other settings starts a new history", "[ps]") {
  const OfTwoHistories job;
  SyncShard shard = job.shard(4, job.old, {{2, job.old}, {4, job.old}});
  CHECK(shard.core.lineage() == job.changed);
  CHECK(shard.core.progress().history == job.changed.digest());
  CHECK(shard.core.progress().cuts == std::vector<Step>{0, 2, 4});  // it continues from there
  CHECK(names_of(shard.core) ==
        std::vector<distrib::NamedCut>{{0, Lineage{}.digest()}, {2, job.old.digest()}, {4, job.old.digest()}});
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=4 cuts=0,2,4"}},
      {"back to before the change", shard.restore(10, 2), {"load 2"}},
  });
  CHECK(shard.core.lineage() == job.old.continued(2, distrib::settings_hash(to_text(job.after))));
  CHECK(shard.core.progress().cuts == std::vector<Step>{0, 2});  // cut 4 is of another history now
  CHECK(names_of(shard.core).size() == 3);  // but it still exists
}

TEST_CASE("SyncShardCore: a job that continues with another arithmetic starts a new history", "[ps]") {
  Job described = story::job(1, 1, 9, 2);
  described.arithmetic = "torch 1";
  Job newer = described;
  newer.arithmetic = "torch 2";
  const Lineage old = story::only_lineage(described);
  CHECK(old != story::only_lineage(story::job(1, 1, 9, 2)));
  for (const auto& [job, entries] : {std::pair{described, 1U}, std::pair{newer, 2U}}) {
    const SyncShard shard{SyncShardCore{job, 0, sgd(), Cut{4, block(-7), {}, {}, {}, old}, {{4, old}}}};
    CHECK(shard.core.lineage() == old.continued(4, distrib::settings_hash(job)));
    CHECK(shard.core.lineage().entries().size() == entries);
    CHECK(shard.core.progress().cuts == std::vector<Step>{0, 4});
  }
}

TEST_CASE("SyncShardCore: a contribution made from values of another history does not count", "[ps]") {
  const OfTwoHistories job;
  SyncShard shard = job.shard(4, job.old, {{4, job.old}});
  ShardActions out;
  Contribution late{5, 0, block(1), 0, 0};
  late.history = job.anew.digest();
  shard.core.push(10, late, out);
  CHECK(shard.core.step() == 4);
  REQUIRE(out.size() == 1);
  CHECK(std::get<distrib::PushedReply>(out[0]).progress.history == job.changed.digest());
  out.clear();
  late.history = job.changed.digest();
  shard.core.push(10, late, out);
  CHECK(shard.core.step() == 5);
}

TEST_CASE("SyncShardCore: a worker of an older version is refused if settings were changed", "[ps]") {
  const OfTwoHistories job;
  SyncShard changed = job.shard(4, job.old, {{4, job.old}});
  ShardActions out;
  changed.core.push(10, {5, 0, block(1), 0, 0}, out);
  REQUIRE(out.size() == 1);
  CHECK(std::get<distrib::RefusedReply>(out[0]).code == distrib::ps_errc::old_version);
  SyncShard plain = job.shard(4, job.anew, {{4, job.anew}});  // the settings never changed
  out.clear();
  plain.core.push(10, {5, 0, block(1), 0, 0}, out);
  CHECK(plain.core.step() == 5);
  CHECK(names_of(plain.core).empty());  // names of cuts are for workers that know of histories
}

TEST_CASE(
    "SyncShardCore: a Restore with a lineage goes to that cut of another history, and to no other cut of its step",
    "[ps]") {
  const OfTwoHistories job;
  // All shards had gone back to 0, and this one was started again before it had saved cut 4 again.
  SyncShard shard = job.shard(4, job.old, {{2, job.anew}, {4, job.old}});
  CHECK(shard.core.progress().cuts == std::vector<Step>{0, 4});
  ShardActions out;
  shard.core.restore(10, 2, out, job.old.digest());
  REQUIRE(out.size() == 1);
  CHECK(std::holds_alternative<distrib::JoinedReply>(out[0]));  // its cut 2 is not of that lineage
  out.clear();
  shard.core.restore(10, 2, out, job.anew.digest() + 1);
  REQUIRE(out.size() == 1);
  CHECK(std::holds_alternative<distrib::JoinedReply>(out[0]));  // no cut is of that lineage
  out.clear();
  shard.core.restore(10, 2, out, job.anew.digest());
  REQUIRE(out.size() == 1);
  CHECK(std::get<distrib::LoadCut>(out[0]).step == 2);
  CHECK(shard.core.lineage() == job.anew);
  CHECK(shard.core.progress().cuts == std::vector<Step>{0, 2});
  out.clear();
  shard.core.cut_loaded(Cut{2, block(-3), {}, {}, {}, job.anew}, out);
  CHECK(shard.core.step() == 2);
}

TEST_CASE("SyncShardCore: a cut that was overwritten before it was read is refused", "[ps]") {
  const OfTwoHistories job;
  SyncShard shard = job.shard(4, job.old, {{2, job.anew}, {4, job.old}});
  ShardActions out;
  shard.core.restore(10, 2, out, job.anew.digest());
  out.clear();
  shard.core.cut_loaded(Cut{2, block(-3), {}, {}, {}, job.old}, out);
  REQUIRE(out.size() == 1);
  CHECK(std::get<distrib::LoadCut>(out[0]).step == 0);
}

TEST_CASE("SyncShardCore: what was stored for one history counts in no other one", "[ps]") {
  const OfTwoHistories job;
  SyncShard shard = job.shard(4, job.old, {{2, job.old}, {4, job.old}});
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=4 cuts=0,2,4"}},
      {"back to before the change", shard.restore(10, 2), {"load 2"}},
      {"stored", push_of_present(shard, 3), {"pushed 10 step=3 k=2 cuts=0,2"}},
      {"cut 2 is damaged", [&](ShardActions& out) { shard.core.cut_refused(out); }, {"load 0"}},
      {"",
       [&](ShardActions& out) { shard.core.cut_loaded(Cut{0, block(0), {}, {}, {}, {}}, out); },
       {"joined 10 k=0 cuts=0"}},
      {"", push_of_present(shard, 1), {"pushed 10 step=1 k=1 cuts=0"}},
      {"step 3 is not done", push_of_present(shard, 2), {"save 2 w=-2", "pushed 10 step=2 k=2 cuts=0"}},
  });
}

TEST_CASE("SyncShardCore: what was stored before a damaged cut counts no more if the job is not replayable", "[ps]") {
  Job job = story::job(1, 1, 99, 2);
  job.replayable = false;
  const Lineage lineage = story::only_lineage(job);
  SyncShard shard{SyncShardCore{job, 0, sgd(), Cut{4, block(-4), {}, {}, {}, lineage},
                                std::vector<DurableCut>{{2, lineage}, {4, lineage}}}};
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=4 cuts=0,2,4"}},
      {"", shard.restore(10, 2), {"drop 4 unneeded", "load 2"}},
      {"stored", push_of_present(shard, 3), {"pushed 10 step=3 k=2 cuts=0,2"}},
      {"cut 2 is damaged", [&](ShardActions& out) { shard.core.cut_refused(out); }, {"load 0"}},
      {"",
       [&](ShardActions& out) { shard.core.cut_loaded(Cut{0, block(0), {}, {}, {}, {}}, out); },
       {"joined 10 k=0 cuts=0"}},
      {"", push_of_present(shard, 1), {"pushed 10 step=1 k=1 cuts=0"}},
      {"step 3 is not done", push_of_present(shard, 2), {"save 2 w=-2", "pushed 10 step=2 k=2 cuts=0"}},
  });
}

TEST_CASE("SyncShardCore: it saves a step although a cut of that step, of another history, is being written", "[ps]") {
  OfTwoHistories job;
  job.after.cut_interval = 0;
  SyncShard shard = job.shard(2, job.old, {{2, job.old}});
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=2 cuts=0,2"}},
      {"", push_of_present(shard, 3), {"pushed 10 step=3 k=3 cuts=0,2"}},
      {"asks", shard.save(), {"save 3 w=-8"}},
      {"all go back to before the change", shard.restore(10, 0), {"load 0"}},
      {"",
       [&](ShardActions& out) { shard.core.cut_loaded(Cut{0, block(0), {}, {}, {}, {}}, out); },
       {"joined 10 k=0 cuts=0"}},
      {"", push_of_present(shard, 1), {"pushed 10 step=1 k=1 cuts=0"}},
      {"", push_of_present(shard, 2), {"pushed 10 step=2 k=2 cuts=0"}},
      {"", push_of_present(shard, 3), {"pushed 10 step=3 k=3 cuts=0"}},
      {"asks", shard.save(), {}},
      {"the other one is durable", shard.saved(3), {"save 3 w=-3", "notice 10 k=3 cuts=0"}},
      {"", shard.saved(3), {"notice 10 k=3 cuts=0,3"}},
  });
}

TEST_CASE("SyncShardCore: a due cut replaces a cut of another history; such cuts before the common cut are dropped",
          "[ps]") {
  const OfTwoHistories job;
  SyncShard shard = job.shard(2, job.anew, {{2, job.anew}, {3, job.old}, {4, job.old}});
  const auto push = [&](Step step, Step common) {
    return [&shard, &job, step, common](ShardActions& out) {
      Contribution contribution{step, 0, block(1), 0, common};
      contribution.history = job.anew.digest();
      shard.core.push(10, contribution, out);
    };
  };
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=2 cuts=0,2"}},
      {"", push(3, 2), {"pushed 10 step=3 k=3 cuts=0,2"}},
      {"due", push(4, 2), {"save 4 w=-9", "pushed 10 step=4 k=4 cuts=0,2"}},
      {"made again", shard.saved(4), {"notice 10 k=4 cuts=0,2,4"}},
      {"all shards have cut 4", push(5, 4), {"drop 3", "pushed 10 step=5 k=5 cuts=0,2,4"}},
      {"and only once", push(5, 4), {"pushed 10 step=5 k=5 cuts=0,2,4"}},
  });
}

TEST_CASE("SyncShardCore: no cut is dropped while a cut is being read; cuts that are not needed are dropped afterwards",
          "[ps]") {
  SyncShard back = came_back(1, 99, 2, 6, -6, {0, 2, 4, 6});
  tell(ShardStory{
      {"", back.join(10), {"joined 10 k=6 cuts=0,2,4,6"}},
      {"it reads 2", back.restore(10, 2), {"load 2"}},
      {"all shards have 6", back.push(0, 9, 1, 6), {"pushed 10 step=9 k=2 cuts=0,2,4,6"}},
      {"", back.loaded(2, -2), {"joined 10 k=2 cuts=0,2,4,6"}},
      {"now 2 may be dropped", back.push(0, 9, 1, 6), {"drop 2", "pushed 10 step=9 k=2 cuts=0,4,6"}},
  });
  SyncShard forward = came_back(1, 99, 2, 2, -2, {0, 2, 4, 6, 8});
  tell(ShardStory{
      {"", forward.join(10), {"joined 10 k=2 cuts=0,2,4,6,8"}},
      {"it reads 4", forward.restore(10, 4), {"load 4"}},
      {"", forward.push(0, 9, 1, 8), {"pushed 10 step=9 k=4 cuts=0,2,4,6,8"}},
      {"", forward.loaded(4, -4), {"joined 10 k=4 cuts=0,2,4,6,8"}},
      {"", forward.push(0, 9, 1, 8), {"drop 2", "drop 4", "pushed 10 step=9 k=4 cuts=0,6,8"}},
  });
}

TEST_CASE("SyncShardCore: names are compared for as many steps back as the window has (rule 2)", "[ps]") {
  SyncShard shard = one_rank(99, 0);  // the window is 2
  const auto differs = [](Step step) {
    return "refused 10 step=" + std::to_string(step) +
           " rank=0: " + make_error_code(distrib::ps_errc::not_repeatable).message();
  };
  ShardActions ignored;
  for (const Step step : {1U, 2U, 3U}) shard.push(0, step, 1, 0, 7)(ignored);
  tell(ShardStory{
      {"1 with other bytes", shard.push(0, 1, 1, 0, 8), {differs(1), "pushed 10 step=1 k=3 cuts=0"}},
      {"3 with other bytes", shard.push(0, 3, 1, 0, 8), {differs(3), "pushed 10 step=3 k=3 cuts=0"}},
      {"4", shard.push(0, 4, 1, 0, 7), {"pushed 10 step=4 k=4 cuts=0"}},
      {"2 is remembered", shard.push(0, 2, 1, 0, 8), {differs(2), "pushed 10 step=2 k=4 cuts=0"}},
      {"1 is not", shard.push(0, 1, 1, 0, 8), {"pushed 10 step=1 k=4 cuts=0"}},
  });
}

namespace {

using distrib::RankEntry;
using distrib::SharedRankEntry;

/// A job that begins with ranks 0 and 1, and may have ranks 0 to 7.
auto scaled_job(Step total, Step interval, bool in_tree = false) -> Job {
  Job job = story::job(1, 2, total, interval);
  job.most_ranks = 8;
  if (in_tree) job.reduction = distrib::ReductionOrder::tree;
  return job;
}

/// A shard whose horizon is kept two steps ahead; its file is durable when `written` is called.
struct ScaledShard : SyncShard {
  explicit ScaledShard(const Job& job) : SyncShard{SyncShardCore{job, 0, sgd()}} {
    core.rank_log()->open(std::nullopt, 2);
  }

  /// Makes the next file durable. False: there is none to write.
  auto write(ShardActions& out) -> bool {
    if (!core.rank_log()->next_write(core.step())) return false;
    core.ranks_written(out);
    return true;
  }
  auto written() {
    return [this](ShardActions& out) { CHECK(write(out)); };
  }
  auto propose(RankEntry entry) {
    return [=, this](ShardActions& out) {
      core.rank_log()->propose(0, entry);
      CHECK(write(out));
    };
  }
  auto push_of(SharedRankEntry entry, Rank rank, Step step, float number) {
    return [=, this](ShardActions& out) {
      core.push(10 + rank, Contribution{step, rank, block(number), 0, 0, 0, 0, entry}, out);
    };
  }
  auto entry_of(Step step) { return core.rank_log()->log()->entry_of(step); }
};

}  // namespace

TEST_CASE("SyncShardCore: values are told when no entry can change the next step any more (E1)", "[ps]") {
  ScaledShard shard{scaled_job(9, 0)};
  const SharedRankEntry first = shard.entry_of(1);
  tell(ShardStory{
      {"", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"nothing is durable", shard.pull(10, 0), {}},
      {"up to step 3", shard.written(), {"values 10 step=0 w=0 k=0 cuts=0"}},
      {"", shard.push_of(first, 0, 1, 2), {"pushed 10 step=1 k=0 cuts=0"}},
      {"", shard.push_of(first, 1, 1, 2), {"pushed 11 step=1 k=1 cuts=0"}},
      {"", shard.push_of(first, 0, 2, 2), {"pushed 10 step=2 k=1 cuts=0"}},
      {"", shard.push_of(first, 1, 2, 2), {"pushed 11 step=2 k=2 cuts=0"}},
      {"", shard.pull(10, 2), {"values 10 step=2 w=-4 k=2 cuts=0"}},
      {"", shard.push_of(first, 0, 3, 2), {"pushed 10 step=3 k=2 cuts=0"}},
      {"", shard.push_of(first, 1, 3, 2), {"pushed 11 step=3 k=3 cuts=0"}},
      {"step 4 may still change", shard.pull(10, 3), {}},
      {"the step before", shard.pull(10, 2), {"values 10 step=2 w=-4 k=3 cuts=0"}},
      {"up to step 6", shard.written(), {"values 10 step=3 w=-6 k=3 cuts=0"}},
  });
  CHECK(shard.core.progress().ranks == shard.core.rank_log()->log());
}

TEST_CASE("SyncShardCore: a step is complete with the ranks that its contributions state (E4)", "[ps]") {
  const auto in_tree = GENERATE(false, true);
  ScaledShard shard{scaled_job(9, 0, in_tree)};
  const SharedRankEntry first = shard.entry_of(1);
  ShardActions ignored;
  CHECK(shard.write(ignored));  // up to step 3
  // This shard has not heard of it; another one has taken it.
  const auto more = std::make_shared<const RankEntry>(RankEntry{2, 5, {0, 3, 6, 7}});
  tell(ShardStory{
      {"", shard.push_of(first, 0, 1, 2), {"pushed 10 step=1 k=0 cuts=0"}},
      {"", shard.push_of(first, 1, 1, 4), {"pushed 11 step=1 k=1 cuts=0"}},
      {"", shard.push_of(more, 7, 2, 8), {"pushed 17 step=2 k=1 cuts=0"}},
      {"", shard.push_of(more, 0, 2, 8), {"pushed 10 step=2 k=1 cuts=0"}},
      {"again", shard.push_of(more, 0, 2, 8), {"pushed 10 step=2 k=1 cuts=0"}},
      {"", shard.push_of(more, 6, 2, 8), {"pushed 16 step=2 k=1 cuts=0"}},
      {"", shard.push_of(more, 3, 2, 0), {"pushed 13 step=2 k=2 cuts=0"}},
      {"-(2 + 4) / 2 - (8 + 8 + 8) / 4", shard.pull(10, 2), {"values 10 step=2 w=-9 k=2 cuts=0"}},
  });
  CHECK(shard.entry_of(2) == more);  // and from now on it tells it
}

TEST_CASE("SyncShardCore: the learning rate of a step is multiplied as its contributions state", "[ps]") {
  const auto in_tree = GENERATE(false, true);
  ScaledShard shard{scaled_job(9, 0, in_tree)};
  const SharedRankEntry first = shard.entry_of(1);
  ShardActions ignored;
  CHECK(shard.write(ignored));  // up to step 3
  const auto warms_up = std::make_shared<const RankEntry>(RankEntry{2, 5, {0, 3}, {1, 3, 2}});
  const auto lower = std::make_shared<const RankEntry>(RankEntry{5, 6, {0}, {0.25, 0.25, 0}});
  tell(ShardStory{
      {"", shard.push_of(first, 0, 1, 2), {"pushed 10 step=1 k=0 cuts=0"}},
      {"", shard.push_of(first, 1, 1, 2), {"pushed 11 step=1 k=1 cuts=0"}},
      {"", shard.push_of(warms_up, 0, 2, 2), {"pushed 10 step=2 k=1 cuts=0"}},
      {"", shard.push_of(warms_up, 3, 2, 2), {"pushed 13 step=2 k=2 cuts=0"}},
      {"- 2 - 1 * 2", shard.pull(10, 2), {"values 10 step=2 w=-4 k=2 cuts=0"}},
      {"", shard.push_of(warms_up, 0, 3, 2), {"pushed 10 step=3 k=2 cuts=0"}},
      {"", shard.push_of(warms_up, 3, 3, 2), {"pushed 13 step=3 k=3 cuts=0"}},
      {"", shard.written(), {}},
      {"- 2 * 2", shard.pull(10, 3), {"values 10 step=3 w=-8 k=3 cuts=0"}},
      {"of the next step, which this shard learns early",
       shard.push_of(lower, 0, 5, 4),
       {"pushed 10 step=5 k=3 cuts=0"}},
      {"", shard.push_of(warms_up, 0, 4, 2), {"pushed 10 step=4 k=3 cuts=0"}},
      {"", shard.push_of(warms_up, 3, 4, 2), {"pushed 13 step=4 k=5 cuts=0"}},
      {"- 3 * 2 - 0.25 * 4", shard.pull(10, 5), {"values 10 step=5 w=-15 k=5 cuts=0"}},
  });
}

TEST_CASE("SyncShardCore: it refuses contributions that state no ranks, other ranks, or ranks without their own",
          "[ps]") {
  ScaledShard shard{scaled_job(9, 0)};
  ShardActions ignored;
  CHECK(shard.write(ignored));
  const SharedRankEntry first = shard.entry_of(1);
  const auto entry = [](Step from, std::vector<Rank> ranks) {
    return std::make_shared<const RankEntry>(RankEntry{from, 5, std::move(ranks)});
  };
  const std::string unknown = ": the job has no such rank: start as many workers as the job has";
  const std::string differ =
      ": contributions to one step state different ranks: a shard has lost its log of the ranks, or got an old one "
      "back";
  tell(ShardStory{
      {"none", shard.push_of(nullptr, 0, 1, 2), {"refused 10 step=1 rank=0" + unknown}},
      {"not its own", shard.push_of(entry(1, {0, 2}), 1, 1, 2), {"refused 11 step=1 rank=1" + unknown}},
      {"from a later step", shard.push_of(entry(2, {0, 2}), 0, 1, 2), {"refused 10 step=1 rank=0" + unknown}},
      {"beyond the job", shard.push_of(entry(1, {0, 8}), 0, 1, 2), {"refused 10 step=1 rank=0" + unknown}},
      {"", shard.push_of(first, 0, 1, 2), {"pushed 10 step=1 k=0 cuts=0"}},
      {"without rank 0", shard.push_of(entry(1, {1}), 1, 1, 2), {"refused 11 step=1 rank=1" + unknown}},
      {"others", shard.push_of(entry(1, {0, 1, 2}), 1, 1, 2), {"refused 11 step=1 rank=1" + differ}},
      {"", shard.push_of(first, 1, 1, 2), {"pushed 11 step=1 k=1 cuts=0"}},
  });
  CHECK_FALSE(shard.core.takes_sums());
}

TEST_CASE("SyncShardCore: it is done when the ranks of the last step have said goodbye", "[ps]") {
  ScaledShard shard{scaled_job(3, 0)};
  ShardActions ignored;
  shard.core.rank_log()->propose(0, {2, 1, {0, 4}});  // before the first file
  CHECK(shard.write(ignored));
  CHECK(shard.core.rank_log()->take_answers().size() == 1);
  const SharedRankEntry first = shard.entry_of(1);
  const SharedRankEntry last = shard.entry_of(2);
  CHECK(last->ranks == std::vector<Rank>{0, 4});
  tell(ShardStory{
      {"", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"", shard.join(11), {"joined 11 k=0 cuts=0"}},
      {"", shard.join(14), {"joined 14 k=0 cuts=0"}},
      {"", shard.push_of(first, 0, 1, 2), {"pushed 10 step=1 k=0 cuts=0"}},
      {"", shard.push_of(first, 1, 1, 2), {"pushed 11 step=1 k=1 cuts=0"}},
      {"", shard.push_of(last, 0, 2, 1), {"pushed 10 step=2 k=1 cuts=0"}},
      {"", shard.push_of(last, 4, 2, 1), {"pushed 14 step=2 k=2 cuts=0"}},
      {"", shard.push_of(last, 0, 3, 1), {"pushed 10 step=3 k=2 cuts=0"}},
      {"", shard.push_of(last, 4, 3, 1), {"save 3 w=-4", "pushed 14 step=3 k=3 cuts=0"}},
      {"", shard.saved(3), {"notice 10 k=3 cuts=0,3", "notice 11 k=3 cuts=0,3", "notice 14 k=3 cuts=0,3"}},
      {"a rank that has left", shard.goodbye(11), {}},
      {"", shard.goodbye(10), {}},
      {"", shard.goodbye(14), {"done"}},
  });
}

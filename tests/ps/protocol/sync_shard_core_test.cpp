// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/protocol/sync_shard_core.hpp>

#include <distrib/optimizer/momentum.hpp>
#include <distrib/optimizer/sgd.hpp>

#include "ps/core_events.hpp"
#include "support/catch.hpp"

#include <array>
#include <limits>

using distrib::Contribution;
using distrib::Cut;
using distrib::DurableCut;
using distrib::Job;
using distrib::Lineage;
using distrib::Peer;
using distrib::Rank;
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

/// A shard that came back with its newest cut, whose values are `number`, and a list of cuts.
auto came_back(Rank ranks, Step total, Step interval, Step newest, float number, const std::vector<Step>& cuts)
    -> SyncShard {
  const Job job = story::job(1, ranks, total, interval);
  return {SyncShardCore{job, 0, sgd(), Cut{newest, block(number), {}, {}, {}, story::only_lineage(job)},
                        story::cuts_at(cuts, job)}};
}

}  // namespace

TEST_CASE("SyncShardCore: a step is complete when all ranks are there; two steps are kept (rules 1, 4)", "[ps]") {
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
      {"contributions may be ahead", shard.push(1, 3, 8), {"pushed 11 step=3 k=1 cuts=0"}},
      {"contributions may be ahead", shard.push(1, 2, 2), {"pushed 11 step=2 k=1 cuts=0"}},
      {"5: a cut is due at 2", shard.push(0, 2, 0), {"save 2 w=-4", "pushed 10 step=2 k=2 cuts=0"}},
      {"4: older ones are gone", shard.pull(10, 0), {"gone 10 step=0 k=2 cuts=0"}},
      {"4: the step before", shard.pull(10, 1), {"values 10 step=1 w=-3 k=2 cuts=0"}},
      {"5: everybody is told", shard.saved(2), {"notice 10 k=2 cuts=0,2", "notice 11 k=2 cuts=0,2"}},
      {"4: far ahead, parked", shard.pull(11, 4), {}},
      {"1: the one that was ahead counts", shard.push(0, 3, 0), {"pushed 10 step=3 k=3 cuts=0,2"}},
      {"pulled ahead", shard.push(0, 4, 0), {"pushed 10 step=4 k=3 cuts=0,2"}},
      {"5: a cut is due at the end",
       shard.push(1, 4, 2),
       {"save 4 w=-9", "values 11 step=4 w=-9 k=4 cuts=0,2", "pushed 11 step=4 k=4 cuts=0,2"}},
  });
  CHECK(shard.core.step() == 4);
  CHECK(shard.core.store().dense()->as<float>()[1] == -9.0F);
  CHECK(shard.core.progress().cuts == std::vector<Step>{0, 2});
  CHECK(shard.core.store().layout().block_bytes() == 64);
}

TEST_CASE("SyncShardCore: reduced in rank order, whatever the order of arrival (rule 1)", "[ps]") {
  // In floats (2^24 + 1) + 1 is 2^24 and 1 + 1 + 2^24 is 2^24 + 2.
  const std::array<float, 3> numbers{16777216.0F, 1.0F, 1.0F};
  std::array<Rank, 3> order{0, 1, 2};
  do {
    SyncShard shard{SyncShardCore{story::job(1, 3, 1, 0), 0, sgd()}};
    ShardActions ignored;
    for (const Rank rank : order) shard.push(rank, 1, numbers[rank])(ignored);
    CHECK(shard.core.store().dense()->as<float>()[0] == -16777216.0F / 3.0F);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("SyncShardCore: a repeat is dropped, one that differs is reported (rule 2)", "[ps]") {
  SyncShard shard{SyncShardCore{story::job(1, 2, 9, 2), 0, sgd()}};
  const std::string differs =
      ": a contribution arrived twice with different bytes: the model or its input is not repeatable";
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
      {"on to the cut", shard.push(0, 2, 0), {"pushed 10 step=2 k=1 cuts=0"}},
      {"on to the cut", shard.push(1, 2, 0), {"save 2 w=-2", "pushed 11 step=2 k=2 cuts=0"}},
      {"until the cut is durable",
       shard.push(1, 1, 2, 0, 3),
       {"refused 11 step=1 rank=1" + differs, "pushed 11 step=1 k=2 cuts=0"}},
      {"durable", shard.saved(2), {}},
      {"no longer remembered", shard.push(1, 1, 2, 0, 3), {"pushed 11 step=1 k=2 cuts=0,2"}},
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

TEST_CASE("SyncShardCore: what nobody may send is refused", "[ps]") {
  SyncShard shard{SyncShardCore{story::job(1, 2, 4, 2), 0, sgd()}};
  const auto push = [&](Contribution contribution) {
    return [&, contribution](ShardActions& out) { shard.core.push(10, contribution, out); };
  };
  const std::string size =
      ": the size does not match the job's variables and tables: run the same model on every worker";
  tell(ShardStory{
      {"rank", shard.join(12), {"refused 12 step=0 rank=2: the job has no such rank"}},
      {"rank", shard.push(2, 1, 1), {"refused 12 step=1 rank=2: the job has no such rank"}},
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
      {"takes the place of 2", shard.push(0, 3, 1), {"pushed 10 step=3 k=3 cuts=0"}},
      {"not the one under way", shard.saved(2), {}},
      {"next", shard.saved(1), {"save 3 w=-3"}},
      {"no next", shard.saved(3), {}},
      {"a cut never mixes steps", shard.push(0, 4, 1), {"save 4 w=-4", "pushed 10 step=4 k=4 cuts=0,1,3"}},
  });
}

TEST_CASE("SyncShardCore: where there is no room for a cut, it goes on and tries the next one, and the last again",
          "[ps]") {
  SyncShard shard = one_rank(4, 1);
  tell(ShardStory{
      {"", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"nothing is under way", shard.save_again(), {}},
      {"due", shard.push(0, 1, 1), {"save 1 w=-1", "pushed 10 step=1 k=1 cuts=0"}},
      {"no room", shard.no_room(), {"notice 10 k=1 cuts=0 no room"}},
      {"none is due", shard.save_again(), {}},
      {"due", shard.push(0, 2, 1), {"save 2 w=-2", "pushed 10 step=2 k=2 cuts=0 no room"}},
      {"due", shard.push(0, 3, 1), {"pushed 10 step=3 k=3 cuts=0 no room"}},
      {"no room", shard.no_room(), {"notice 10 k=3 cuts=0 no room"}},
      {"the newest", shard.save_again(), {"save 3 w=-3"}},
      {"there is", shard.saved(3), {"notice 10 k=3 cuts=0,3"}},
      {"the last one", shard.push(0, 4, 1), {"save 4 w=-4", "pushed 10 step=4 k=4 cuts=0,3"}},
      {"no room", shard.no_room(), {"notice 10 k=4 cuts=0,3 no room"}},
      {"again", shard.save_again(), {"save 4 w=-4"}},
      {"and again", shard.save_again(), {"save 4 w=-4"}},
      {"there is", shard.saved(4), {"notice 10 k=4 cuts=0,3,4"}},
  });
}

TEST_CASE("SyncShardCore: no room for a cut of another history", "[ps]") {
  SyncShard shard = one_rank(9, 2);
  ShardActions ignored;
  shard.join(10)(ignored);
  for (const Step step : {1U, 2U}) shard.push(0, step, 1)(ignored);
  shard.saved(2)(ignored);
  for (const Step step : {3U, 4U}) shard.push(0, step, 1)(ignored);
  tell(ShardStory{
      {"no room", shard.no_room(), {"notice 10 k=4 cuts=0,2 no room"}},
      {"back", shard.restore(10, 2), {"load 2"}},
      {"it is of no use any more", shard.save_again(), {}},
      {"there", shard.loaded(2, -2), {"joined 10 k=2 cuts=0,2 no room"}},
      {"", shard.push(0, 3, 1), {"pushed 10 step=3 k=3 cuts=0,2 no room"}},
      {"due", shard.push(0, 4, 1), {"save 4 w=-4", "pushed 10 step=4 k=4 cuts=0,2 no room"}},
      {"one of this history", shard.saved(4), {"notice 10 k=4 cuts=0,2,4"}},
  });
}

TEST_CASE("SyncShardCore: cuts that the others do not make are let go, but for the newest", "[ps]") {
  SyncShard shard = one_rank(99, 1);
  ShardActions ignored;
  shard.join(10)(ignored);
  for (const Step step : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U}) {
    shard.push(0, step, 1, step < 2 ? 0 : 1)(ignored);
    if (step < 9) shard.saved(step)(ignored);
  }
  tell(ShardStory{
      {"eight after the common one", shard.saved(9), {"notice 10 k=9 cuts=0,1,2,3,4,5,6,7,8,9"}},
      {"due", shard.push(0, 10, 1, 1), {"save 10 w=-10", "pushed 10 step=10 k=10 cuts=0,1,2,3,4,5,6,7,8,9"}},
      {"one more", shard.saved(10), {"drop 2 in vain", "notice 10 k=10 cuts=0,1,3,4,5,6,7,8,9,10"}},
      {"back to the common one", shard.restore(10, 1), {"load 1"}},
      {"", shard.loaded(1, -1), {"joined 10 k=1 cuts=0,1,3,4,5,6,7,8,9,10"}},
      {"due", shard.push(0, 2, 1, 1), {"save 2 w=-2", "pushed 10 step=2 k=2 cuts=0,1,3,4,5,6,7,8,9,10"}},
      {"those ahead are not counted", shard.saved(2), {"notice 10 k=2 cuts=0,1,2,3,4,5,6,7,8,9,10"}},
  });
}

TEST_CASE("SyncShardCore: old cuts are dropped (rule 5)", "[ps]") {
  SyncShard shard = came_back(1, 99, 9, 5, 0, {0, 1, 2, 3, 4, 5});
  tell(ShardStory{
      {"two are not newer than the common one", shard.push(0, 1, 1, 2), {"pushed 10 step=1 k=5 cuts=0,1,2,3,4,5"}},
      {"the two newest of those stay",
       shard.push(0, 1, 1, 4),
       {"drop 1", "drop 2", "pushed 10 step=1 k=5 cuts=0,3,4,5"}},
      {"and all newer ones", shard.push(0, 1, 1, 4), {"pushed 10 step=1 k=5 cuts=0,3,4,5"}},
      {"0 stays for ever", shard.push(0, 1, 1, 99), {"drop 3", "pushed 10 step=1 k=5 cuts=0,4,5"}},
  });
}

TEST_CASE("SyncShardCore: a shard that came back goes on from its newest cut (rule 8)", "[ps]") {
  SyncShard shard = came_back(2, 9, 2, 4, -7, {4});
  tell(ShardStory{
      {"0 is in every list", shard.join(10), {"joined 10 k=4 cuts=0,4"}},
      {"the values of the cut", shard.pull(10, 4), {"values 10 step=4 w=-7 k=4 cuts=0,4"}},
      {"the step before is not known", shard.pull(10, 3), {"gone 10 step=3 k=4 cuts=0,4"}},
      {"what follows is sent again", shard.push(1, 5, 2), {"pushed 11 step=5 k=4 cuts=0,4"}},
      {"what follows is sent again", shard.push(0, 5, 2), {"pushed 10 step=5 k=5 cuts=0,4"}},
      {"now it is", shard.pull(10, 4), {"values 10 step=4 w=-7 k=5 cuts=0,4"}},
  });
}

TEST_CASE("SyncShardCore: restore to an older cut (rule 11)", "[ps]") {
  SyncShard shard = came_back(2, 9, 2, 4, -7, {0, 2, 4});
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=4 cuts=0,2,4"}},
      {"join", shard.join(11), {"joined 11 k=4 cuts=0,2,4"}},
      {"stored", shard.push(0, 5, 1, 0, 1), {"pushed 10 step=5 k=4 cuts=0,2,4"}},
      {"parked", shard.pull(10, 5), {}},
      {"a cut it has not", shard.restore(11, 3), {"joined 11 k=4 cuts=0,2,4"}},
      {"where it is already", shard.restore(11, 4), {"joined 11 k=4 cuts=0,2,4"}},
      {"newer cuts stay", shard.restore(11, 2), {"load 2"}},
      {"a repeat", shard.restore(10, 2), {}},
      {"another one, late: it hears when the values are there", shard.restore(10, 0), {}},
      {"a join meanwhile", shard.join(10), {"joined 10 k=2 cuts=0,2,4"}},
      {"what it has not yet is parked", shard.pull(11, 2), {}},
      {"even what is not kept", shard.pull(11, 0), {}},
      {"stored meanwhile", shard.push(1, 3, 4), {"pushed 11 step=3 k=2 cuts=0,2,4"}},
      {"no old cut is dropped meanwhile", shard.push(0, 3, 2, 9), {"pushed 10 step=3 k=2 cuts=0,2,4"}},
      {"all are told, all parked are looked at",
       shard.loaded(2, -5),
       {"joined 10 k=2 cuts=0,2,4", "joined 11 k=2 cuts=0,2,4", "values 11 step=2 w=-5 k=2 cuts=0,2,4",
        "gone 11 step=0 k=2 cuts=0,2,4"}},
      {"a second time is none", shard.loaded(2, 99), {}},
  });
  CHECK(shard.core.step() == 3);  // the contributions that came meanwhile completed it
  CHECK(shard.core.store().dense()->as<float>()[0] == -8.0F);
  tell(ShardStory{
      {"5 was forgotten, its checksum too", shard.push(0, 5, 6, 0, 2), {"pushed 10 step=5 k=3 cuts=0,2,4"}},
      {"4", shard.push(0, 4, 0), {"pushed 10 step=4 k=3 cuts=0,2,4"}},
      {"4, made again", shard.push(1, 4, 0), {"save 4 w=-8", "pushed 11 step=4 k=4 cuts=0,2,4"}},
      {"the parked pull stayed",
       shard.push(1, 5, 0),
       {"values 10 step=5 w=-11 k=5 cuts=0,2,4", "pushed 11 step=5 k=5 cuts=0,2,4"}},
      {"durable again", shard.saved(4), {"notice 10 k=5 cuts=0,2,4", "notice 11 k=5 cuts=0,2,4"}},
  });
}

TEST_CASE("SyncShardCore: who sends it back has not heard of the newest common cut; it and what is saved then stay",
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
      {"on its way then", shard.saved(6), {"notice 10 k=2 cuts=0,2,4,6"}},
      {"there", shard.loaded(2, -2), {"joined 10 k=2 cuts=0,2,4,6"}},
      {"names are compared again", shard.push(0, 4, 1, 0, 1), {"pushed 10 step=4 k=2 cuts=0,2,4,6"}},
      {"other bytes",
       shard.push(0, 4, 1, 0, 2),
       {"refused 10 step=4 rank=0: " + make_error_code(distrib::ps_errc::not_repeatable).message(),
        "pushed 10 step=4 k=2 cuts=0,2,4,6"}},
      {"forward to the newest", shard.restore(10, 6), {"load 6"}},
      {"there", shard.loaded(6, -6), {"joined 10 k=6 cuts=0,2,4,6"}},
  });
}

TEST_CASE("SyncShardCore: a cut that cannot be read is none of its cuts; it goes to the newest (rule 11)", "[ps]") {
  SyncShard shard = came_back(1, 9, 2, 8, -8, {0, 2, 4, 8});
  const auto refused = [&shard](ShardActions& out) { shard.core.cut_refused(out); };
  tell(ShardStory{
      {"", shard.join(10), {"joined 10 k=8 cuts=0,2,4,8"}},
      {"nothing is loaded", refused, {}},
      {"", shard.restore(10, 4), {"load 4"}},
      {"it is not there", refused, {"load 8"}},
      {"", shard.push(0, 9, 1), {"pushed 10 step=9 k=8 cuts=0,2,8"}},
      {"nor is that", refused, {"load 2"}},
      {"nor is that", refused, {"load 0"}},
      {"cut 0 always is", refused, {}},
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

TEST_CASE("SyncShardCore: the last cut stays, for workers may have gone home because of it (rules 11, 12)", "[ps]") {
  SyncShard shard = came_back(1, 4, 2, 4, -4, {0, 2, 4});
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=4 cuts=0,2,4"}},
      {"back, by one who did not know", shard.restore(10, 0), {"load 0"}},
      {"at 0", shard.loaded(0, 0), {"joined 10 k=0 cuts=0,2,4"}},
      {"1", shard.push(0, 1, 1), {"pushed 10 step=1 k=1 cuts=0,2,4"}},
      {"2 is due again", shard.push(0, 2, 1), {"save 2 w=-2", "pushed 10 step=2 k=2 cuts=0,2,4"}},
      {"durable", shard.saved(2), {"notice 10 k=2 cuts=0,2,4"}},
      {"3", shard.push(0, 3, 1), {"pushed 10 step=3 k=3 cuts=0,2,4"}},
      {"4 is there already", shard.push(0, 4, 1), {"pushed 10 step=4 k=4 cuts=0,2,4"}},
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

TEST_CASE("SyncShardCore: a cut under way when it goes back is one of its cuts, and is made again when due", "[ps]") {
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
      {"now it is", shard.saved(2), {"notice 10 k=2 cuts=0,2"}},
  });
}

TEST_CASE("SyncShardCore: a cut when asked", "[ps]") {
  SyncShard shard = one_rank(99, 50);
  tell(ShardStory{
      {"0 is there", shard.save(), {}},
      {"1", shard.push(0, 1, 1), {"pushed 10 step=1 k=1 cuts=0"}},
      {"asked", shard.save(), {"save 1 w=-1"}},
      {"it is being written", shard.save(), {}},
      {"durable", shard.saved(1), {}},
      {"it is there", shard.save(), {}},
  });
}

TEST_CASE("SyncShardCore: the end (rule 12)", "[ps]") {
  SyncShard shard{SyncShardCore{story::job(1, 2, 1, 0), 0, sgd()}};
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"join", shard.join(11), {"joined 11 k=0 cuts=0"}},
      {"1", shard.push(0, 1, 1), {"pushed 10 step=1 k=0 cuts=0"}},
      {"the last cut", shard.push(1, 1, 1), {"save 1 w=-1", "pushed 11 step=1 k=1 cuts=0"}},
      {"not everybody", shard.goodbye(10), {}},
      {"the same one again", shard.goodbye(10), {}},
      {"somebody unknown", shard.goodbye(77), {}},
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

TEST_CASE("SyncShardCore: nothing is owed to a connection that is gone", "[ps]") {
  SyncShard shard = one_rank(9, 1);
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"parked", shard.pull(10, 1), {}},
      {"gone", shard.disconnect(10), {}},
      {"no values, but the one who pushed is answered",
       shard.push(0, 1, 1),
       {"save 1 w=-1", "pushed 10 step=1 k=1 cuts=0"}},
      {"no notice", shard.saved(1), {}},
  });
}

TEST_CASE("SyncShardCore: who is told Gone hears whether another process of his rank goes on (rule 9)", "[ps]") {
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
      {"the newest is of another process", shard.pull(21, 0), {"gone 21 step=0 k=2 cuts=0 doubled"}},
      {"its own", shard.pull(11, 0), {"gone 11 step=0 k=2 cuts=0"}},
      {"there is one process of rank 0", shard.pull(10, 0), {"gone 10 step=0 k=2 cuts=0"}},
      {"whatever was left to it may be lost", shard.disconnect(11), {"joined 21 k=2 cuts=0"}},
      {"nobody goes on", shard.pull(21, 0), {"gone 21 step=0 k=2 cuts=0"}},
      {"back by another connection", again(31, 1), {"joined 31 k=2 cuts=0"}},
      {"it has made nothing yet", shard.pull(21, 0), {"gone 21 step=0 k=2 cuts=0"}},
      {"nobody else is of rank 0", shard.disconnect(10), {}},
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
      {"who made 2 is not known", restored.pull(20, 0), {"gone 20 step=0 k=2 cuts=0,2"}},
      {"3", push(10, 3), {"pushed 10 step=3 k=3 cuts=0,2"}},
      {"now it is", restored.pull(20, 0), {"gone 20 step=0 k=3 cuts=0,2 doubled"}},
      {"11: back", restored.restore(20, 0), {"load 0"}},
      {"11: everybody is told", restored.loaded(0, 0), {"joined 10 k=0 cuts=0,2", "joined 20 k=0 cuts=0,2"}},
      {"a repeat of what was forgotten", push(20, 1), {"pushed 20 step=1 k=1 cuts=0,2"}},
      {"its own", push(20, 2), {"pushed 20 step=2 k=2 cuts=0,2"}},
      {"the other one is told", restored.pull(10, 0), {"gone 10 step=0 k=2 cuts=0,2 doubled"}},
  });
}

TEST_CASE("SyncShardCore: the optimizer's slots belong to the cut", "[ps]") {
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
  CHECK(cut.slots[0]->as<float>()[0] == 1.5F);  // not touched by what followed

  SyncShardCore again{job, 0, momentum, cut, story::cuts_at({0, 2}, job)};
  push(again, 3);
  CHECK(again.store().dense()->as<float>()[0] == -4.25F);
}

namespace {

constexpr auto no_such_row = ": the table has no such row";
constexpr auto budget_exceeded =
    ": a table needs more memory than its budget has: raise the budget, evict rows, or use more servers";

}  // namespace

TEST_CASE("SyncShardCore: rows come with the values of their step: now, parked, and of the step before", "[ps]") {
  SyncShard shard{SyncShardCore{story::with_tables(story::job(1, 2, 9, 2)), 0, sgd()}};
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"join", shard.join(11), {"joined 11 k=0 cuts=0"}},
      {"initial rows", shard.pull(10, 0, {{{5, 7}, {0}}}), {"values 10 step=0 w=0 rows=8,8,8 k=0 cuts=0"}},
      {"parked with its rows", shard.pull(10, 1, {{{7}, {}}}), {}},
      {"parked without", shard.pull(11, 1), {}},
      {"parked with others", shard.pull(11, 1, {{{5, 6, 7}, {0, 2}}}), {}},
      {"one rank", shard.push(0, 1, block(2, {{5, 4}}, {{2, 1}})), {"pushed 10 step=1 k=0 cuts=0"}},
      {"each gets its own, by the mean of those who had the key",
       shard.push(1, 1, block(4, {{5, 2}, {7, 6}})),
       {"values 10 step=1 w=-3 rows=2 k=1 cuts=0", "values 11 step=1 w=-3 k=1 cuts=0",
        "values 11 step=1 w=-3 rows=5,8,2,8,7 k=1 cuts=0", "pushed 11 step=1 k=1 cuts=0"}},
      {"the step before, in which 7 had no row",
       shard.pull(11, 0, {{{5, 7}, {2}}}),
       {"values 11 step=0 w=0 rows=8,8,8 k=1 cuts=0"}},
      {"and without rows", shard.pull(11, 0), {"values 11 step=0 w=0 k=1 cuts=0"}},
      {"a pull makes no row", shard.pull(11, 1, {{{9}, {}}}), {"values 11 step=1 w=-3 rows=8 k=1 cuts=0"}},
      {"2, in which 5 does not come", shard.push(0, 2, block(0, {{7, 1}})), {"pushed 10 step=2 k=1 cuts=0"}},
      {"a cut has the rows", shard.push(1, 2, block(0, {})), {"copy", "pushed 11 step=2 k=2 cuts=0"}},
      {"that are copied", shard.copy(), {"save 2 w=-3 keys=5,7;0,1,2"}},
      {"of the step before", shard.pull(10, 1, {{{5, 7}, {}}}), {"values 10 step=1 w=-3 rows=5,2 k=2 cuts=0"}},
      {"of now", shard.pull(10, 2, {{{5, 7}, {}}}), {"values 10 step=2 w=-3 rows=5,1 k=2 cuts=0"}},
      {"older ones are gone", shard.pull(10, 0, {{{5, 7}, {}}}), {"gone 10 step=0 k=2 cuts=0"}},
  });
}

TEST_CASE("SyncShardCore: a restored shard has the rows of its cut, and none of the step before", "[ps]") {
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
      {"now it is", shard.pull(10, 2, {{{5, 7, 9}, {}}}), {"values 10 step=2 w=-2 rows=7,7,8 k=3 cuts=0,2"}},
  };
  tell(back);
  SyncShard other{SyncShardCore{job, 0, sgd(), cut, story::cuts_at({0, 2}, job)}};
  tell(ShardStory{{"a shard that came back",
                   other.pull(10, 2, {{{5, 7, 9}, {}}}),
                   {"values 10 step=2 w=-2 rows=7,7,8 k=2 cuts=0,2"}}});
}

TEST_CASE("SyncShardCore: a cut is copied in pieces, and holds its step whatever comes meanwhile", "[ps]") {
  const distrib::Job job = story::with_tables(story::job(1, 1, 9, 2));
  SyncShard shard{SyncShardCore{job, 0, sgd()}};
  const auto rows = [&shard] { return shard.core.store().values({{{5, 7, 9}, {0}}, false}); };
  tell(ShardStory{
      {"1", shard.push(0, 1, block(1, {{5, 1}, {7, 1}})), {"pushed 10 step=1 k=1 cuts=0"}},
      {"2", shard.push(0, 2, block(1, {{5, 1}})), {"copy", "pushed 10 step=2 k=2 cuts=0"}},
      {"a piece", shard.copy(1), {"copy"}},
      {"asked for already", shard.save(), {}},
      {"3 changes what is copied",
       shard.push(0, 3, block(1, {{5, 1}, {7, 1}, {9, 1}}, {{0, 1}})),
       {"pushed 10 step=3 k=3 cuts=0"}},
      {"all of it", shard.copy(), {"save 2 w=-2 keys=5,7;0,1,2"}},
      {"nothing is left to copy", shard.copy(), {}},
      {"4, while 2 is written", shard.push(0, 4, block(1, {{9, 1}})), {"copy", "pushed 10 step=4 k=4 cuts=0"}},
      {"another is asked for: this one is copied at once",
       shard.push(0, 5, block(1, {})),
       {"pushed 10 step=5 k=5 cuts=0"}},
      {"6 is due", shard.push(0, 6, block(1, {{11, 1}})), {"pushed 10 step=6 k=6 cuts=0"}},
      {"2 is durable, 4 waited for it", shard.saved(2), {"save 4 w=-4 keys=5,7,9;0,1,2"}},
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
        {"it", back.pull(10, 2, {{{5, 7, 9}, {0, 1}}}), {"values 10 step=2 w=-2 rows=6,7,8,8,8 k=2 cuts=0,2"}}});
  }
}

TEST_CASE("SyncShardCore: a restore ends the cut that is being copied", "[ps]") {
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
      {"nothing to copy any more", shard.copy(), {}},
      {"loaded", [&](ShardActions& to) { shard.core.cut_loaded(cut, to); }, {"joined 10 k=2 cuts=0,2"}},
      {"3", shard.push(0, 3, block(1, {{9, 1}})), {"pushed 10 step=3 k=3 cuts=0,2"}},
      {"4 of this history", shard.push(0, 4, block(1, {{9, 1}})), {"copy", "pushed 10 step=4 k=4 cuts=0,2"}},
      {"is copied", shard.copy(), {"save 4 w=-4 keys=5,9;0,1,2"}},
  });
}

TEST_CASE("SyncShardCore: keys that the tables have not are refused, and change nothing", "[ps]") {
  SyncShard shard{SyncShardCore{story::with_tables(story::job(1, 2, 9, 2)), 0, sgd()}};
  auto unsorted = std::make_shared<distrib::AlignedBuffer>(block(1, {{5, 1}, {7, 1}})->size());
  std::ranges::copy(block(1, {{5, 1}, {7, 1}})->bytes(), unsorted->data());
  unsorted->data()[64 + 8 + 2] = std::byte{0};  // 5, and 0 more
  tell(ShardStory{
      {"join", shard.join(11), {"joined 11 k=0 cuts=0"}},
      {"of the tables too few", shard.pull(11, 0, {{{5}}}), {std::string{"refused 11 step=0 rank=1"} + no_such_row}},
      {"an item too far", shard.pull(11, 0, {{{5}, {3}}}), {std::string{"refused 11 step=0 rank=1"} + no_such_row}},
      {"of a later step", shard.pull(11, 5, {{{5}, {3}}}), {std::string{"refused 11 step=5 rank=1"} + no_such_row}},
      {"an item too far",
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

TEST_CASE("SyncShardCore: what is not finite is refused when the job asks for it, and changes nothing", "[ps]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  distrib::Job job = story::with_tables(story::job(1, 2, 9, 2));
  job.check_numerics = true;
  SyncShard shard{SyncShardCore{job, 0, sgd()}};
  const std::string refused = "refused 10 step=1 rank=0: a gradient is not finite: NaN or infinity";
  const std::string initial = " step=0 w=0 rows=8,8 k=0 cuts=0";
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"join", shard.join(11), {"joined 11 k=0 cuts=0"}},
      {"dense", shard.push(0, 1, block(nan, {{5, 1}})), {refused + " (v0)"}},
      {"dense", shard.push(0, 1, block(infinity, {{5, 1}})), {refused + " (v0)"}},
      {"a row of any key", shard.push(0, 1, block(1, {{5, 1}, {7, -infinity}})), {refused + " (words)"}},
      {"a numbered row", shard.push(0, 1, block(1, {{5, 1}}, {{2, nan}})), {refused + " (items)"}},
      {"ahead",
       shard.push(0, 2, block(nan, {})),
       {"refused 10 step=2 rank=0: a gradient is not finite: NaN or infinity (v0)"}},
      {"the others'", shard.push(1, 1, block(3, {{5, 3}})), {"pushed 11 step=1 k=0 cuts=0"}},
      {"nothing was counted", shard.pull(10, 0, {{{5}, {2}}}), {"values 10" + initial}},
      {"the first good one counts", shard.push(0, 1, block(1, {{5, 1}})), {"pushed 10 step=1 k=1 cuts=0"}},
      {"and nothing else", shard.pull(10, 1, {{{5, 7}, {2}}}), {"values 10 step=1 w=-2 rows=6,8,8 k=1 cuts=0"}},
      {"a finished one again", shard.push(0, 1, block(nan, {})), {refused + " (v0)"}},
  });
}

TEST_CASE("SyncShardCore: no memory for new rows: the step is refused and can be completed where there is", "[ps]") {
  const distrib::Job job = story::with_tables(story::job(1, 2, 9, 1));
  SyncShard shard{
      SyncShardCore{job, 0, sgd(), std::uint64_t{64} << 10}};  // the items, and an index of keys, but no row of words
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
      {"not the step before either", shard.pull(10, 0, {{{5}, {0}}}), {"values 10 step=0 w=0 rows=8,8 k=1 cuts=0"}},
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

TEST_CASE("SyncShardCore: with backup workers the first so many count, later ones are dropped and counted", "[ps]") {
  SyncShard shard = with_backups();
  tell(ShardStory{
      {"one", shard.push(3, 1, 4), {"pushed 13 step=1 k=0 cuts=0"}},
      {"the same rank again is not a second one", shard.push(3, 1, 4), {"pushed 13 step=1 k=0 cuts=0"}},
      {"parked", shard.pull(10, 1), {}},
      {"two: their mean", shard.push(1, 1, 2), {"values 10 step=1 w=-3 k=1 cuts=0", "pushed 11 step=1 k=1 cuts=0"}},
      {"too late", shard.push(0, 1, 100), {"pushed 10 step=1 k=1 cuts=0"}},
      {"the same again", shard.push(0, 1, 100), {"pushed 10 step=1 k=1 cuts=0"}},
      {"one that counted again", shard.push(3, 1, 4), {"pushed 13 step=1 k=1 cuts=0"}},
  });
  CHECK(shard.core.stale() == 1);
  tell(ShardStory{
      {"one of a step ahead", shard.push(3, 3, 2), {"pushed 13 step=3 k=1 cuts=0"}},
      {"and two", shard.push(2, 3, 4), {"pushed 12 step=3 k=1 cuts=0"}},
      {"too late for that one, too", shard.push(1, 3, 100), {"pushed 11 step=3 k=1 cuts=0"}},
      {"beyond the window: it will be sent again", shard.push(0, 6, 1), {"pushed 10 step=6 k=1 cuts=0"}},
      {"2", shard.push(0, 2, 0), {"pushed 10 step=2 k=1 cuts=0"}},
      {"2, and 3 with it", shard.push(1, 2, 0), {"save 2 w=-3", "pushed 11 step=2 k=3 cuts=0"}},
      {"two steps are kept", shard.pull(10, 2), {"values 10 step=2 w=-3 k=3 cuts=0"}},
      {"the late one goes on there", shard.pull(10, 1), {"gone 10 step=1 k=3 cuts=0"}},
      {"3", shard.pull(10, 3), {"values 10 step=3 w=-6 k=3 cuts=0"}},
  });
  CHECK(shard.core.stale() == 2);
}

TEST_CASE("SyncShardCore: those that count are reduced in rank order, whatever the order of arrival", "[ps]") {
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

TEST_CASE("SyncShardCore: with backup workers a name may come with other bytes", "[ps]") {
  SyncShard shard = with_backups();
  tell(ShardStory{
      {"first", shard.push(0, 1, 2, 0, 7), {"pushed 10 step=1 k=0 cuts=0"}},
      {"made again of other values", shard.push(0, 1, 50, 0, 8), {"pushed 10 step=1 k=0 cuts=0"}},
      {"the first one counts", shard.push(1, 1, 4, 0, 9), {"pushed 11 step=1 k=1 cuts=0"}},
      {"values", shard.pull(10, 1), {"values 10 step=1 w=-3 k=1 cuts=0"}},
  });
  CHECK(shard.core.stale() == 0);
}

TEST_CASE("SyncShardCore: a shard with backup workers that came back does not know who was late before", "[ps]") {
  distrib::Job job = story::job(1, 3, 9, 2);
  job.consistency = distrib::BulkSynchronousParallel{.replicas_to_aggregate = 1};
  SyncShard shard{SyncShardCore{job, 0, sgd(), Cut{2, block(-5), {}, {}, {}, story::only_lineage(job)},
                                story::cuts_at({0, 2}, job)}};
  tell(ShardStory{
      {"a counted one, perhaps", shard.push(0, 2, 1), {"pushed 10 step=2 k=2 cuts=0,2"}},
      {"any one that is replayed", shard.push(2, 3, 1), {"pushed 12 step=3 k=3 cuts=0,2"}},
      {"and another's is late", shard.push(1, 3, 9), {"pushed 11 step=3 k=3 cuts=0,2"}},
      {"values", shard.pull(10, 3), {"values 10 step=3 w=-6 k=3 cuts=0,2"}},
  });
  CHECK(shard.core.stale() == 1);
}

TEST_CASE("SyncShardCore: a row is divided by how many of those that count had it", "[ps]") {
  SyncShard shard = with_backups(story::with_tables(story::job(1, 4, 9, 0)));
  tell(ShardStory{
      {"5", shard.push(3, 1, block(0, {{5, 4}})), {"pushed 13 step=1 k=0 cuts=0"}},
      {"5 and 7", shard.push(0, 1, block(0, {{5, 2}, {7, 3}})), {"pushed 10 step=1 k=1 cuts=0"}},
      {"too late", shard.push(1, 1, block(0, {{5, 50}, {9, 50}})), {"pushed 11 step=1 k=1 cuts=0"}},
      {"rows", shard.pull(10, 1, {{{5, 7, 9}, {}}}), {"values 10 step=1 w=0 rows=5,5,8 k=1 cuts=0"}},
  });
}

TEST_CASE("SyncShardCore: another replica is sent the newest cut, or one that is made for it", "[ps]") {
  SyncShard shard = one_rank(9, 2);
  const auto state = [&shard](Peer peer, Step have) {
    return [&shard, peer, have](ShardActions& out) { shard.core.state(peer, have, out); };
  };
  tell(ShardStory{
      {"it is at the beginning, too", state(50, 0), {"state 50 none"}},
      {"", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"", shard.push(0, 1, 1), {"pushed 10 step=1 k=1 cuts=0"}},
      {"one is made for it", state(50, 0), {"save 1 w=-1"}},
      {"and sent when it is durable", shard.saved(1), {"notice 10 k=1 cuts=0,1", "state 50 1"}},
      {"not again", state(51, 1), {"state 51 none"}},
      {"", shard.push(0, 2, 1), {"save 2 w=-2", "pushed 10 step=2 k=2 cuts=0,1"}},
      {"the newest durable one", state(51, 0), {"state 51 1"}},
      {"waits", state(52, 1), {}},
      {"no room: it need not wait", shard.no_room(), {"notice 10 k=2 cuts=0,1 no room", "state 52 none"}},
      {"for that one it is tried again", shard.save_again(), {"save 2 w=-2"}},
      {"", shard.no_room(), {"notice 10 k=2 cuts=0,1 no room"}},
      {"as often as need be", shard.save_again(), {"save 2 w=-2"}},
      {"", shard.saved(2), {"notice 10 k=2 cuts=0,1,2"}},
      {"", shard.push(0, 3, 1), {"pushed 10 step=3 k=3 cuts=0,1,2"}},
      {"", shard.push(0, 4, 1), {"save 4 w=-4", "pushed 10 step=4 k=4 cuts=0,1,2"}},
      {"", shard.no_room(), {"notice 10 k=4 cuts=0,1,2 no room"}},
      {"nobody has asked", shard.save_again(), {}},
      {"now somebody does", state(53, 2), {"save 4 w=-4"}},
  });
}

TEST_CASE("SyncShardCore: goes on from the state of another replica where that is ahead, and saves it", "[ps]") {
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
      {"nothing came",
       [&shard](ShardActions& out) { shard.core.state_came(nullptr, out); },
       {"joined 10 k=2 cuts=0,2"}},
      {"it is ahead", came(5, -5), {"save 5 w=-5", "joined 10 k=5 cuts=0,2", "values 10 step=5 w=-5 k=5 cuts=0,2"}},
      {"what was stored counts; it is not", came(4, -4), {"joined 10 k=6 cuts=0,2"}},
      {"", shard.saved(5), {"notice 10 k=6 cuts=0,2,5"}},
  });
  CHECK(shard.core.step() == 6);
}

TEST_CASE("SyncShardCore: it waits for custom initial values, which the first contribution 0 gives", "[ps]") {
  SyncShard shard{SyncShardCore{story::with_initial_values(story::job(1, 2, 4, 2), 8), 0, sgd()}};
  tell(ShardStory{
      {"it says so", shard.join(10), {"joined 10 k=0 cuts=0 no values"}},
      {"and answers no pull", shard.pull(10, 0), {}},
      {"steps are stored meanwhile", shard.push(0, 1, 2), {"pushed 10 step=1 k=0 cuts=0 no values"}},
      {"and not counted", shard.push(1, 1, 4), {"pushed 11 step=1 k=0 cuts=0 no values"}},
      {"there is no cut to make", shard.save(), {}},
      {"0 is kept, with or without", shard.restore(10, 0), {"joined 10 k=0 cuts=0 no values"}},
      {"the values", shard.push(1, 0, 8, 0, 77), {"values 10 step=0 w=8 k=0 cuts=0", "pushed 11 step=0 k=1 cuts=0"}},
      {"what was stored has counted", shard.pull(10, 1), {"values 10 step=1 w=5 k=1 cuts=0"}},
      {"a repeat is dropped", shard.push(0, 0, 8, 0, 77), {"pushed 10 step=0 k=1 cuts=0"}},
      {"rule 2",
       shard.push(0, 0, 9, 0, 78),
       {"refused 10 step=0 rank=0: " + make_error_code(distrib::ps_errc::not_repeatable).message(),
        "pushed 10 step=0 k=1 cuts=0"}},
      {"the step before is kept", shard.pull(10, 0), {"values 10 step=0 w=8 k=1 cuts=0"}},
  });
}

TEST_CASE("SyncShardCore: whenever it begins at step 0 it waits for custom initial values again", "[ps]") {
  const distrib::Job job = story::with_initial_values(story::job(1, 1, 9, 2), 8);
  SyncShard shard{SyncShardCore{job, 0, sgd(), Cut{4, block(-1), {}, {}, {}, story::only_lineage(job)},
                                story::cuts_at({2, 4}, job)}};
  tell(ShardStory{
      {"a cut has its values", shard.join(10), {"joined 10 k=4 cuts=0,2,4"}},
      {"so contribution 0 is a repeat", shard.push(0, 0, 8), {"pushed 10 step=0 k=4 cuts=0,2,4"}},
      {"back to the beginning", shard.restore(10, 0), {"load 0"}},
      {"too early", shard.push(0, 0, 8), {"pushed 10 step=0 k=0 cuts=0,2,4"}},
      {"", shard.pull(10, 0), {}},
      {"what the initializers give is not it", shard.loaded(0, 0), {"joined 10 k=0 cuts=0,2,4 no values"}},
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

TEST_CASE("SyncShardCore: other initial values than the job's are refused", "[ps]") {
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
      {"a rank that there is not",
       shard.push(1, 0, 8),
       {"refused 11 step=0 rank=1: " + make_error_code(distrib::ps_errc::unknown_rank).message()}},
      {"it waits still", shard.push(0, 0, 8), {"pushed 10 step=0 k=0 cuts=0"}},
  });
}

namespace {

/// A shard of one rank whose cut 4 was made with other settings than it has now, and perhaps further cuts.
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

}  // namespace

TEST_CASE("SyncShardCore: a cut of other settings begins a new history", "[ps]") {
  const OfTwoHistories job;
  SyncShard shard = job.shard(4, job.old, {{2, job.old}, {4, job.old}});
  CHECK(shard.core.lineage() == job.changed);
  CHECK(shard.core.progress().history == job.changed.digest());
  CHECK(shard.core.progress().cuts == std::vector<Step>{0, 2, 4});  // it goes on from there
  CHECK(names_of(shard.core) ==
        std::vector<distrib::NamedCut>{{0, Lineage{}.digest()}, {2, job.old.digest()}, {4, job.old.digest()}});
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=4 cuts=0,2,4"}},
      {"back to before the change", shard.restore(10, 2), {"load 2"}},
  });
  CHECK(shard.core.lineage() == job.old.continued(2, distrib::settings_hash(to_text(job.after))));
  CHECK(shard.core.progress().cuts == std::vector<Step>{0, 2});  // the cut 4 is of another history now
  CHECK(names_of(shard.core).size() == 3);  // but there
}

TEST_CASE("SyncShardCore: what was made from values of another history does not count", "[ps]") {
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

TEST_CASE("SyncShardCore: a worker of an older version is refused where settings were changed", "[ps]") {
  const OfTwoHistories job;
  SyncShard changed = job.shard(4, job.old, {{4, job.old}});
  ShardActions out;
  changed.core.push(10, {5, 0, block(1), 0, 0}, out);
  REQUIRE(out.size() == 1);
  CHECK(std::get<distrib::RefusedReply>(out[0]).code == distrib::ps_errc::old_version);
  SyncShard plain = job.shard(4, job.anew, {{4, job.anew}});  // the same settings all the time
  out.clear();
  plain.core.push(10, {5, 0, block(1), 0, 0}, out);
  CHECK(plain.core.step() == 5);
}

TEST_CASE("SyncShardCore: Restore by its number goes to a cut of another history, to no other cut of that step",
          "[ps]") {
  const OfTwoHistories job;
  // All had gone back to 0, and it was started again before it had saved cut 4 anew.
  SyncShard shard = job.shard(4, job.old, {{2, job.anew}, {4, job.old}});
  CHECK(shard.core.progress().cuts == std::vector<Step>{0, 4});
  ShardActions out;
  shard.core.restore(10, 2, out, job.old.digest());
  REQUIRE(out.size() == 1);
  CHECK(std::holds_alternative<distrib::JoinedReply>(out[0]));  // its cut 2 is not of that lineage
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

TEST_CASE("SyncShardCore: a due cut is saved over one of another history, and those before the common one are dropped",
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
      {"made anew", shard.saved(4), {"notice 10 k=4 cuts=0,2,4"}},
      {"all have it", push(5, 4), {"drop 3", "pushed 10 step=5 k=5 cuts=0,2,4"}},
  });
}

TEST_CASE("SyncShardCore: no cut is dropped while one of them is being read, and all that are due are afterwards",
          "[ps]") {
  SyncShard back = came_back(1, 99, 2, 6, -6, {0, 2, 4, 6});
  tell(ShardStory{
      {"", back.join(10), {"joined 10 k=6 cuts=0,2,4,6"}},
      {"it reads 2", back.restore(10, 2), {"load 2"}},
      {"everybody has 6", back.push(0, 9, 1, 6), {"pushed 10 step=9 k=2 cuts=0,2,4,6"}},
      {"", back.loaded(2, -2), {"joined 10 k=2 cuts=0,2,4,6"}},
      {"now 2 may go", back.push(0, 9, 1, 6), {"drop 2", "pushed 10 step=9 k=2 cuts=0,4,6"}},
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

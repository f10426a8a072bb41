// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/protocol/async_shard_core.hpp>

#include <distrib/optimizer/sgd.hpp>

#include "ps/core_events.hpp"
#include "support/catch.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using distrib::AsyncShardCore;
using distrib::Contribution;
using distrib::Cut;
using distrib::Peer;
using distrib::Rank;
using distrib::Step;
using story::block;
using story::sgd;
using story::ShardStory;
using story::tell;
using support::ShardActions;
using AsyncShard = story::Shard<AsyncShardCore>;

namespace {

/// An asynchronous job on one shard.
auto async_shard_job(Rank ranks, std::uint64_t total, Step interval,
                     distrib::Consistency consistency = distrib::AsynchronousParallel{}) -> distrib::Job {
  return story::with_consistency(story::job(1, ranks, total, interval), consistency);
}

auto shard_of(Rank ranks, std::uint64_t total, Step interval,
              distrib::Consistency consistency = distrib::AsynchronousParallel{}) -> AsyncShard {
  return {AsyncShardCore{async_shard_job(ranks, total, interval, consistency), 0, sgd()}};
}

}  // namespace

TEST_CASE(
    "AsyncShardCore: without disk space for a cut it continues; it tries again when asked, and always for the last cut",
    "[ps]") {
  AsyncShard shard = shard_of(1, 3, 0);
  tell(ShardStory{
      {"", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"nothing is under way", shard.save_again(), {}},
      {"", shard.push(0, 1, 1), {"pushed 10 step=1 k=1 cuts=0"}},
      {"asked", shard.save(), {"save 1 w=-1 applied=1"}},
      {"no room", shard.no_room(), {"notice 10 k=1 cuts=0 no room"}},
      {"no worker has asked", shard.save_again(), {}},
      {"asked", shard.save(), {"save 1 w=-1 applied=1"}},
      {"", shard.push(0, 2, 1), {"pushed 10 step=2 k=2 cuts=0 no room"}},
      {"asked meanwhile", shard.save(), {}},
      {"a cut of the present state", shard.save_again(), {"save 2 w=-2 applied=2"}},
      {"there is disk space", shard.saved(2), {"notice 10 k=2 cuts=2"}},
      {"the last one", shard.push(0, 3, 1), {"save 3 w=-3 applied=3", "pushed 10 step=3 k=3 cuts=2"}},
      {"again", shard.save_again(), {"save 3 w=-3 applied=3"}},
      {"there is disk space", shard.saved(3), {"notice 10 k=3 cuts=3"}},
      {"the last one is durable", shard.save_again(), {}},
  });
}

TEST_CASE("AsyncShardCore: each name counts once, in each rank's order (rule 1)", "[ps]") {
  AsyncShard shard = shard_of(2, 99, 0);
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"join", shard.join(11), {"joined 11 k=0 cuts=0"}},
      {"counted at once", shard.push(0, 1, 1), {"pushed 10 step=1 k=1 cuts=0"}},
      {"a repeat is dropped", shard.push(0, 1, 50), {"pushed 10 step=1 k=1 cuts=0"}},
      {"a gap: answered with the last one counted", shard.push(0, 3, 50), {"joined 10 k=1 cuts=0"}},
      {"the next", shard.push(0, 2, 1), {"pushed 10 step=2 k=2 cuts=0"}},
      {"each rank is counted separately", shard.push(1, 1, 4), {"pushed 11 step=1 k=1 cuts=0"}},
      {"contribution 0 of a job without custom values", shard.push(1, 0, 50), {"pushed 11 step=0 k=1 cuts=0"}},
      {"values as they are", shard.pull(11, 1), {"values 11 step=1 w=-6 k=1 cuts=0"}},
      {"a Join is answered with the rank's own progress", shard.join(10), {"joined 10 k=2 cuts=0"}},
  });
  CHECK(shard.core.step() == 3);
  CHECK(shard.core.store().dense()->as<float>()[1] == -6.0F);
  CHECK(shard.core.progress(0) == distrib::Progress{2, {0}});
  CHECK(shard.core.store().layout().block_bytes() == 64);
}

TEST_CASE("AsyncShardCore: learning rate schedules count the contributions of all ranks", "[ps]") {
  const distrib::JobUpdaters falling{distrib::Sgd{.learning_rate = distrib::Linear{4, 0, 4}}};
  AsyncShardCore core{async_shard_job(2, 4, 0), 0, falling};
  ShardActions out;
  for (const auto& [step, rank] : {std::pair{1, 0U}, std::pair{1, 1U}, std::pair{2, 1U}})
    core.push(10 + rank, Contribution{static_cast<Step>(step), rank, block(1)}, out);
  CHECK(core.store().dense()->as<float>()[0] == -9.0F);  // 4 + 3 + 2
}

TEST_CASE("AsyncShardCore: no rank is further ahead than the staleness (rule 2)", "[ps]") {
  AsyncShard shard = shard_of(3, 99, 0, distrib::StaleSynchronousParallel{.staleness = 1});
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"join", shard.join(11), {"joined 11 k=0 cuts=0"}},
      {"join", shard.join(12), {"joined 12 k=0 cuts=0"}},
      {"0 of 0", shard.pull(10, 0), {"values 10 step=0 w=0 k=0 cuts=0"}},
      {"1", shard.push(0, 1, 1), {"pushed 10 step=1 k=1 cuts=0"}},
      {"1 ahead", shard.pull(10, 1), {"values 10 step=1 w=-1 k=1 cuts=0"}},
      {"2", shard.push(0, 2, 1), {"pushed 10 step=2 k=2 cuts=0"}},
      {"2 ahead: parked", shard.pull(10, 2), {}},
      {"one of the two others", shard.push(1, 1, 1), {"pushed 11 step=1 k=1 cuts=0"}},
      {"both: the slowest decides",
       shard.push(2, 1, 1),
       {"values 10 step=2 w=-4 k=2 cuts=0", "pushed 12 step=1 k=1 cuts=0"}},
  });
  AsyncShard tight = shard_of(2, 99, 0, distrib::StaleSynchronousParallel{.staleness = 0});
  tell(ShardStory{
      {"join", tight.join(10), {"joined 10 k=0 cuts=0"}},
      {"1", tight.push(0, 1, 1), {"pushed 10 step=1 k=1 cuts=0"}},
      {"parked", tight.pull(10, 1), {}},
      {"disconnected", tight.disconnect(10), {}},
      {"its pull is dropped", tight.push(1, 1, 1), {"pushed 11 step=1 k=1 cuts=0"}},
      {"this peer has not joined", tight.pull(10, 1), {}},
  });
  AsyncShard alone = shard_of(1, 99, 0, distrib::StaleSynchronousParallel{.staleness = 0});
  tell(ShardStory{
      {"join", alone.join(10), {"joined 10 k=0 cuts=0"}},
      {"one rank is never ahead", alone.pull(10, 7), {"values 10 step=7 w=0 k=0 cuts=0"}},
  });
}

TEST_CASE("AsyncShardCore: at a barrier all ranks wait for the slowest and continue with the same values", "[ps]") {
  AsyncShard shard = shard_of(2, 5, 0, distrib::AsynchronousParallel{.barrier_every = 2});
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"join", shard.join(11), {"joined 11 k=0 cuts=0"}},
      {"1", shard.push(0, 1, 1), {"pushed 10 step=1 k=1 cuts=0"}},
      {"no barrier", shard.pull(10, 1), {"values 10 step=1 w=-1 k=1 cuts=0"}},
      {"2", shard.push(0, 2, 1), {"pushed 10 step=2 k=2 cuts=0"}},
      {"the barrier", shard.pull(10, 2), {}},
      {"rank 1 is not at the barrier", shard.push(1, 1, 1), {"pushed 11 step=1 k=1 cuts=0"}},
      {"rank 1 is before the barrier", shard.pull(11, 1), {"values 11 step=1 w=-3 k=1 cuts=0"}},
      {"the slowest reaches it",
       shard.push(1, 2, 1),
       {"values 10 step=2 w=-4 k=2 cuts=0", "pushed 11 step=2 k=2 cuts=0"}},
      {"beyond the barrier", shard.pull(11, 2), {"values 11 step=2 w=-4 k=2 cuts=0"}},
      {"3, which rank 1 does not make",
       shard.push(0, 3, 1),
       {"save 5 w=-5 applied=3,2", "pushed 10 step=3 k=3 cuts=0"}},
  });
}

TEST_CASE("AsyncShardCore: cuts by interval and when asked, one at a time (rule 3)", "[ps]") {
  AsyncShard shard = shard_of(2, 99, 2);
  tell(ShardStory{
      {"join", shard.join(11), {"joined 11 k=0 cuts=0"}},
      {"nothing to save: only a notice", shard.save(), {"notice 11 k=0 cuts=0"}},
      {"1", shard.push(0, 1, 1), {"pushed 10 step=1 k=1 cuts=0"}},
      {"2: due", shard.push(1, 1, 1), {"save 2 w=-2 applied=1,1", "pushed 11 step=1 k=1 cuts=0"}},
      {"asked meanwhile", shard.save(), {}},
      {"3", shard.push(1, 2, 1), {"pushed 11 step=2 k=2 cuts=0"}},
      {"not the cut being written", shard.saved(1), {}},
      {"the requested cut follows", shard.saved(2), {"save 3 w=-3 applied=1,2", "notice 11 k=2 cuts=1"}},
      {"durable", shard.saved(3), {"notice 11 k=2 cuts=2"}},
      {"asked again", shard.save(), {"notice 11 k=2 cuts=2"}},
      {"4: due", shard.push(0, 2, 1), {"save 4 w=-4 applied=2,2", "pushed 10 step=2 k=2 cuts=1"}},
      {"asked meanwhile, but no contribution arrives", shard.save(), {}},
      {"so no second cut", shard.saved(4), {"notice 11 k=2 cuts=2"}},
  });
}

TEST_CASE("AsyncShardCore: a worker that asks gets no further cut if the cut being written holds most of what it keeps",
          "[ps]") {
  AsyncShard shard = shard_of(2, 99, 0);
  tell(ShardStory{
      {"", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"", shard.join(11), {"joined 11 k=0 cuts=0"}},
      {"", shard.push(0, 1, 1), {"pushed 10 step=1 k=1 cuts=0"}},
      {"", shard.push(0, 2, 1), {"pushed 10 step=2 k=2 cuts=0"}},
      {"asks", shard.save(10), {"save 2 w=-2 applied=2,0"}},
      {"", shard.push(0, 3, 1), {"pushed 10 step=3 k=3 cuts=0"}},
      {"two of three are in the cut being written", shard.save(10), {}},
      {"so no cut follows it", shard.saved(2), {"notice 10 k=3 cuts=2", "notice 11 k=0 cuts=0"}},
      {"asks again", shard.save(10), {"save 3 w=-3 applied=3,0"}},
      {"of another rank", shard.push(1, 1, 1), {"pushed 11 step=1 k=1 cuts=0"}},
      {"the cut being written has nothing of rank 1", shard.save(11), {}},
      {"so a cut follows it",
       shard.saved(3),
       {"save 4 w=-4 applied=3,1", "notice 10 k=3 cuts=3", "notice 11 k=1 cuts=0"}},
      {"no room", shard.no_room(), {"notice 10 k=3 cuts=3 no room", "notice 11 k=1 cuts=0 no room"}},
      {"", shard.push(1, 2, 1), {"pushed 11 step=2 k=2 cuts=0 no room"}},
      {"no worker has asked", shard.save_again(), {}},
      {"a new cut with both contributions", shard.save(11), {"save 5 w=-5 applied=3,2"}},
      {"", shard.push(1, 3, 1), {"pushed 11 step=3 k=3 cuts=0 no room"}},
      {"the cut being written holds most", shard.save(11), {}},
      {"", shard.saved(5), {"notice 10 k=3 cuts=3", "notice 11 k=3 cuts=2"}},
  });
}

TEST_CASE("AsyncShardCore: a shard that comes back continues from its cut (rule 5)", "[ps]") {
  AsyncShard shard{AsyncShardCore{async_shard_job(2, 99, 0), 0, sgd(), Cut{5, block(-5), {}, {2, 3}}}};
  tell(ShardStory{
      {"the last contribution in the cut", shard.join(10), {"joined 10 k=2 cuts=2"}},
      {"the last contribution in the cut", shard.join(11), {"joined 11 k=3 cuts=3"}},
      {"what follows", shard.push(0, 3, 1), {"pushed 10 step=3 k=3 cuts=2"}},
      {"a repeat", shard.push(1, 3, 50), {"pushed 11 step=3 k=3 cuts=3"}},
      {"continue", shard.pull(10, 3), {"values 10 step=3 w=-6 k=3 cuts=2"}},
  });
}

TEST_CASE("AsyncShardCore: a cut of another number of ranks, in which all shards agree, is divided among the ranks",
          "[ps]") {
  const AsyncShardCore core{async_shard_job(3, 99, 0), 0, sgd(), Cut{8, block(-8), {}, {4, 4}}};
  CHECK(core.step() == 8);
  CHECK(core.progress(0) == distrib::Progress{3, {3}});
  CHECK(core.progress(1) == distrib::Progress{3, {3}});
  CHECK(core.progress(2) == distrib::Progress{2, {2}});
}

TEST_CASE("AsyncShardCore: it is done when all ranks said goodbye and the last cut is durable", "[ps]") {
  AsyncShard shard = shard_of(2, 3, 0);
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"join", shard.join(11), {"joined 11 k=0 cuts=0"}},
      {"1", shard.push(0, 1, 1), {"pushed 10 step=1 k=1 cuts=0"}},
      {"1", shard.push(1, 1, 1), {"pushed 11 step=1 k=1 cuts=0"}},
      {"rank 1 is done", shard.goodbye(11), {}},
      {"the last one: a cut is due", shard.push(0, 2, 1), {"save 3 w=-3 applied=2,1", "pushed 10 step=2 k=2 cuts=0"}},
      {"not durable", shard.goodbye(10), {}},
      {"again", shard.goodbye(10), {}},
      {"done", shard.saved(3), {"notice 10 k=2 cuts=2", "notice 11 k=1 cuts=1", "done"}},
      {"once", shard.goodbye(10), {}},
  });
}

TEST_CASE("AsyncShardCore: the values at the end are sent when all contributions are durable", "[ps]") {
  AsyncShard shard =
      shard_of(2, 3, 2, distrib::StaleSynchronousParallel{.staleness = 0});  // the staleness does not matter
  const auto at_end = [&](Peer peer) { return shard.pull(peer, distrib::end_of_job); };
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"join", shard.join(11), {"joined 11 k=0 cuts=0"}},
      {"not all counted", at_end(11), {}},
      {"1", shard.push(0, 1, 1), {"pushed 10 step=1 k=1 cuts=0"}},
      {"1: due", shard.push(1, 1, 1), {"save 2 w=-2 applied=1,1", "pushed 11 step=1 k=1 cuts=0"}},
      {"durable, but not the last one", shard.saved(2), {"notice 10 k=1 cuts=1", "notice 11 k=1 cuts=1"}},
      {"the last one", shard.push(0, 2, 1), {"save 3 w=-3 applied=2,1", "pushed 10 step=2 k=2 cuts=1"}},
      {"counted, not durable", at_end(10), {}},
      {"the parked pull is tried again", shard.push(0, 2, 1), {"pushed 10 step=2 k=2 cuts=1"}},
      {"durable",
       shard.saved(3),
       {"notice 10 k=2 cuts=2", "notice 11 k=1 cuts=1", "values 11 step=18446744073709551615 w=-3 k=1 cuts=1",
        "values 10 step=18446744073709551615 w=-3 k=2 cuts=2"}},
      {"at once", at_end(11), {"values 11 step=18446744073709551615 w=-3 k=1 cuts=1"}},
  });
  AsyncShard back{AsyncShardCore{async_shard_job(2, 3, 0), 0, sgd(), Cut{3, block(-3), {}, {2, 1}}}};
  tell(ShardStory{
      {"join", back.join(10), {"joined 10 k=2 cuts=2"}},
      {"a shard that comes back with all of them",
       back.pull(10, distrib::end_of_job),
       {"values 10 step=18446744073709551615 w=-3 k=2 cuts=2"}},
  });
  ShardActions out;
  back.pull(10, 2)(out);
  CHECK(std::get<distrib::ValuesReply>(out.back()).counted == 3);  // contributions of all ranks
}

TEST_CASE("AsyncShardCore: contributions of unknown ranks and of wrong sizes are refused", "[ps]") {
  AsyncShard shard = shard_of(2, 9, 0);
  const auto short_one = [&](ShardActions& out) {
    shard.core.push(10, Contribution{1, 0, std::make_shared<distrib::AlignedBuffer>(4)}, out);
  };
  const auto no_block = [&](ShardActions& out) { shard.core.push(10, Contribution{1, 0, nullptr}, out); };
  tell(ShardStory{
      {"rank",
       shard.join(12),
       {"refused 12 step=0 rank=2: the job has no such rank: start as many workers as the job has"}},
      {"rank",
       shard.push(2, 1, 1),
       {"refused 12 step=1 rank=2: the job has no such rank: start as many workers as the job has"}},
      {"size",
       short_one,
       {"refused 10 step=1 rank=0: the size does not match the job's variables and tables: run the same model on every "
        "worker"}},
      {"size",
       no_block,
       {"refused 10 step=1 rank=0: the size does not match the job's variables and tables: run the same model on every "
        "worker"}},
  });
  CHECK(shard.core.step() == 0);
}

TEST_CASE("AsyncShardCore: rows are sent with the values, at once or when the rank is no longer too far ahead",
          "[ps]") {
  AsyncShard shard{AsyncShardCore{
      story::with_tables(async_shard_job(2, 4, 0, distrib::StaleSynchronousParallel{.staleness = 0})), 0, sgd()}};
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"join", shard.join(11), {"joined 11 k=0 cuts=0"}},
      {"initial rows", shard.pull(10, 0, {{{5, 7}, {0}}}), {"values 10 step=0 w=0 rows=8,8,8 k=0 cuts=0"}},
      {"counted", shard.push(0, 1, block(1, {{5, 3}}, {{0, 1}})), {"pushed 10 step=1 k=1 cuts=0"}},
      {"ahead: parked with its rows", shard.pull(10, 1, {{{5, 7}, {}}}), {}},
      {"and parked without rows", shard.pull(10, 1), {}},
      {"rows as they are", shard.pull(11, 0, {{{5}, {0, 1}}}), {"values 11 step=0 w=-1 rows=5,7,8 k=0 cuts=0"}},
      {"a repeat changes nothing", shard.push(0, 1, block(1, {{5, 3}}, {{0, 1}})), {"pushed 10 step=1 k=1 cuts=0"}},
      {"rows as they are then",
       shard.push(1, 1, block(1, {{7, 2}})),
       {"values 10 step=1 w=-2 rows=5,6 k=1 cuts=0", "values 10 step=1 w=-2 k=1 cuts=0",
        "pushed 11 step=1 k=1 cuts=0"}},
      {"a cut has them", shard.save(), {"copy"}},
      {"when they are copied", shard.copy(), {"save 2 w=-2 keys=5,7;0,1,2 applied=1,1"}},
      {"2", shard.push(0, 2, block(1, {{9, 1}})), {"pushed 10 step=2 k=2 cuts=0"}},
      {"2", shard.push(1, 2, block(1, {{9, 1}})), {"pushed 11 step=2 k=2 cuts=0"}},
      {"at the end, with rows", shard.pull(10, distrib::end_of_job, {{{9}, {}}}), {}},
      {"the first cut is durable", shard.saved(2), {"copy", "notice 10 k=2 cuts=1", "notice 11 k=2 cuts=1"}},
      {"the copy of the last cut is complete", shard.copy(), {"save 4 w=-4 keys=5,7,9;0,1,2 applied=2,2"}},
      {"all contributions are durable",
       shard.saved(4),
       {"notice 10 k=2 cuts=2", "notice 11 k=2 cuts=2",
        "values 10 step=" + std::to_string(distrib::end_of_job) + " w=-4 rows=6 k=2 cuts=2"}},
  });
}

TEST_CASE("AsyncShardCore: a shard that comes back has the rows of its cut", "[ps]") {
  const distrib::Job job = story::with_tables(async_shard_job(1, 9, 1));
  AsyncShard shard{AsyncShardCore{job, 0, sgd()}};
  ShardActions out;
  shard.push(0, 1, block(1, {{5, 1}}, {{2, 3}}))(out);
  shard.copy(1)(out);
  shard.push(0, 2, block(1, {{5, 1}, {7, 1}}))(out);
  while (!std::holds_alternative<distrib::SaveCut>(out.back())) shard.copy(1)(out);
  const Cut cut = std::get<distrib::SaveCut>(out.back()).cut;
  AsyncShard back{AsyncShardCore{job, 0, sgd(), cut}};
  tell(ShardStory{
      {"join", back.join(10), {"joined 10 k=1 cuts=1"}},
      {"its rows", back.pull(10, 1, {{{5, 7}, {1, 2}}}), {"values 10 step=1 w=-1 rows=7,8,8,5 k=1 cuts=1"}},
      {"2 again", back.push(0, 2, block(1, {{5, 1}, {7, 1}})), {"copy", "pushed 10 step=2 k=2 cuts=1"}},
      {"counted once", back.pull(10, 2, {{{5, 7}, {}}}), {"values 10 step=2 w=-2 rows=6,7 k=2 cuts=1"}},
  });
}

TEST_CASE("AsyncShardCore: keys that no table has are refused, and change nothing", "[ps]") {
  AsyncShard shard{AsyncShardCore{story::with_tables(async_shard_job(1, 9, 0)), 0, sgd()}};
  const std::string row = ": the table has no such row: look up only keys of the table";
  tell(ShardStory{
      {"join", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"the keys of one table are missing", shard.pull(10, 0, {{{5}}}), {"refused 10 step=0 rank=0" + row}},
      {"no such item", shard.pull(10, 0, {{{5}, {3}}}), {"refused 10 step=0 rank=0" + row}},
      {"no such item", shard.push(0, 1, block(1, {{5, 1}}, {{3, 1}})), {"refused 10 step=1 rank=0" + row}},
      {"no keys",
       shard.push(0, 1, block(1)),
       {"refused 10 step=1 rank=0: the size does not match the job's variables and tables: run the same model on every "
        "worker"}},
      {"nothing has changed", shard.pull(10, 0, {{{5}, {0}}}), {"values 10 step=0 w=0 rows=8,8 k=0 cuts=0"}},
      {"the first good one", shard.push(0, 1, block(1, {{5, 1}})), {"pushed 10 step=1 k=1 cuts=0"}},
  });
}

TEST_CASE(
    "AsyncShardCore: a contribution with NaN or infinity is refused if the job checks numerics, and changes nothing",
    "[ps]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  distrib::Job job = story::with_tables(async_shard_job(2, 9, 2));
  job.check_numerics = true;
  AsyncShard shard{AsyncShardCore{job, 0, sgd()}};
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
      {"nothing was counted", shard.pull(10, 0, {{{5}, {2}}}), {"values 10" + initial}},
      {"the first good one counts", shard.push(0, 1, block(1, {{5, 1}})), {"pushed 10 step=1 k=1 cuts=0"}},
      {"and nothing else", shard.pull(10, 1, {{{5, 7}, {2}}}), {"values 10 step=1 w=-1 rows=7,8,8 k=1 cuts=0"}},
  });
}

TEST_CASE("AsyncShardCore: without memory for a new row the contribution is refused, and counts when there is memory",
          "[ps]") {
  distrib::Job job = story::with_tables(async_shard_job(2, 999, 0));
  job.tables[0].evict_after = 1;
  AsyncShard shard{AsyncShardCore{job, 0, sgd(), std::uint64_t{4} << 20}};  // enough for one slab of words
  std::map<std::uint64_t, float> many;
  for (std::uint64_t key = 0; key < 32768; ++key) many[key] = 1;
  const auto one_more = shard.push(0, 1, block(1, {{99999, 1}}, {{0, 1}}));
  const std::string refused =
      "refused 10 step=1 rank=0: a table needs more memory than its budget has: give it max_rows, raise the "
      "budget, or use more servers";
  ShardActions ignored;
  shard.join(10)(ignored);
  tell(ShardStory{
      {"as many rows as there is memory for", shard.push(1, 1, block(1, many)), {"pushed 11 step=1 k=1 cuts=0"}},
      {"one more", one_more, {refused}},
      {"again", one_more, {refused}},
      {"nothing has changed", shard.pull(10, 0, {{{7, 99999}, {0}}}), {"values 10 step=0 w=-1 rows=7,8,8 k=0 cuts=0"}},
  });
  // after these steps the keys have not been used for long enough, and their rows are evicted
  for (Step step = 2; step <= 64; ++step) shard.push(1, step, block(1, {}))(ignored);
  tell(ShardStory{
      {"the same", one_more, {"pushed 10 step=1 k=1 cuts=0"}},
      {"counted", shard.pull(10, 1, {{{7, 99999}, {0}}}), {"values 10 step=1 w=-65 rows=8,7,7 k=1 cuts=0"}},
  });
}

TEST_CASE("AsyncShardCore: it waits for custom initial values, which the first contribution 0 sets", "[ps]") {
  const distrib::Job job = story::with_initial_values(async_shard_job(2, 9, 0), 8);
  AsyncShard shard{AsyncShardCore{job, 0, sgd()}};
  const auto refused = [](distrib::ps_errc why) {
    return "refused 11 step=0 rank=1: " + make_error_code(why).message();
  };
  tell(ShardStory{
      {"its progress says that it has no values", shard.join(10), {"joined 10 k=0 cuts=0 no values"}},
      {"and answers no pull", shard.pull(10, 0), {}},
      {"a contribution must be sent again", shard.push(0, 1, 1), {"joined 10 k=0 cuts=0 no values"}},
      {"there is nothing to save", shard.save(), {"notice 10 k=0 cuts=0 no values"}},
      {"other values", shard.push(1, 0, 9), {refused(distrib::ps_errc::bad_initial_values)}},
      {"another size",
       shard.push(1, 0, std::make_shared<distrib::AlignedBuffer>(32)),
       {refused(distrib::ps_errc::wrong_size)}},
      {"the values", shard.push(1, 0, 8), {"values 10 step=0 w=8 k=0 cuts=0", "pushed 11 step=0 k=0 cuts=0"}},
      {"", shard.push(0, 1, 1), {"pushed 10 step=1 k=1 cuts=0"}},
      {"a repeat is dropped", shard.push(0, 0, 8), {"pushed 10 step=0 k=1 cuts=0"}},
      {"", shard.pull(10, 1), {"values 10 step=1 w=7 k=1 cuts=0"}},
  });
  AsyncShard came_back{AsyncShardCore{job, 0, sgd(), Cut{3, block(5), {}, {2, 1}}}};
  tell(ShardStory{{"a cut has its values", came_back.join(10), {"joined 10 k=2 cuts=2"}}});
}

TEST_CASE("AsyncShardCore: a cut that holds half of what a worker keeps is not enough for it: a second cut follows",
          "[ps]") {
  AsyncShard shard = shard_of(1, 99, 0);
  tell(ShardStory{
      {"", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"", shard.push(0, 1, 1), {"pushed 10 step=1 k=1 cuts=0"}},
      {"asks", shard.save(10), {"save 1 w=-1 applied=1"}},
      {"as much as the cut holds", shard.push(0, 2, 1), {"pushed 10 step=2 k=2 cuts=0"}},
      {"asks again", shard.save(10), {}},
      {"", shard.saved(1), {"save 2 w=-2 applied=2", "notice 10 k=2 cuts=1"}},
      {"nothing arrived since", shard.save(10), {}},
      {"so that was the last cut", shard.saved(2), {"notice 10 k=2 cuts=2"}},
  });
}

TEST_CASE("AsyncShardCore: without a last step, what a rank has made when it says goodbye is all of it", "[ps]") {
  AsyncShard shard = shard_of(2, distrib::open_end, 0);
  tell(ShardStory{
      {"", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"", shard.join(11), {"joined 11 k=0 cuts=0"}},
      {"", shard.push(0, 1, 1), {"pushed 10 step=1 k=1 cuts=0"}},
      {"no cut is due", shard.push(1, 1, 1), {"pushed 11 step=1 k=1 cuts=0"}},
      {"asked", shard.save(10), {"save 2 w=-2 applied=1,1"}},
      {"durable", shard.saved(2), {"notice 10 k=1 cuts=1", "notice 11 k=1 cuts=1"}},
      {"rank 0 is done", shard.goodbye(10), {}},
      {"rank 1 is not", shard.push(1, 2, 1), {"pushed 11 step=2 k=2 cuts=1"}},
      {"not durable", shard.goodbye(11), {}},
      {"asked", shard.save(11), {"save 3 w=-3 applied=1,2"}},
      {"durable", shard.saved(3), {"notice 10 k=1 cuts=1", "notice 11 k=2 cuts=2", "done"}},
  });
}

namespace {

using distrib::RankEntry;
using distrib::SharedRankEntry;

/// A job that begins with ranks 0 and 1, and may have ranks 0 to 7. `total`: contributions of all ranks together.
auto scaled_async_job(std::uint64_t total, distrib::Consistency consistency = distrib::AsynchronousParallel{})
    -> distrib::Job {
  distrib::Job job = async_shard_job(2, total, 0, consistency);
  job.most_ranks = 8;
  return job;
}

/// A shard whose horizon is kept two steps ahead; its file is durable when `written` is called.
struct ScaledAsyncShard : AsyncShard {
  explicit ScaledAsyncShard(const distrib::Job& job) : AsyncShard{AsyncShardCore{job, 0, sgd()}} {
    core.rank_log()->open(std::nullopt, 2);
  }

  auto write(ShardActions& out) -> bool {
    if (!core.rank_log()->next_write(core.rank_step())) return false;
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
  auto push_of(SharedRankEntry entry, Rank rank, Step step, Step after, float number = 1) {
    return [=, this](ShardActions& out) {
      core.push(10 + rank, Contribution{step, rank, block(number), 0, 0, 0, 0, entry, after}, out);
    };
  }
  auto entry_of(Step step) { return core.rank_log()->log()->entry_of(step); }
};

auto async_entry(Step from, std::vector<Rank> ranks, std::uint64_t number = 5) -> SharedRankEntry {
  return std::make_shared<const RankEntry>(RankEntry{from, number, std::move(ranks)});
}

}  // namespace

TEST_CASE("AsyncShardCore: values are told when no entry can change the next step any more (E1)", "[ps]") {
  ScaledAsyncShard shard{scaled_async_job(99)};
  const SharedRankEntry first = shard.entry_of(1);
  tell(ShardStory{
      {"", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"nothing is durable", shard.pull(10, 0), {}},
      {"up to step 3", shard.written(), {"values 10 step=0 w=0 k=0 cuts=0"}},
      {"", shard.push_of(first, 0, 1, 0), {"pushed 10 step=1 k=1 cuts=0"}},
      {"", shard.pull(10, 1), {"values 10 step=1 w=-1 k=1 cuts=0"}},
      {"", shard.push_of(first, 0, 2, 1), {"pushed 10 step=2 k=2 cuts=0"}},
      {"", shard.push_of(first, 0, 3, 2), {"pushed 10 step=3 k=3 cuts=0"}},
      {"step 4 may still change", shard.pull(10, 3), {}},
      {"up to step 6", shard.written(), {"values 10 step=3 w=-3 k=3 cuts=0"}},
  });
  CHECK(shard.core.progress(0).ranks == shard.core.rank_log()->log());
  CHECK(shard.core.rank_step() == 3);
}

TEST_CASE("AsyncShardCore: a rank counts its own steps only, and a gap is seen whatever the log of the shard is",
          "[ps]") {
  ScaledAsyncShard shard{scaled_async_job(99)};
  const SharedRankEntry first = shard.entry_of(1);
  // This shard has heard of neither: others have taken them.
  const SharedRankEntry without = async_entry(2, {0});
  const SharedRankEntry with = async_entry(5, {0, 1});
  const std::string differ =
      ": contributions to one step state different ranks: a shard has lost its log of the ranks, or got an old one "
      "back";
  tell(ShardStory{
      {"", shard.join(11), {"joined 11 k=0 cuts=0"}},
      {"", shard.push_of(first, 1, 1, 0), {"pushed 11 step=1 k=1 cuts=0"}},
      {"another step was before it", shard.push_of(with, 1, 6, 5), {"notice 11 k=1 cuts=0", "joined 11 k=1 cuts=0"}},
      {"steps 2 to 4 are not its own", shard.push_of(with, 1, 5, 1), {"pushed 11 step=5 k=5 cuts=0"}},
      {"again", shard.push_of(with, 1, 5, 1), {"pushed 11 step=5 k=5 cuts=0"}},
      {"", shard.push_of(with, 1, 6, 5), {"pushed 11 step=6 k=6 cuts=0"}},
      {"another entry", shard.push_of(without, 0, 2, 1), {"notice 11 k=6 cuts=0", "joined 10 k=0 cuts=0"}},
      {"passes over a step that is counted", shard.push_of(with, 1, 7, 5), {"refused 11 step=7 rank=1" + differ}},
  });
  CHECK(shard.core.step() == 3);
  CHECK(shard.entry_of(4) == without);  // and from now on it tells them
  CHECK(shard.entry_of(6) == with);
}

TEST_CASE("AsyncShardCore: it refuses contributions that state no ranks, or ranks without their own", "[ps]") {
  ScaledAsyncShard shard{scaled_async_job(99)};
  const std::string unknown = ": the job has no such rank: start as many workers as the job has";
  tell(ShardStory{
      {"none", shard.push(0, 1, 1), {"refused 10 step=1 rank=0" + unknown}},
      {"not its own", shard.push_of(async_entry(1, {0, 2}), 1, 1, 0), {"refused 11 step=1 rank=1" + unknown}},
      {"of a later step", shard.push_of(async_entry(2, {0, 2}), 0, 1, 0), {"refused 10 step=1 rank=0" + unknown}},
      {"beyond the job", shard.push_of(async_entry(1, {0, 8}), 0, 1, 0), {"refused 10 step=1 rank=0" + unknown}},
      {"no such rank", shard.push_of(shard.entry_of(1), 8, 1, 0), {"refused 18 step=1 rank=8" + unknown}},
      {"no such rank", shard.join(18), {"refused 18 step=0 rank=8" + unknown}},
  });
}

TEST_CASE("AsyncShardCore: a rank that looks on gets values only when a rank has made that step", "[ps]") {
  ScaledAsyncShard shard{scaled_async_job(99)};
  const SharedRankEntry first = shard.entry_of(1);
  ShardActions ignored;
  CHECK(shard.write(ignored));  // up to step 3
  shard.propose({4, 1, {0, 1, 4}})(ignored);
  tell(ShardStory{
      {"", shard.join(14), {"joined 14 k=0 cuts=0"}},
      {"it makes step 4 next", shard.pull(14, 3), {}},
      {"", shard.push_of(first, 0, 1, 0), {"pushed 10 step=1 k=1 cuts=0"}},
      {"", shard.push_of(first, 0, 2, 1), {"pushed 10 step=2 k=2 cuts=0"}},
      {"up to step 5", shard.written(), {}},
      {"", shard.push_of(first, 0, 3, 2), {"values 14 step=3 w=-3 k=0 cuts=0", "pushed 10 step=3 k=3 cuts=0"}},
      {"another entry: all hear of it at once", shard.propose({8, 2, {0}}), {"notice 14 k=0 cuts=0"}},
  });
}

TEST_CASE("AsyncShardCore: nobody waits for ranks that make no further step, or a later one", "[ps]") {
  ScaledAsyncShard shard{scaled_async_job(99, distrib::StaleSynchronousParallel{.staleness = 1})};
  const SharedRankEntry first = shard.entry_of(1);
  const SharedRankEntry next = async_entry(2, {0, 5});
  ShardActions ignored;
  CHECK(shard.write(ignored));  // up to step 3
  tell(ShardStory{
      {"", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"", shard.push_of(first, 0, 1, 0), {"pushed 10 step=1 k=1 cuts=0"}},
      {"", shard.push_of(first, 0, 2, 1), {"pushed 10 step=2 k=2 cuts=0"}},
      {"rank 1 has made none", shard.pull(10, 2), {}},
      {"it has, and makes no other one; rank 5 begins with step 2",
       shard.push_of(next, 0, 3, 2),
       {"notice 10 k=2 cuts=0", "pushed 10 step=3 k=3 cuts=0"}},
      {"", shard.push_of(first, 1, 1, 0), {"values 10 step=2 w=-4 k=3 cuts=0", "pushed 11 step=1 k=1 cuts=0"}},
      {"up to step 6", shard.written(), {}},
      {"rank 5 is two behind", shard.pull(10, 3), {}},
      {"", shard.push_of(next, 5, 2, 0), {"values 10 step=3 w=-5 k=3 cuts=0", "pushed 15 step=2 k=2 cuts=0"}},
  });
}

TEST_CASE("AsyncShardCore: the job has its number of contributions, whatever the log is; then the last cut is due",
          "[ps]") {
  ScaledAsyncShard shard{scaled_async_job(4)};
  const SharedRankEntry first = shard.entry_of(1);
  const SharedRankEntry last = async_entry(2, {0, 6, 7});  // the last step has two of three
  const std::string over = std::to_string(distrib::end_of_job);
  tell(ShardStory{
      {"", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"", shard.pull(10, distrib::end_of_job), {}},
      {"", shard.push_of(first, 0, 1, 0), {"pushed 10 step=1 k=1 cuts=0"}},
      {"", shard.push_of(first, 1, 1, 0), {"pushed 11 step=1 k=1 cuts=0"}},
      {"", shard.push_of(last, 6, 2, 0), {"notice 10 k=1 cuts=0", "pushed 16 step=2 k=2 cuts=0"}},
      {"the entry is durable", shard.written(), {}},
      {"", shard.push_of(last, 0, 2, 1), {"save 4 w=-4 applied=2,1,0,0,0,0,2,0,2", "pushed 10 step=2 k=2 cuts=0"}},
      {"all is durable",
       shard.saved(4),
       {"notice 10 k=2 cuts=2," + over, "values 10 step=" + over + " w=-4 k=2 cuts=2," + over}},
      {"", shard.join(16), {"joined 16 k=2 cuts=2," + over}},
      {"rank 7 has made nothing", shard.join(17), {"joined 17 k=0 cuts=0," + over}},
      {"", shard.goodbye(10), {}},
      {"those that have made the last step", shard.goodbye(16), {"done"}},
  });
  CHECK(shard.core.everything_saved());
}

TEST_CASE("AsyncShardCore: a cut waits until the entries that its contributions state are durable", "[ps]") {
  ScaledAsyncShard shard{scaled_async_job(99)};
  ShardActions ignored;
  CHECK(shard.write(ignored));
  const SharedRankEntry entry = async_entry(1, {0, 3});
  tell(ShardStory{
      {"", shard.join(10), {"joined 10 k=0 cuts=0"}},
      {"another shard has taken it",
       shard.push_of(entry, 3, 1, 0),
       {"notice 10 k=0 cuts=0", "pushed 13 step=1 k=1 cuts=0"}},
      {"asked", shard.save(), {}},
      {"asked", shard.save(10), {}},
      {"it is in the file", shard.written(), {"save 1 w=-1 applied=0,0,0,1,0,0,0,0,2"}},
      {"", shard.saved(1), {"notice 10 k=0 cuts=0"}},
      {"", shard.push_of(entry, 0, 1, 0), {"pushed 10 step=1 k=1 cuts=0"}},
      {"", shard.save(), {"save 2 w=-2 applied=1,0,0,1,0,0,0,0,2"}},
  });
}

TEST_CASE("AsyncShardCore: which ranks must be served", "[ps]") {
  ScaledAsyncShard shard{scaled_async_job(99)};
  const SharedRankEntry first = shard.entry_of(1);
  CHECK(shard.core.needed_ranks() == std::vector<Rank>{0, 1});
  ShardActions ignored;
  shard.join(11)(ignored);
  shard.push_of(first, 1, 1, 0)(ignored);
  CHECK(shard.core.take_needed_ranks() == std::vector<Rank>{0, 1});
  CHECK_FALSE(shard.core.take_needed_ranks());
  shard.push_of(async_entry(2, {0, 3}), 0, 2, 1)(ignored);  // a gap, but the entry is heard
  CHECK(shard.core.take_needed_ranks() == std::vector<Rank>{0, 1, 3});  // rank 1 may have to send step 1 again
  shard.goodbye(11)(ignored);
  CHECK(shard.core.needed_ranks() == std::vector<Rank>{0, 1, 3});  // of an old process: step 1 is in no durable cut
  shard.write(ignored);
  shard.save()(ignored);
  shard.saved(1)(ignored);
  shard.goodbye(11)(ignored);
  CHECK(shard.core.take_needed_ranks() == std::vector<Rank>{0, 3});
  shard.join(11)(ignored);  // a process that has not heard yet that nobody needs it
  CHECK_FALSE(shard.core.take_needed_ranks());
  CHECK(shard.core.needed_ranks() == std::vector<Rank>{0, 3});
  shard.push_of(async_entry(3, {0, 1}, 6), 1, 3, 1)(ignored);  // it is named again
  CHECK(shard.core.take_needed_ranks() == std::vector<Rank>{0, 1, 3});
  CHECK(shard.core.saved() == 1);
}

TEST_CASE("AsyncShardCore: a job whose ranks change continues only from a cut of the same ranks", "[ps]") {
  const distrib::Job job = scaled_async_job(99);
  const Cut cut{3, block(-3), {}, {2, 0, 0, 1, 0, 0, 0, 0, 2}};
  const AsyncShardCore core{job, 0, sgd(), cut};
  CHECK(core.step() == 3);
  CHECK(core.rank_step() == 2);
  CHECK(core.progress(3).done == 1);
  CHECK(core.progress(3).cuts == std::vector<Step>{1});
  CHECK(core.saved() == 3);
  using Steps = std::vector<Step>;
  for (const Steps& applied : {Steps{2, 1}, Steps{2, 0, 0, 1, 0, 0, 0, 0}, Steps{2, 0, 0, 1, 0, 0, 0, 0, 3}}) {
    const Cut other{3, block(-3), {}, applied};
    CHECK_THROWS_WITH((AsyncShardCore{job, 0, sgd(), other}), ContainsSubstring("the same ranks and most_ranks"));
  }
}

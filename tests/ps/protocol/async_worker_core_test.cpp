// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/protocol/async_worker_core.hpp>

#include "ps/core_events.hpp"
#include "support/catch.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using distrib::AsyncWorkerCore;
using distrib::Step;
using story::block;
using story::tell;
using story::WorkerStory;
using support::WorkerActions;

namespace {

struct AsyncWorker : story::Worker<AsyncWorkerCore> {
  auto joined(std::uint32_t shard, Step counted, Step durable = 0) {
    return [=, this](WorkerActions& out) { core.joined(shard, {counted, {durable}}, out); };
  }
  auto notice(std::uint32_t shard, Step counted, Step durable) {
    return [=, this](WorkerActions& out) { core.notice(shard, {counted, {durable}}, out); };
  }
  auto pushed(std::uint32_t shard, Step counted, Step durable = 0) {
    return [=, this](WorkerActions& out) { core.pushed(shard, {counted, {durable}}, out); };
  }
  auto values(std::uint32_t shard, Step finished, Step durable = 0) {
    return [=, this](WorkerActions& out) { core.values(shard, finished, block(1), {finished, {durable}}, out); };
  }
  auto rows(std::uint32_t shard, Step finished, Step counted, Step durable = 0) {
    return [=, this](WorkerActions& out) {
      core.values(shard, finished, story::values_block(1, {2}), {counted, {durable}}, out);
    };
  }
};

/// Rank 1 of 2, with two shards. It makes n of 2 n contributions.
auto async_worker(std::uint64_t total, distrib::WorkerOptions options = {}) -> AsyncWorker {
  return {{AsyncWorkerCore{story::asynchronous(story::job(2, 2, total, 0)), 1, options}}};
}

/// Rank 1 of 2, with two shards, in a job without a last step: it makes contributions when `want` says so.
struct OnDemand : AsyncWorker {
  explicit OnDemand(distrib::WorkerOptions options = {})
      : AsyncWorker{{AsyncWorkerCore{story::asynchronous(story::job(2, 2, distrib::open_end, 0)), 1, [&options] {
                                       options.on_demand = true;
                                       return options;
                                     }()}}} {}
  auto want() {
    return [this](WorkerActions& out) { core.want(out); };
  }
  auto finish() {
    return [this](WorkerActions& out) { core.finish(out); };
  }
};

/// Brings the worker to the point where it has made and sent its contributions 1 to t and waits for values.
void carry_to(AsyncWorker& w, Step t) {
  WorkerActions ignored;
  w.start()(ignored);
  for (std::uint32_t shard : {0U, 1U}) w.joined(shard, 0)(ignored);
  for (Step step = 0; step < t; ++step) {
    for (std::uint32_t shard : {0U, 1U}) w.values(shard, step)(ignored);
    w.computed(step + 1)(ignored);
  }
  REQUIRE(w.core.step() == t);
}

}  // namespace

TEST_CASE("AsyncWorkerCore: join, values, contribution, save, goodbye (rules 2, 3)", "[ps]") {
  AsyncWorker w = async_worker(3);  // rank 1 makes one of three
  CHECK(w.core.step() == 0);
  tell(WorkerStory{
      {"join all", w.start(), {"join 0", "join 1"}},
      {"waits for all", w.joined(1, 0), {}},
      {"finished 0", w.joined(0, 0), {"pull 0 step=0", "pull 1 step=0"}},
      {"waits for all", w.values(0, 0), {}},
      {"all shards have answered", w.values(1, 0), {"compute step=1 ticket=1 of 2"}},
      {"another ticket", w.computed(7), {}},
      {"sent; a shard that has all contributions makes a cut by itself",
       w.computed(1),
       {"push 0 step=1 rank=1 common=0", "push 1 step=1 rank=1 common=0"}},
      {"counted, not durable", w.pushed(0, 1), {}},
      {"durable on one shard", w.notice(0, 1, 1), {}},
      {"durable on all", w.notice(1, 1, 1), {"goodbye 0", "goodbye 1", "done"}},
      {"nothing follows", w.notice(1, 1, 1), {}},
  });
}

TEST_CASE("AsyncWorkerCore: it starts after the smallest number counted (rule 4)", "[ps]") {
  AsyncWorker w = async_worker(20);
  tell(WorkerStory{
      {"join", w.start(), {"join 0", "join 1"}},
      {"ahead", w.joined(0, 5, 4), {}},
      {"t = 3", w.joined(1, 3, 3), {"pull 0 step=3", "pull 1 step=3"}},
      {"values", w.values(0, 3, 4), {}},
      {"values", w.values(1, 3, 3), {"compute step=4 ticket=1 of 2"}},
      {"shards that are ahead drop the repeat",
       w.computed(1),
       {"push 0 step=4 rank=1 common=3", "push 1 step=4 rank=1 common=3", "pull 0 step=4", "pull 1 step=4"}},
  });
  AsyncWorker late = async_worker(20);
  tell(WorkerStory{
      {"join", late.start(), {"join 0", "join 1"}},
      {"its contributions are all counted", late.joined(0, 10, 10), {}},
      {"not saved on one shard", late.joined(1, 10, 9), {}},
      {"saved on both", late.notice(1, 10, 10), {"goodbye 0", "goodbye 1", "done"}},
  });
  AsyncWorker later = async_worker(20);
  tell(WorkerStory{
      {"join", later.start(), {"join 0", "join 1"}},
      {"all is done", later.joined(0, 10, 10), {}},
      {"all is done", later.joined(1, 10, 10), {"goodbye 0", "goodbye 1", "done"}},
  });
}

TEST_CASE("AsyncWorkerCore: a shard that came back or found a gap gets the contributions that it lacks (rules 1, 5)",
          "[ps]") {
  AsyncWorker w = async_worker(20);
  carry_to(w, 3);
  tell(WorkerStory{
      {"lost and connected again", w.reconnected(0), {"join 0"}},
      {"what follows its cut, and the pull again",
       w.joined(0, 1),
       {"push 0 step=2 rank=1 common=0", "push 0 step=3 rank=1 common=0", "pull 0 step=3"}},
      {"values", w.values(0, 3), {}},
      {"a gap; the values have arrived already", w.joined(0, 2), {"push 0 step=3 rank=1 common=0"}},
      {"continue", w.values(1, 3), {"compute step=4 ticket=4 of 2"}},
      {"while it computes", w.joined(1, 2), {"push 1 step=3 rank=1 common=0"}},
  });
}

TEST_CASE("AsyncWorkerCore: contributions that are no longer kept are made again (rule 5)", "[ps]") {
  AsyncWorker w = async_worker(20);
  carry_to(w, 2);
  tell(WorkerStory{
      {"durable", w.notice(0, 2, 2), {}},
      {"durable", w.notice(1, 2, 2), {}},
      {"values", w.values(0, 2, 2), {}},
      {"continue", w.values(1, 2, 2), {"compute step=3 ticket=3 of 2"}},
      {"shard 1 lost its disk", w.joined(1, 0, 0), {"pull 0 step=0", "pull 1 step=0"}},
      {"its result is dropped", w.computed(3), {}},
      {"values", w.values(0, 0, 2), {}},
      {"made again", w.values(1, 0, 0), {"compute step=1 ticket=5 of 2"}},
  });
  CHECK(w.core.step() == 0);
}

TEST_CASE("AsyncWorkerCore: it asks for a cut when the buffer fills and waits when it is full (rule 3)", "[ps]") {
  // A contribution has 128 bytes: the budget is four of them, and three quarters are three.
  AsyncWorker w = async_worker(40, {.replay_budget_bytes = 512});
  carry_to(w, 2);
  tell(WorkerStory{
      {"values", w.values(0, 2), {}},
      {"values", w.values(1, 2), {"compute step=3 ticket=3 of 2"}},
      {"three quarters: save",
       w.computed(3),
       {"push 0 step=3 rank=1 common=0", "push 1 step=3 rank=1 common=0", "save 0", "save 1", "pull 0 step=3",
        "pull 1 step=3"}},
      {"values", w.values(0, 3), {}},
      {"room for one", w.values(1, 3), {"compute step=4 ticket=4 of 2"}},
      {"full",
       w.computed(4),
       {"push 0 step=4 rank=1 common=0", "push 1 step=4 rank=1 common=0", "save 0", "save 1", "pull 0 step=4",
        "pull 1 step=4"}},
      {"values", w.values(0, 4), {}},
      {"it waits", w.values(1, 4), {}},
      {"the request may be lost with the connection: ask again", w.joined(0, 4), {"save 0"}},
      {"durable on one", w.notice(0, 4, 4), {}},
      {"durable on all: the oldest are dropped", w.notice(1, 4, 2), {"compute step=5 ticket=5 of 2"}},
  });
  AsyncWorker w2 = async_worker(40, {.replay_budget_bytes = 512});
  carry_to(w2, 4);
  tell(WorkerStory{
      {"values", w2.values(0, 4), {}},
      {"it waits", w2.values(1, 4), {}},
      {"one shard has a part of them in a cut: ask it again", w2.notice(0, 4, 1), {"save 0"}},
      {"only once", w2.pushed(0, 4, 1), {}},
      {"it has all in a cut", w2.notice(0, 4, 4), {}},
      {"both have a part: room for one", w2.notice(1, 4, 1), {"compute step=5 ticket=5 of 2"}},
      {"no longer full", w2.notice(1, 4, 2), {}},
  });
  AsyncWorker told = async_worker(40, {.replay_budget_bytes = 128});
  carry_to(told, 1);
  tell(WorkerStory{
      {"values", told.values(0, 1, 1), {}},
      {"full", told.values(1, 1, 0), {}},
      {"shard 1 saved, died and came back", told.joined(1, 1, 1), {"save 1", "compute step=2 ticket=2 of 2"}},
  });
}

TEST_CASE(
    "AsyncWorkerCore: it asks for a cut once, because contributions on their way at the next cut would ask for another",
    "[ps]") {
  // The budget is eight contributions, three quarters are six.
  AsyncWorker w = async_worker(40, {.replay_budget_bytes = 1024});
  carry_to(w, 5);
  // Returns how many shards are asked for a cut when the worker has made this contribution.
  Step durable = 0;
  const auto asks = [&](Step step) {
    WorkerActions told;
    for (std::uint32_t shard : {0U, 1U}) w.values(shard, step - 1, durable)(told);
    told.clear();
    w.computed(step)(told);
    return std::ranges::count_if(told,
                                 [](const auto& action) { return std::holds_alternative<distrib::SendSave>(action); });
  };
  CHECK(asks(6) == 2);
  CHECK(asks(7) == 0);
  CHECK(asks(8) == 2);  // it makes no further one before there is a cut
  durable = 7;
  for (Step t = 9; t < 13; ++t) CHECK(asks(t) == 0);
  CHECK(asks(13) == 2);  // the buffer is short of room again
  CHECK(asks(14) == 0);
}

TEST_CASE("AsyncWorkerCore: it does not wait for a cut for which a shard has no disk space", "[ps]") {
  AsyncWorker w = async_worker(40, {.replay_budget_bytes = 128});
  carry_to(w, 1);
  tell(WorkerStory{
      {"values", w.values(0, 1), {}},
      {"full", w.values(1, 1), {}},
      {"a shard has no disk space",
       [&w](WorkerActions& out) { w.core.notice(1, {1, {0}, true}, out); },
       {"compute step=2 ticket=2 of 2"}},
  });
}

TEST_CASE("AsyncWorkerCore: values for an earlier contribution are ignored", "[ps]") {
  AsyncWorker w = async_worker(20);
  carry_to(w, 2);
  tell(WorkerStory{
      {"late", w.values(0, 1), {}},
      {"values", w.values(0, 2), {}},
      {"late", w.values(1, 1), {}},
      {"values", w.values(1, 2), {"compute step=3 ticket=3 of 2"}},
      {"a second answer", w.values(1, 2), {}},
  });
}

TEST_CASE("AsyncWorkerCore: it leaves without the contribution that it has asked for, if that will not be made",
          "[ps]") {
  AsyncWorker w = async_worker(20);
  carry_to(w, 1);
  tell(WorkerStory{
      {"values", w.values(0, 1), {}},
      {"values", w.values(1, 1), {"compute step=2 ticket=2 of 2"}},
      {"not made", w.abandon(), {"leave 0", "leave 1", "left"}},
      {"once", w.abandon(), {}},
      {"too late", w.computed(2), {}},
  });
}

TEST_CASE("AsyncWorkerCore: asked to stop, it finishes the contribution being computed and leaves", "[ps]") {
  AsyncWorker idle = async_worker(20);
  carry_to(idle, 1);
  tell(WorkerStory{
      {"nothing in flight", idle.stop(), {"leave 0", "leave 1", "left"}},
      {"once", idle.stop(), {}},
      {"it has left", idle.values(0, 1), {}},
  });
  AsyncWorker busy = async_worker(20);
  carry_to(busy, 1);
  tell(WorkerStory{
      {"values", busy.values(0, 1), {}},
      {"values", busy.values(1, 1), {"compute step=2 ticket=2 of 2"}},
      {"in flight", busy.stop(), {}},
      {"made",
       busy.computed(2),
       {"push 0 step=2 rank=1 common=0", "push 1 step=2 rank=1 common=0", "leave 0", "leave 1", "left"}},
  });
  AsyncWorker overtaken = async_worker(20, {.replay_budget_bytes = 0});
  carry_to(overtaken, 2);
  tell(WorkerStory{
      {"values", overtaken.values(0, 2), {}},
      {"values", overtaken.values(1, 2), {"compute step=3 ticket=3 of 2"}},
      {"in flight", overtaken.stop(), {}},
      {"it would have to make contributions again, and leaves", overtaken.joined(1, 0), {"leave 0", "leave 1", "left"}},
      {"too late", overtaken.computed(3), {}},
  });
}

TEST_CASE("AsyncWorkerCore: a worker that wants the result waits for the contributions of all ranks", "[ps]") {
  AsyncWorker w = async_worker(3, {.wants_result = true});  // rank 1 makes one of three
  const auto end = [&](std::uint32_t shard, float value) {
    return [&w, shard, value](WorkerActions& out) {
      w.core.values(shard, distrib::end_of_job, block(value), {1, {1}}, out);
    };
  };
  const std::string last = std::to_string(distrib::end_of_job);
  tell(WorkerStory{
      {"join", w.start(), {"join 0", "join 1"}},
      {"join", w.joined(0, 0), {}},
      {"join", w.joined(1, 0), {"pull 0 step=0", "pull 1 step=0"}},
      {"values", w.values(0, 0), {}},
      {"values", w.values(1, 0), {"compute step=1 ticket=1 of 2"}},
      {"its last one",
       w.computed(1),
       {"push 0 step=1 rank=1 common=0", "push 1 step=1 rank=1 common=0", "pull 0 step=" + last,
        "pull 1 step=" + last}},
      {"values of an earlier pull", w.values(0, 0), {}},
      {"durable", w.notice(0, 1, 1), {}},
      {"durable on all shards", w.notice(1, 1, 1), {}},
      {"the values at the end", end(0, 7), {}},
      {"a shard that came back: its values are pulled again", w.joined(0, 1, 1), {"save 0", "pull 0 step=" + last}},
      {"the values at the end", end(1, 8), {}},
      {"done", end(0, 9), {"goodbye 0", "goodbye 1", "done w=9 w=8"}},
  });
  AsyncWorker late = async_worker(3, {.wants_result = true});
  tell(WorkerStory{
      {"join", late.start(), {"join 0", "join 1"}},
      {"its share is done", late.joined(0, 1, 1), {}},
      {"the result", late.joined(1, 1, 1), {"pull 0 step=" + last, "pull 1 step=" + last}},
      {"asked to stop, it leaves without the result", late.stop(), {"leave 0", "leave 1", "left"}},
  });
}

namespace {

auto async_worker_with_tables(std::uint64_t total, distrib::WorkerOptions options = {}) -> AsyncWorker {
  return {{AsyncWorkerCore{story::with_tables(story::asynchronous(story::job(2, 2, total, 0))), 1, options}}};
}

}  // namespace

TEST_CASE("AsyncWorkerCore: with tables it asks once which rows it needs; later ones arrive with each contribution",
          "[ps]") {
  AsyncWorker w = async_worker_with_tables(4, {.wants_result = true});
  const std::string end = std::to_string(distrib::end_of_job);
  tell(WorkerStory{
      {"not asked for", w.prepared(1), {}},
      {"join", w.start(), {"join 0", "join 1"}},
      {"waits for all", w.joined(0, 0), {}},
      {"which rows?", w.joined(1, 0), {"prepare step=1"}},
      {"connected again, but the rows are not known yet", w.joined(0, 0), {}},
      {"values that were not pulled", w.values(0, 0), {}},
      {"rows of another step", w.prepared(2), {}},
      {"these", w.prepared(1), {"pull 0 step=0 rows=1;", "pull 1 step=0 rows=;1"}},
      {"a second time", w.prepared(1), {}},
      {"an answer without rows is ignored", w.values(0, 0), {}},
      {"connected again", w.joined(0, 0), {"pull 0 step=0 rows=1;"}},
      {"values", w.rows(1, 0, 0), {}},
      {"values", w.rows(0, 0, 0), {"compute step=1 ticket=1 of 2"}},
      {"made, and the next rows are known",
       w.computed(1, 2),
       {"push 0 step=1 rank=1 common=0", "push 1 step=1 rank=1 common=0", "pull 0 step=1 rows=2;",
        "pull 1 step=1 rows=;2"}},
      {"values", w.rows(0, 1, 1), {}},
      {"values", w.rows(1, 1, 1), {"compute step=2 ticket=2 of 2"}},
      {"the last one; the result, with the rows that are wanted at the end",
       w.computed(2, 3),
       {"push 0 step=2 rank=1 common=0", "push 1 step=2 rank=1 common=0", "pull 0 step=" + end + " rows=3;",
        "pull 1 step=" + end + " rows=;0"}},
      {"values", w.rows(0, distrib::end_of_job, 2, 2), {}},
      {"values", w.rows(1, distrib::end_of_job, 2, 2), {"goodbye 0", "goodbye 1", "done w=1 rows=2 w=1 rows=2"}},
      {"too late", w.prepared(3), {}},
  });
}

TEST_CASE("AsyncWorkerCore: set back by a shard, it asks which rows are needed there", "[ps]") {
  AsyncWorker w = async_worker_with_tables(99);
  tell(WorkerStory{
      {"join", w.start(), {"join 0", "join 1"}},
      {"join", w.joined(0, 5), {}},
      {"at 5", w.joined(1, 5), {"prepare step=6"}},
      {"it does not keep what shard 1 has lost: back to 3", w.joined(1, 3), {"prepare step=4"}},
      {"too late", w.prepared(6), {}},
      {"shard 0 is connected again meanwhile", w.joined(0, 5), {}},
      {"these", w.prepared(4), {"pull 0 step=3 rows=4;", "pull 1 step=3 rows=;1"}},
      {"the answer to an earlier pull", w.rows(0, 5, 5), {}},
      {"values", w.rows(0, 3, 5), {}},
      {"values", w.rows(1, 3, 3), {"compute step=4 ticket=2 of 2"}},
      {"shard 1 lost another one while it computes", w.joined(1, 2), {"prepare step=3"}},
      {"the result is dropped, and so are its next rows", w.computed(2, 5), {}},
      {"these", w.prepared(3), {"pull 0 step=2 rows=3;", "pull 1 step=2 rows=;0"}},
      {"an answer without rows, to an earlier pull", w.values(1, 2), {}},
      {"values", w.rows(0, 2, 5), {}},
      {"values", w.rows(1, 2, 2), {"compute step=3 ticket=4 of 2"}},
      {"it continues",
       w.computed(4, 4),
       {"push 0 step=3 rank=1 common=0", "push 1 step=3 rank=1 common=0", "pull 0 step=3 rows=4;",
        "pull 1 step=3 rows=;1"}},
  });
  AsyncWorker leaves = async_worker_with_tables(99);
  tell(WorkerStory{
      {"join", leaves.start(), {"join 0", "join 1"}},
      {"join", leaves.joined(0, 0), {}},
      {"which rows?", leaves.joined(1, 0), {"prepare step=1"}},
      {"stop", leaves.stop(), {"leave 0", "leave 1", "left"}},
      {"too late", leaves.prepared(1), {}},
  });
}

TEST_CASE(
    "AsyncWorkerCore: contribution 0 is sent to each shard that waits for it, whenever the shard starts at step 0",
    "[ps]") {
  AsyncWorker w = async_worker(18, {.initial_values = {block(8), block(9)}});
  const auto joined = [&w](std::uint32_t shard, Step counted, bool no_values) {
    return [&w, shard, counted, no_values](WorkerActions& out) {
      w.core.joined(shard, {counted, {0}, false, no_values}, out);
    };
  };
  tell(WorkerStory{
      {"", w.start(), {"join 0", "join 1"}},
      {"", joined(0, 0, true), {"push 0 step=0 rank=1 common=0"}},
      {"", joined(1, 0, false), {"pull 0 step=0", "pull 1 step=0"}},
      {"", w.values(0, 0), {}},
      {"", w.values(1, 0), {"compute step=1 ticket=1 of 2"}},
      {"",
       w.computed(1),
       {"push 0 step=1 rank=1 common=0", "push 1 step=1 rank=1 common=0", "pull 0 step=1", "pull 1 step=1"}},
      {"it came back without a cut",
       joined(1, 0, true),
       {"push 1 step=0 rank=1 common=0", "push 1 step=1 rank=1 common=0", "pull 1 step=1"}},
  });
}

TEST_CASE("AsyncWorkerCore: on demand, values are pulled when they are wanted, and the end is told", "[ps]") {
  OnDemand w;
  tell(WorkerStory{
      {"join all", w.start(), {"join 0", "join 1"}},
      {"joined", w.joined(0, 0), {}},
      {"nothing is pulled by itself", w.joined(1, 0), {}},
      {"wanted", w.want(), {"pull 0 step=0", "pull 1 step=0"}},
      {"values", w.values(0, 0), {}},
      {"values of all", w.values(1, 0), {"compute step=1 ticket=2 of 2"}},
      {"newer ones are wanted", w.want(), {"pull 0 step=0", "pull 1 step=0"}},
      {"the old result is dropped", w.computed(2), {}},
      {"values", w.values(0, 0), {}},
      {"values of all", w.values(1, 0), {"compute step=1 ticket=4 of 2"}},
      {"sent, and nothing is pulled",
       w.computed(4),
       {"push 0 step=1 rank=1 common=0", "push 1 step=1 rank=1 common=0"}},
      {"counted on one", w.pushed(0, 1), {}},
  });
  CHECK(w.core.step() == 1);
  CHECK(w.core.counted() == 0);
  CHECK_FALSE(w.core.awaits(0));
  CHECK(w.core.awaits(1));
  tell(WorkerStory{
      {"counted on both", w.pushed(1, 1), {}},
      {"the end", w.finish(), {"save 0", "save 1"}},
      {"wanted too late", w.want(), {}},
      {"durable on one", w.notice(0, 1, 1), {}},
      {"durable on both", w.notice(1, 1, 1), {"goodbye 0", "goodbye 1", "done"}},
      {"once", w.finish(), {}},
  });
  CHECK(w.core.counted() == 1);
}

TEST_CASE("AsyncWorkerCore: on demand, the next contribution counts on every shard, whatever each has counted",
          "[ps]") {
  OnDemand w;
  tell(WorkerStory{
      {"wanted before all have answered", w.want(), {}},
      {"join all", w.start(), {"join 0", "join 1"}},
      {"the shard that counted more", w.joined(0, 7, 5), {}},
      {"starts after the largest count", w.joined(1, 4, 4), {"pull 0 step=7", "pull 1 step=7"}},
      {"values", w.values(0, 7, 5), {}},
      {"values of all", w.values(1, 7, 4), {"compute step=8 ticket=2 of 2"}},
      {"each shard gets its own next number",
       w.computed(2),
       {"push 0 step=8 rank=1 common=5", "push 1 step=5 rank=1 common=5"}},
      {"counted", w.pushed(0, 8, 5), {}},
      {"counted", w.pushed(1, 5, 4), {}},
  });
  CHECK(w.core.counted() == 8);
  CHECK_FALSE(w.core.awaits(0));
  CHECK_FALSE(w.core.awaits(1));
  tell(WorkerStory{
      {"came back from an older cut: gets what is kept", w.joined(1, 4, 4), {"push 1 step=5 rank=1 common=5"}},
      {"counted", w.pushed(1, 5, 4), {}},
      {"came back from a cut before what is kept: goes on from there",
       w.joined(1, 2, 2),
       {"push 1 step=3 rank=1 common=5"}},
      {"counted", w.pushed(1, 3, 2), {}},
      {"the end", w.finish(), {"save 0", "save 1"}},
      {"durable", w.notice(0, 8, 8), {}},
      {"durable on both", w.notice(1, 3, 3), {"goodbye 0", "goodbye 1", "done"}},
  });
}

TEST_CASE("AsyncWorkerCore: on demand, a full buffer waits for a cut, and says which shards are awaited", "[ps]") {
  OnDemand w{{.replay_budget_bytes = 2 * 64}};  // one contribution
  tell(WorkerStory{
      {"join all", w.start(), {"join 0", "join 1"}},
      {"joined", w.joined(0, 0), {}},
      {"joined", w.joined(1, 0), {}},
      {"wanted", w.want(), {"pull 0 step=0", "pull 1 step=0"}},
      {"values", w.values(0, 0), {}},
      {"values of all", w.values(1, 0), {"compute step=1 ticket=2 of 2"}},
      {"sent; a cut is needed",
       w.computed(2),
       {"push 0 step=1 rank=1 common=0", "push 1 step=1 rank=1 common=0", "save 0", "save 1"}},
      {"durable on one", w.notice(0, 1, 1), {}},
      {"wanted", w.want(), {"pull 0 step=1", "pull 1 step=1"}},
      {"values", w.values(0, 1, 1), {}},
      {"values of all, but no room", w.values(1, 1, 0), {}},
  });
  CHECK_FALSE(w.core.awaits(0));
  CHECK(w.core.awaits(1));
  tell(WorkerStory{{"durable on both", w.notice(1, 1, 1), {"compute step=2 ticket=4 of 2"}}});
}

TEST_CASE("AsyncWorkerCore: on demand, it leaves at once when it is stopped, and may end before it has begun", "[ps]") {
  OnDemand w;
  tell(WorkerStory{
      {"join all", w.start(), {"join 0", "join 1"}},
      {"joined", w.joined(0, 0), {}},
      {"joined", w.joined(1, 0), {}},
      {"wanted", w.want(), {"pull 0 step=0", "pull 1 step=0"}},
      {"values", w.values(0, 0), {}},
      {"values of all", w.values(1, 0), {"compute step=1 ticket=2 of 2"}},
      {"stopped", w.stop(), {"leave 0", "leave 1", "left"}},
  });
  OnDemand early;
  tell(WorkerStory{
      {"the end before the start", early.finish(), {}},
      {"join all", early.start(), {"join 0", "join 1"}},
      {"joined", early.joined(0, 3, 2), {}},
      {"not all is durable", early.joined(1, 3, 3), {"save 0", "save 1"}},
      {"durable", early.notice(0, 3, 3), {"goodbye 0", "goodbye 1", "done"}},
  });
}

namespace {

using distrib::Rank;
using distrib::RankEntry;
using distrib::RankLog;
using distrib::SharedRankLog;

auto async_log_with(std::vector<RankEntry> entries) -> SharedRankLog {
  RankLog log{2};
  for (RankEntry& entry : entries) log.add(std::make_shared<const RankEntry>(std::move(entry)));
  return std::make_shared<const RankLog>(std::move(log));
}

/// A worker of a job with two shards that begins with ranks 0 and 1 and may have ranks 0 to 7.
struct ScaledAsyncWorker {
  AsyncWorkerCore core;
  SharedRankLog logs[2] = {async_log_with({}), async_log_with({})};  // what the shards tell

  explicit ScaledAsyncWorker(Rank rank, std::uint64_t total = 99, distrib::WorkerOptions options = {})
      : core{job(total), rank, std::move(options)} {}

  static auto job(std::uint64_t total) -> distrib::Job {
    distrib::Job job = story::asynchronous(story::job(2, 2, total, 0));
    job.most_ranks = 8;
    return job;
  }
  [[nodiscard]] auto progress(std::uint32_t shard, Step counted, std::vector<Step> cuts) const -> distrib::Progress {
    return {counted, std::move(cuts), false, false, false, 0, {}, logs[shard]};
  }
  auto start(Step counted = 0) -> std::vector<std::string> {
    WorkerActions out;
    core.start(out);
    out.clear();
    for (const std::uint32_t shard : {0U, 1U}) core.joined(shard, progress(shard, counted, {0}), out);
    return texts(out);
  }
  auto joined(std::uint32_t shard, Step counted, std::vector<Step> cuts = {0}) -> std::vector<std::string> {
    WorkerActions out;
    core.joined(shard, progress(shard, counted, std::move(cuts)), out);
    return texts(out);
  }
  auto notice(std::uint32_t shard, Step counted, std::vector<Step> cuts = {0}) -> std::vector<std::string> {
    WorkerActions out;
    core.notice(shard, progress(shard, counted, std::move(cuts)), out);
    return texts(out);
  }
  auto values(std::uint32_t shard, Step finished) -> WorkerActions {
    WorkerActions out;
    core.values(shard, finished, block(1), progress(shard, core.step(), {0}), out);
    return out;
  }
  /// Both shards tell values; returns the contribution that is computed then, and is made at once.
  auto computes(Step finished) -> distrib::Compute {
    values(0, finished);
    const WorkerActions out = values(1, finished);
    REQUIRE(out.size() == 1);
    const auto work = std::get<distrib::Compute>(out[0]);
    sent.clear();
    core.computed(work.ticket, {block(1), block(2)}, sent);
    return work;
  }
  static auto texts(const WorkerActions& actions) -> std::vector<std::string> {
    std::vector<std::string> all;
    for (const support::WorkerAction& action : actions) all.push_back(story::text(action));
    return all;
  }
  /// The steps before those that were sent to shard 0.
  [[nodiscard]] auto stated() const -> std::vector<Step> {
    std::vector<Step> all;
    for (const support::WorkerAction& action : sent)
      if (const auto* push = std::get_if<distrib::SendPush>(&action); push != nullptr && push->shard == 0)
        all.push_back(push->contribution.after);
    return all;
  }

  WorkerActions sent;
};
using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("AsyncWorkerCore: which steps its rank makes follows from the logs of all shards (E4, E5)", "[ps]") {
  ScaledAsyncWorker w{1};
  CHECK(w.start() == Texts{"pull 0 step=0", "pull 1 step=0"});
  const auto first = w.computes(0);
  CHECK(first.step == 1);
  CHECK(first.entry->ranks == std::vector<Rank>{0, 1});
  CHECK(first.number == 1);
  CHECK(w.stated() == std::vector<Step>{0});
  w.logs[1] = async_log_with({{2, 1, {0}}, {5, 1, {0, 1, 4}}});
  CHECK(ScaledAsyncWorker::texts(w.values(0, 1)).empty());
  // It makes step 5 next: asks all shards for the values after step 4.
  CHECK(ScaledAsyncWorker::texts(w.values(1, 1)) == Texts{"pull 0 step=4", "pull 1 step=4"});
  CHECK(w.core.step() == 1);
  const auto second = w.computes(4);
  CHECK(second.step == 5);
  CHECK(second.entry->ranks == std::vector<Rank>{0, 1, 4});
  CHECK(second.number == 2 + 3 + 1);
  CHECK(w.stated() == std::vector<Step>{1});
}

TEST_CASE("AsyncWorkerCore: a rank that waits hears of an entry, and asks for other values", "[ps]") {
  ScaledAsyncWorker w{4};
  CHECK(w.start().empty());  // it makes no step
  w.logs[0] = async_log_with({{9, 1, {0, 4}}});
  CHECK(w.notice(0, 0) == Texts{"pull 0 step=8", "pull 1 step=8"});
  CHECK(w.notice(0, 0).empty());
  w.logs[1] = async_log_with({{6, 1, {4}}});
  CHECK(w.notice(1, 0) == Texts{"pull 0 step=5", "pull 1 step=5"});
  CHECK(ScaledAsyncWorker::texts(w.values(0, 8)).empty());  // not wanted any more
  const auto work = w.computes(5);
  CHECK(work.step == 6);
  CHECK(work.number == 10);
}

TEST_CASE(
    "AsyncWorkerCore: to a shard that comes back it sends the steps of its rank again, each with the one before it",
    "[ps]") {
  ScaledAsyncWorker w{1};
  w.logs[0] = async_log_with({{2, 1, {0}}, {5, 1, {0, 1}}});
  w.start();
  static_cast<void>(w.computes(0));
  static_cast<void>(w.computes(4));
  static_cast<void>(w.computes(5));
  CHECK(w.core.step() == 6);
  w.sent.clear();
  w.core.joined(0, w.progress(0, 0, {0}), w.sent);
  CHECK(w.stated() == std::vector<Step>{0, 1, 5});
  CHECK(w.joined(1, 5) == Texts{"push 1 step=6 rank=1 common=0", "pull 1 step=6"});
}

TEST_CASE("AsyncWorkerCore: a rank of no later step leaves when all that it made is durable", "[ps]") {
  ScaledAsyncWorker w{1};
  w.logs[0] = async_log_with({{2, 1, {0}}});
  w.start();
  static_cast<void>(w.computes(0));
  CHECK(ScaledAsyncWorker::texts(w.sent) ==
        Texts{"push 0 step=1 rank=1 common=0", "push 1 step=1 rank=1 common=0", "save 0", "save 1"});
  CHECK(w.notice(0, 1, {1}).empty());
  WorkerActions out;
  w.core.notice(1, w.progress(1, 1, {1}), out);
  CHECK(ScaledAsyncWorker::texts(out) == Texts{"goodbye 0", "goodbye 1", "left"});
  CHECK(std::get<distrib::WorkerDone>(out.back()).retired);
}

TEST_CASE("AsyncWorkerCore: ranks stay until every shard has all contributions of the job in a cut", "[ps]") {
  const bool is_chief = GENERATE(false, true);
  ScaledAsyncWorker w{0, 3, {.wants_result = is_chief}};
  w.start();
  static_cast<void>(w.computes(0));
  CHECK(w.computes(1).number == 2);
  Texts sent{"push 0 step=2 rank=0 common=0", "push 1 step=2 rank=0 common=0"};
  const std::string last = " step=" + std::to_string(distrib::end_of_job);
  for (const std::string shard : {"0", "1"}) sent.push_back(is_chief ? "pull " + shard + last : "save " + shard);
  CHECK(ScaledAsyncWorker::texts(w.sent) == sent);
  CHECK(w.notice(0, 2, {2}).empty());
  CHECK(w.notice(1, 2, {2}).empty());  // not those of rank 1
  CHECK(w.notice(0, 2, {2, distrib::end_of_job}).empty());
  const Texts end{"goodbye 0", "goodbye 1", "done"};
  if (!is_chief) {
    CHECK(w.notice(1, 2, {2, distrib::end_of_job}) == end);
  } else {
    CHECK(w.notice(1, 2, {2, distrib::end_of_job}).empty());
    WorkerActions out;
    for (const std::uint32_t shard : {0U, 1U})
      w.core.values(shard, distrib::end_of_job, block(1), w.progress(shard, 2, {2, distrib::end_of_job}), out);
    CHECK(out.size() == 3);
    CHECK(std::get<distrib::WorkerDone>(out.back()).result.size() == 2);
  }
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/protocol/sync_worker_core.hpp>

#include "ps/core_events.hpp"
#include "support/catch.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using distrib::Step;
using distrib::SyncWorkerCore;
using story::block;
using story::tell;
using story::WorkerStory;
using support::WorkerActions;
using Cuts = std::vector<Step>;

namespace {

struct SyncWorker : story::Worker<SyncWorkerCore> {
  auto joined(std::uint32_t shard, Step k, Cuts cuts = {0}) {
    return [=, this](WorkerActions& out) { core.joined(shard, {k, cuts}, out); };
  }
  auto notice(std::uint32_t shard, Step k, Cuts cuts) {
    return [=, this](WorkerActions& out) { core.notice(shard, {k, cuts}, out); };
  }
  auto pushed(std::uint32_t shard, Step k, Cuts cuts = {0}) {
    return [=, this](WorkerActions& out) { core.pushed(shard, {k, cuts}, out); };
  }
  auto values(std::uint32_t shard, Step step, Step k, Cuts cuts = {0}) {
    return [=, this](WorkerActions& out) { core.values(shard, step, block(1), {k, cuts}, out); };
  }
  auto rows(std::uint32_t shard, Step step, Step k, Cuts cuts = {0}) {
    return [=, this](WorkerActions& out) {
      core.values(shard, step, story::values_block(1, {static_cast<float>(step)}), {k, cuts}, out);
    };
  }
  auto gone(std::uint32_t shard, Step step, Step k, Cuts cuts = {0}) {
    return [=, this](WorkerActions& out) { core.gone(shard, step, {k, cuts}, out); };
  }
  auto doubled(std::uint32_t shard, Step step, Step k, Cuts cuts = {0}) {
    return [=, this](WorkerActions& out) { core.gone(shard, step, {k, cuts, false, false, true}, out); };
  }
};

/// Rank 1 of 2, with two shards.
auto sync_worker(Step total, Step interval, distrib::WorkerOptions options = {}) -> SyncWorker {
  return {{SyncWorkerCore{story::job(2, 2, total, interval), 1, options}}};
}

/// Brings the worker to the point where it has made the contributions of steps 1 to t and waits for the values of t.
void carry_to(SyncWorker& w, Step t, const Cuts& cuts = {0}) {
  WorkerActions ignored;
  w.start()(ignored);
  for (std::uint32_t shard : {0U, 1U}) w.joined(shard, 0)(ignored);
  for (Step step = 0; step < t; ++step) {
    WorkerActions out;
    for (std::uint32_t shard : {0U, 1U}) w.values(shard, step, step, cuts)(out);
    REQUIRE_FALSE(out.empty());
    w.computed(std::get<distrib::Compute>(out.back()).ticket)(ignored);
  }
  REQUIRE(w.core.step() == t);
}

}  // namespace

TEST_CASE("SyncWorkerCore: join, values, contribution, values, goodbye (rules 7, 12)", "[ps]") {
  SyncWorker w = sync_worker(1, 0);
  CHECK(w.core.step() == 0);
  tell(WorkerStory{
      {"7: join all", w.start(), {"join 0", "join 1"}},
      {"waits for all", w.joined(1, 0), {}},
      {"7: t = 0", w.joined(0, 0), {"pull 0 step=0", "pull 1 step=0"}},
      {"waits for all", w.values(1, 0, 0), {}},
      {"another step's values", w.values(0, 5, 0), {}},
      {"all values have arrived", w.values(0, 0, 0), {"compute step=1 ticket=2 of 2"}},
      {"another ticket", w.computed(1), {}},
      {"made",
       w.computed(2),
       {"push 0 step=1 rank=1 common=0", "push 1 step=1 rank=1 common=0", "pull 0 step=1", "pull 1 step=1"}},
      {"made twice", w.computed(2), {}},
      {"counted or stored", w.pushed(0, 0), {}},
      {"values", w.values(0, 1, 1), {}},
      {"12: at the end it waits for the cut", w.values(1, 1, 1), {}},
      {"12: on every shard", w.notice(0, 1, {0, 1}), {}},
      {"12: goodbye", w.notice(1, 1, {0, 1}), {"goodbye 0", "goodbye 1", "done"}},
      {"nothing follows", w.notice(1, 1, {0, 1}), {}},
  });
}

TEST_CASE("SyncWorkerCore: a push is answered separately unless a pull is sent with it", "[ps]") {
  SyncWorker w = sync_worker(9, 0);
  const auto pushes = [](const auto& happens) {
    WorkerActions actions;
    happens(actions);
    std::vector<bool> follow;
    for (const auto& action : actions)
      if (const auto* push = std::get_if<distrib::SendPush>(&action)) follow.push_back(push->pull_follows);
    return follow;
  };
  tell(WorkerStory{{"", w.start(), {"join 0", "join 1"}},
                   {"", w.joined(0, 0), {}},
                   {"", w.joined(1, 0), {"pull 0 step=0", "pull 1 step=0"}},
                   {"", w.values(0, 0, 0), {}},
                   {"", w.values(1, 0, 0), {"compute step=1 ticket=2 of 2"}}});
  CHECK(pushes(w.computed(2)) == std::vector{true, true});
  CHECK(pushes(w.joined(0, 0)) == std::vector{false});  // it came back
}

TEST_CASE("SyncWorkerCore: it starts in the middle and at the end of a job (rules 7, 12)", "[ps]") {
  SyncWorker middle = sync_worker(9, 2);
  tell(WorkerStory{
      {"join", middle.start(), {"join 0", "join 1"}},
      {"ahead", middle.joined(0, 5, {0, 2, 4}), {}},
      {"t is the smallest k", middle.joined(1, 4, {0, 2, 4}), {"pull 0 step=4", "pull 1 step=4"}},
      {"the values of the step before k", middle.values(0, 4, 5, {0, 2, 4}), {}},
      {"continue", middle.values(1, 4, 4, {0, 2, 4}), {"compute step=5 ticket=2 of 2"}},
      {"only to the shard that lacks it",
       middle.computed(2),
       {"push 1 step=5 rank=1 common=4", "pull 0 step=5", "pull 1 step=5"}},
  });
  CHECK(middle.core.step() == 5);
  CHECK(middle.core.common_cut() == 4);
  SyncWorker late = sync_worker(9, 2);
  tell(WorkerStory{
      {"join", late.start(), {"join 0", "join 1"}},
      {"the last step", late.joined(0, 9, {0, 8, 9}), {}},
      {"12: the last cut exists, so it is done", late.joined(1, 9, {0, 8, 9}), {"goodbye 0", "goodbye 1", "done"}},
  });
}

TEST_CASE("SyncWorkerCore: a shard that came back is sent what follows its cut (rule 8)", "[ps]") {
  SyncWorker w = sync_worker(9, 2);
  carry_to(w, 4);
  tell(WorkerStory{
      {"lost and connected again", w.reconnected(0), {"join 0"}},
      {"8: what it lacks, and the pull again",
       w.joined(0, 2, {0, 2}),
       {"push 0 step=3 rank=1 common=0", "push 0 step=4 rank=1 common=0", "pull 0 step=4"}},
      {"values", w.values(0, 4, 4, {0, 2}), {}},
      {"again: the values have arrived, but the shard may not have reached t",
       w.joined(0, 3, {0, 2}),
       {"push 0 step=4 rank=1 common=0", "pull 0 step=4"}},
      {"continue", w.values(1, 4, 4, {0, 2}), {"compute step=5 ticket=6 of 2"}},
      {"while it computes",
       w.joined(1, 2, {0, 2}),
       {"push 1 step=3 rank=1 common=2", "push 1 step=4 rank=1 common=2", "pull 1 step=4"}},
      {"after it",
       w.computed(6),
       {"push 0 step=5 rank=1 common=2", "push 1 step=5 rank=1 common=2", "pull 0 step=5", "pull 1 step=5"}},
  });
}

TEST_CASE("SyncWorkerCore: it sends no more than a shard stores (rule 3)", "[ps]") {
  SyncWorker w = sync_worker(9, 1);  // the window is 2
  carry_to(w, 5);
  tell(WorkerStory{
      {"back at 0: the first two, and a pull that is answered when there is room",
       w.joined(1, 0),
       {"push 1 step=1 rank=1 common=0", "push 1 step=2 rank=1 common=0", "pull 1 step=2", "pull 1 step=5"}},
      {"no room yet", w.pushed(1, 0), {}},
      {"room for one", w.pushed(1, 1), {"push 1 step=3 rank=1 common=0", "pull 1 step=3"}},
      {"the answer", w.values(1, 2, 2), {"push 1 step=4 rank=1 common=0", "pull 1 step=4"}},
      {"a Gone reports progress too", w.gone(1, 3, 5), {}},
  });
}

TEST_CASE("SyncWorkerCore: it waits for room even if the shard reports no progress (rule 3)", "[ps]") {
  SyncWorker w = sync_worker(9, 1);
  carry_to(w, 2);
  tell(WorkerStory{
      {"values of 2", w.values(0, 2, 2), {}},
      {"back at 0",
       w.joined(0, 0),
       {"push 0 step=1 rank=1 common=0", "push 0 step=2 rank=1 common=0", "pull 0 step=2"}},
      {"continue", w.values(1, 2, 2), {"compute step=3 ticket=4 of 2"}},
      {"shard 0 has no room for 3",
       w.computed(4),
       {"pull 0 step=2", "push 1 step=3 rank=1 common=0", "pull 0 step=3", "pull 1 step=3"}},
      {"now it has room", w.values(0, 2, 2), {"push 0 step=3 rank=1 common=0"}},
  });
}

TEST_CASE("SyncWorkerCore: after Gone it joins again, after a second Gone it sends Restore (rule 9)", "[ps]") {
  SyncWorker w = sync_worker(9, 2);
  carry_to(w, 4);
  tell(WorkerStory{
      {"of another step", w.gone(0, 3, 6, {0, 2, 4, 6}), {}},
      {"9: join all", w.gone(0, 4, 6, {0, 2, 4, 6}), {"join 0", "join 1"}},
      {"joined again", w.joined(0, 6, {0, 2, 4, 6}), {}},
      {"joined again", w.joined(1, 4, {0, 2, 4}), {"pull 0 step=4", "pull 1 step=4"}},
      {"shard 1 still has the values", w.values(1, 4, 4, {0, 2, 4}), {}},
      {"9: restore the common cut", w.gone(0, 4, 6, {0, 2, 4, 6}), {"restore 0 cut=4", "restore 1 cut=4"}},
      {"late", w.gone(0, 4, 6, {0, 2, 4, 6}), {}},
      {"10: waits for all", w.joined(0, 4, {0, 2, 4}), {}},
      {"10: starts by rule 7", w.joined(1, 4, {0, 2, 4}), {"pull 0 step=4", "pull 1 step=4"}},
      {"the first Gone after that", w.gone(1, 4, 6, {0, 2, 4}), {"join 0", "join 1"}},
  });
}

TEST_CASE("SyncWorkerCore: after Gone beside another process of its rank it continues beside that process (rule 9)",
          "[ps]") {
  SyncWorker w = sync_worker(99, 10);
  tell(WorkerStory{
      {"join", w.start(), {"join 0", "join 1"}},
      {"ahead", w.joined(0, 17), {}},
      {"shard 1 came back and lacks contributions", w.joined(1, 2), {"pull 0 step=2", "pull 1 step=2"}},
      {"9: no Restore", w.doubled(0, 2, 17), {"pull 0 step=17", "pull 1 step=17"}},
      {"values of an earlier pull", w.values(1, 2, 2), {}},
      {"values", w.values(0, 17, 17), {}},
      {"the other process sends them", w.notice(1, 3, {0}), {}},
      {"shard 1 came back again, which the other process learns too", w.joined(1, 2), {"pull 1 step=17"}},
      {"it has reached 17", w.values(1, 17, 17), {"compute step=18 ticket=2 of 2"}},
      {"made",
       w.computed(2),
       {"push 0 step=18 rank=1 common=0", "push 1 step=18 rank=1 common=0", "pull 0 step=18", "pull 1 step=18"}},
      {"shard 1 came back", w.joined(1, 15), {"push 1 step=18 rank=1 common=0", "pull 1 step=18"}},
      {"10: it lacks more than was left to the other process", w.joined(1, 1), {"restore 0 cut=0", "restore 1 cut=0"}},
  });
}

TEST_CASE(
    "SyncWorkerCore: when the shard that reported another process of this rank sends Joined again, the worker takes "
    "its steps back (rules 9, 10)",
    "[ps]") {
  const auto after_gone = [](SyncWorker& w, Step k) {
    WorkerActions ignored;
    w.start()(ignored);
    w.joined(0, 17)(ignored);
    w.joined(1, k)(ignored);
    w.doubled(0, k, 17)(ignored);
    REQUIRE(w.core.step() == 17);
  };
  SyncWorker lost = sync_worker(99, 10);
  after_gone(lost, 2);
  tell(WorkerStory{
      {"10: no other process serves shard 1", lost.joined(0, 17), {"restore 0 cut=0", "restore 1 cut=0"}},
      {"back", lost.joined(0, 0), {}},
      {"7", lost.joined(1, 0), {"pull 0 step=0", "pull 1 step=0"}},
      {"nothing is left to another process", lost.joined(0, 0), {"pull 0 step=0"}},
  });
  SyncWorker late = sync_worker(99, 10);
  after_gone(late, 12);
  tell(WorkerStory{
      {"values", late.values(0, 17, 17), {}},
      {"values", late.values(1, 17, 17), {"compute step=18 ticket=2 of 2"}},
      {"made",
       late.computed(2),
       {"push 0 step=18 rank=1 common=0", "push 1 step=18 rank=1 common=0", "pull 0 step=18", "pull 1 step=18"}},
      {"it came back, and is sent what is kept",
       late.joined(1, 12),
       {"push 1 step=18 rank=1 common=0", "pull 1 step=18"}},
      {"10: the rest was left to a process that is lost", late.joined(0, 18), {"restore 0 cut=0", "restore 1 cut=0"}},
  });
  SyncWorker there = sync_worker(99, 10);
  after_gone(there, 12);
  tell(WorkerStory{
      {"shard 1 has reached 17", there.notice(1, 17, {0}), {}},
      {"no shard lacks anything", there.joined(0, 17), {"pull 0 step=17"}},
  });
}

TEST_CASE("SyncWorkerCore: Gone is ignored when the values have arrived", "[ps]") {
  SyncWorker w = sync_worker(9, 2);
  carry_to(w, 4);
  tell(WorkerStory{
      {"values", w.values(0, 4, 4), {}},
      {"the answer to a second pull", w.gone(0, 4, 6), {}},
      {"continue", w.values(1, 4, 4), {"compute step=5 ticket=6 of 2"}},
      {"while it computes", w.gone(1, 4, 6), {}},
  });
}

TEST_CASE("SyncWorkerCore: it sends Restore when it cannot send a shard what the shard lacks (rule 10)", "[ps]") {
  SyncWorker w = sync_worker(9, 2);  // it started at 4 and has nothing older
  tell(WorkerStory{
      {"join", w.start(), {"join 0", "join 1"}},
      {"join", w.joined(0, 4, {0, 2, 4}), {}},
      {"join", w.joined(1, 4, {0, 2}), {"pull 0 step=4", "pull 1 step=4"}},
      {"values", w.values(0, 4, 4, {0, 2, 4}), {}},
      {"values", w.values(1, 4, 4, {0, 2}), {"compute step=5 ticket=2 of 2"}},
      {"shard 1 came back at 2, and 3 and 4 are not kept",
       w.joined(1, 2, {0, 2}),
       {"restore 0 cut=2", "restore 1 cut=2"}},
      {"the result is dropped", w.computed(2), {}},
      {"a notice meanwhile", w.notice(0, 4, {0, 2, 4}), {}},
      {"values of an earlier pull", w.values(0, 4, 4, {0, 2, 4}), {}},
      {"10: waits for all", w.joined(0, 2, {0, 2}), {}},
      {"10: made again from there", w.joined(1, 2, {0, 2}), {"pull 0 step=2", "pull 1 step=2"}},
      {"values", w.values(0, 2, 2, {0, 2}), {}},
      {"values", w.values(1, 2, 2, {0, 2}), {"compute step=3 ticket=4 of 2"}},
  });
}

TEST_CASE("SyncWorkerCore: after another worker's Restore it sends contributions again from its buffer (rule 11)",
          "[ps]") {
  SyncWorker w = sync_worker(9, 9);
  carry_to(w, 3);
  tell(WorkerStory{
      {"shard 0 was sent back, as far as is known",
       w.joined(0, 2, {0}),
       {"push 0 step=3 rank=1 common=0", "pull 0 step=3"}},
      {"shard 0 was sent back further",
       w.joined(0, 0, {0}),
       {"push 0 step=1 rank=1 common=0", "push 0 step=2 rank=1 common=0", "push 0 step=3 rank=1 common=0",
        "pull 0 step=3"}},
  });
}

TEST_CASE("SyncWorkerCore: contributions are kept until they are in the common cut (rule 6)", "[ps]") {
  // A contribution has two blocks of 64 bytes: the budget is two of them.
  SyncWorker w = sync_worker(9, 2, {.replay_budget_bytes = 256});
  carry_to(w, 2);
  tell(WorkerStory{
      {"values", w.values(0, 2, 2, {0}), {}},
      {"6: full", w.values(1, 2, 2, {0}), {"save 0", "save 1"}},
      {"6: asked only once", w.notice(1, 2, {0}), {}},
      {"not on all shards", w.notice(0, 2, {0, 2}), {}},
      {"6: the common cut moves", w.notice(1, 2, {0, 2}), {"compute step=3 ticket=4 of 2"}},
      {"made",
       w.computed(4),
       {"push 0 step=3 rank=1 common=2", "push 1 step=3 rank=1 common=2", "pull 0 step=3", "pull 1 step=3"}},
  });
  CHECK(w.core.common_cut() == 2);
}

TEST_CASE("SyncWorkerCore: it does not wait for a cut without disk space, and all go back when a shard is lost",
          "[ps]") {
  SyncWorker w = sync_worker(9, 2, {.replay_budget_bytes = 256});
  carry_to(w, 2);
  const auto no_room = [&w](std::uint32_t shard, Step k) {
    return [=, &w](WorkerActions& out) { w.core.notice(shard, {k, {0}, true}, out); };
  };
  tell(WorkerStory{
      {"values", w.values(0, 2, 2), {}},
      {"6: full", w.values(1, 2, 2), {"save 0", "save 1"}},
      {"one shard without disk space is enough", no_room(1, 2), {"compute step=3 ticket=4 of 2"}},
      {"made",
       w.computed(4),
       {"push 0 step=3 rank=1 common=0", "push 1 step=3 rank=1 common=0", "pull 0 step=3", "pull 1 step=3"}},
      {"", no_room(0, 3), {}},
      {"", no_room(1, 3), {}},
      {"values", w.values(0, 3, 3), {}},
      {"came back at 1: what it lacks is kept",
       w.joined(0, 1),
       {"push 0 step=2 rank=1 common=0", "push 0 step=3 rank=1 common=0", "pull 0 step=3"}},
      {"came back at 0: the first contribution is not kept", w.joined(0, 0), {"restore 0 cut=0", "restore 1 cut=0"}},
  });
}

TEST_CASE("SyncWorkerCore: while there is no disk space, it asks for a cut each time its buffer has been filled anew",
          "[ps]") {
  SyncWorker w = sync_worker(9, 2, {.replay_budget_bytes = 256});  // two contributions
  carry_to(w, 2);
  WorkerActions ignored;
  const auto arrive = [&w](Step step) {
    return [&w, step](WorkerActions& out) {
      for (std::uint32_t shard : {0U, 1U}) w.core.values(shard, step, block(1), {step, {0}, true}, out);
    };
  };
  tell(WorkerStory{{"full", arrive(2), {"save 0", "save 1", "compute step=3 ticket=4 of 2"}}});
  w.computed(4)(ignored);
  tell(WorkerStory{{"one of two is new", arrive(3), {"compute step=4 ticket=5 of 2"}}});
  w.computed(5)(ignored);
  tell(WorkerStory{{"both are new", arrive(4), {"save 0", "save 1", "compute step=5 ticket=6 of 2"}}});
}

TEST_CASE("SyncWorkerCore: a Joined may report the cut that the worker waits for", "[ps]") {
  SyncWorker full = sync_worker(9, 2, {.replay_budget_bytes = 256});
  carry_to(full, 2);
  tell(WorkerStory{
      {"values", full.values(0, 2, 2, {0, 2}), {}},
      {"full", full.values(1, 2, 2, {0}), {"save 0", "save 1"}},
      {"shard 1 saved, died and came back",
       full.joined(1, 2, {0, 2}),
       {"pull 1 step=2", "compute step=3 ticket=4 of 2"}},
  });
  SyncWorker last = sync_worker(2, 2);
  carry_to(last, 2);
  tell(WorkerStory{
      {"values", last.values(0, 2, 2, {0, 2}), {}},
      {"the last cut is not durable", last.values(1, 2, 2, {0}), {}},
      {"shard 1 saved, died and came back",
       last.joined(1, 2, {0, 2}),
       {"pull 1 step=2", "goodbye 0", "goodbye 1", "done"}},
  });
}

TEST_CASE("SyncWorkerCore: with a full buffer it asks for cuts at t, wherever the next one is due (rule 6)", "[ps]") {
  SyncWorker w = sync_worker(99, 50, {.replay_budget_bytes = 128});
  carry_to(w, 1);
  tell(WorkerStory{
      {"values", w.values(0, 1, 1), {}},
      {"shard 1 comes back at 0", w.joined(1, 0), {"push 1 step=1 rank=1 common=0", "pull 1 step=1"}},
      {"it has reached t", w.values(1, 1, 1), {"save 0", "save 1"}},
      {"shard 0 comes back and may have forgotten the request", w.joined(0, 1), {"pull 0 step=1", "save 0"}},
      {"saved", w.notice(0, 1, {0, 1}), {}},
      {"saved", w.notice(1, 1, {0, 1}), {"compute step=2 ticket=3 of 2"}},
  });
  SyncWorker zombie = sync_worker(99, 50, {.replay_budget_bytes = 128});
  carry_to(zombie, 1);
  tell(WorkerStory{
      {"values", zombie.values(0, 1, 1), {}},
      {"a newer process of this rank was faster: shards are ahead, so it needs no room",
       zombie.values(1, 1, 2),
       {"compute step=2 ticket=3 of 2"}},
  });
}

TEST_CASE("SyncWorkerCore: the last cut in every list is the end, wherever the shards were sent back to (rule 12)",
          "[ps]") {
  SyncWorker w = sync_worker(9, 2);
  carry_to(w, 4);
  tell(WorkerStory{
      {"values", w.values(0, 4, 4, {0, 9}), {}},
      {"values", w.values(1, 4, 4), {"compute step=5 ticket=6 of 2"}},
      {"both have the last cut", w.notice(1, 4, {0, 9}), {"goodbye 0", "goodbye 1", "done"}},
      {"too late", w.computed(6), {}},
      {"it is done once", w.joined(0, 9, {0, 9}), {}},
  });
}

TEST_CASE("SyncWorkerCore: contributions kept from before a restore do not fill the buffer", "[ps]") {
  SyncWorker w = sync_worker(9, 1, {.replay_budget_bytes = 256});
  carry_to(w, 2);
  tell(WorkerStory{
      {"gone", w.gone(0, 2, 4), {"join 0", "join 1"}},
      {"join", w.joined(0, 0), {}},
      {"lost a disk", w.joined(1, 0), {"pull 0 step=0", "pull 1 step=0"}},
      {"values", w.values(0, 0, 0), {}},
      {"made again", w.values(1, 0, 0), {"compute step=1 ticket=5 of 2"}},
  });
}

TEST_CASE("SyncWorkerCore: without a budget only the newest contribution is kept", "[ps]") {
  SyncWorker w = sync_worker(9, 9, {.replay_budget_bytes = 0});
  carry_to(w, 3);
  tell(WorkerStory{
      {"the newest contribution", w.joined(0, 2), {"push 0 step=3 rank=1 common=0", "pull 0 step=3"}},
      {"earlier ones must be made again", w.joined(0, 1), {"restore 0 cut=0", "restore 1 cut=0"}},
  });
}

TEST_CASE("SyncWorkerCore: it leaves without the contribution that it has asked for, if that will not be made",
          "[ps]") {
  SyncWorker w = sync_worker(9, 2);
  carry_to(w, 1);
  tell(WorkerStory{
      {"values", w.values(0, 1, 1), {}},
      {"values", w.values(1, 1, 1), {"compute step=2 ticket=3 of 2"}},
      {"asked to stop", w.stop(), {}},
      {"not made", w.abandon(), {"leave 0", "leave 1", "left"}},
      {"once", w.abandon(), {}},
      {"too late", w.computed(3), {}},
  });
}

TEST_CASE("SyncWorkerCore: asked to stop, it finishes the contribution being computed and leaves", "[ps]") {
  SyncWorker idle = sync_worker(9, 2);
  carry_to(idle, 1);
  tell(WorkerStory{
      {"nothing in flight", idle.stop(), {"leave 0", "leave 1", "left"}},
      {"once", idle.stop(), {}},
      {"it has left", idle.values(0, 1, 1), {}},
  });
  SyncWorker busy = sync_worker(9, 2);
  carry_to(busy, 1);
  tell(WorkerStory{
      {"values", busy.values(0, 1, 1), {}},
      {"values", busy.values(1, 1, 1), {"compute step=2 ticket=3 of 2"}},
      {"in flight", busy.stop(), {}},
      {"made",
       busy.computed(3),
       {"push 0 step=2 rank=1 common=0", "push 1 step=2 rank=1 common=0", "leave 0", "leave 1", "left"}},
  });
  SyncWorker overtaken = sync_worker(9, 2, {.replay_budget_bytes = 0});
  carry_to(overtaken, 2);
  tell(WorkerStory{
      {"values", overtaken.values(0, 2, 2), {}},
      {"values", overtaken.values(1, 2, 2), {"compute step=3 ticket=4 of 2"}},
      {"in flight", overtaken.stop(), {}},
      {"it would have to send Restore, and leaves", overtaken.joined(1, 0), {"leave 0", "leave 1", "left"}},
      {"too late", overtaken.computed(4), {}},
  });
}

TEST_CASE("SyncWorkerCore: a worker that wants the result gets it before goodbye (rule 12)", "[ps]") {
  SyncWorker w = sync_worker(2, 2, {.wants_result = true});
  carry_to(w, 2);
  tell(WorkerStory{
      {"values", w.values(0, 2, 2), {}},
      {"durable", w.notice(0, 2, {0, 2}), {}},
      {"durable on all shards, but not all values have arrived", w.notice(1, 2, {0, 2}), {}},
      {"now they are", w.values(1, 2, 2, {0, 2}), {"goodbye 0", "goodbye 1", "done w=1 w=1"}},
  });
  SyncWorker first = sync_worker(2, 2, {.wants_result = true});
  carry_to(first, 2);
  tell(WorkerStory{
      {"values", first.values(0, 2, 2, {0, 2}), {}},
      {"values", first.values(1, 2, 2), {}},
      {"durable", first.notice(1, 2, {0, 2}), {"goodbye 0", "goodbye 1", "done w=1 w=1"}},
  });
  SyncWorker late = sync_worker(2, 2, {.wants_result = true});
  tell(WorkerStory{
      {"join", late.start(), {"join 0", "join 1"}},
      {"the last step", late.joined(0, 2, {0, 2}), {}},
      {"the last cut exists: it pulls the values", late.joined(1, 2, {0, 2}), {"pull 0 step=2", "pull 1 step=2"}},
      {"values", late.values(0, 2, 2, {0, 2}), {}},
      {"values", late.values(1, 2, 2, {0, 2}), {"goodbye 0", "goodbye 1", "done w=1 w=1"}},
  });
}

TEST_CASE("SyncWorkerCore: shards that were sent back go to the cut of the last step for the result", "[ps]") {
  SyncWorker w = sync_worker(9, 2, {.wants_result = true});
  carry_to(w, 4);
  tell(WorkerStory{
      {"values", w.values(0, 4, 4, {0, 9}), {}},
      {"all have the last cut", w.values(1, 4, 4, {0, 9}), {"restore 0 cut=9", "restore 1 cut=9"}},
      {"at the last step", w.joined(0, 9, {0, 9}), {}},
      {"at the last step", w.joined(1, 9, {0, 9}), {"pull 0 step=9", "pull 1 step=9"}},
      {"values", w.values(0, 9, 9, {0, 9}), {}},
      {"values", w.values(1, 9, 9, {0, 9}), {"goodbye 0", "goodbye 1", "done w=1 w=1"}},
  });
  SyncWorker one = sync_worker(2, 2, {.wants_result = true});
  carry_to(one, 2);
  tell(WorkerStory{
      {"values", one.values(0, 2, 2, {0, 2}), {}},
      {"another worker sent it back",
       one.joined(1, 0, {0, 2}),
       {"push 1 step=1 rank=1 common=2", "push 1 step=2 rank=1 common=2", "pull 1 step=2", "restore 0 cut=2",
        "restore 1 cut=2"}},
      {"its values were kept", one.joined(0, 2, {0, 2}), {}},
      {"at the last step", one.joined(1, 2, {0, 2}), {"pull 0 step=2", "pull 1 step=2"}},
      {"values", one.values(0, 2, 2, {0, 2}), {}},
      {"values", one.values(1, 2, 2, {0, 2}), {"goodbye 0", "goodbye 1", "done w=1 w=1"}},
  });
}

TEST_CASE("SyncWorkerCore: asked to stop, it leaves without the result", "[ps]") {
  SyncWorker w = sync_worker(2, 2, {.wants_result = true});
  carry_to(w, 2);
  tell(WorkerStory{{"stop", w.stop(), {"leave 0", "leave 1", "left"}}});
}

namespace {

auto sync_worker_with_tables(Step total, Step interval, distrib::WorkerOptions options = {}) -> SyncWorker {
  return {{SyncWorkerCore{story::with_tables(story::job(2, 2, total, interval)), 1, options}}};
}

/// As `carry_to`, with rows.
void carry_rows_to(SyncWorker& w, Step t) {
  WorkerActions ignored;
  w.start()(ignored);
  for (std::uint32_t shard : {0U, 1U}) w.joined(shard, 0)(ignored);
  w.prepared(1)(ignored);
  for (Step step = 0; step < t; ++step) {
    WorkerActions out;
    for (std::uint32_t shard : {0U, 1U}) w.rows(shard, step, step)(out);
    REQUIRE_FALSE(out.empty());
    w.computed(std::get<distrib::Compute>(out.back()).ticket, step + 2)(ignored);
  }
  REQUIRE(w.core.step() == t);
}

}  // namespace

TEST_CASE("SyncWorkerCore: with tables it asks once which rows it needs; later ones arrive with each contribution",
          "[ps]") {
  SyncWorker w = sync_worker_with_tables(2, 0);
  tell(WorkerStory{
      {"not asked for", w.prepared(1), {}},
      {"join", w.start(), {"join 0", "join 1"}},
      {"waits for all", w.joined(0, 0), {}},
      {"which rows?", w.joined(1, 0), {"prepare step=1"}},
      {"connected again, but the rows are not known yet", w.joined(0, 0), {}},
      {"values that were not pulled", w.values(0, 0, 0), {}},
      {"rows of another step", w.prepared(2), {}},
      {"these", w.prepared(1), {"pull 0 step=0 rows=1;", "pull 1 step=0 rows=;1"}},
      {"a second time", w.prepared(1), {}},
      {"connected again", w.joined(0, 0), {"pull 0 step=0 rows=1;"}},
      {"an answer without rows is ignored", w.values(0, 0, 0), {}},
      {"values", w.rows(1, 0, 0), {}},
      {"values", w.rows(0, 0, 0), {"compute step=1 ticket=2 of 2"}},
      {"made, and the next rows are known",
       w.computed(2, 2),
       {"push 0 step=1 rank=1 common=0", "push 1 step=1 rank=1 common=0", "pull 0 step=1 rows=2;",
        "pull 1 step=1 rows=;2"}},
      {"values", w.rows(0, 1, 1), {}},
      {"values", w.rows(1, 1, 1), {"compute step=2 ticket=3 of 2"}},
      {"the last one, with the rows that are wanted at the end",
       w.computed(3, 3),
       {"push 0 step=2 rank=1 common=0", "push 1 step=2 rank=1 common=0", "pull 0 step=2 rows=3;",
        "pull 1 step=2 rows=;0"}},
  });
}

TEST_CASE("SyncWorkerCore: the next rows are not known yet, because their records are not there: it asks for them",
          "[ps]") {
  SyncWorker w = sync_worker_with_tables(9, 0);
  carry_rows_to(w, 1);
  WorkerActions ignored;
  w.rows(0, 1, 1)(ignored);
  tell(WorkerStory{
      {"values", w.rows(1, 1, 1), {"compute step=2 ticket=3 of 2"}},
      {"made", w.computed(3), {"push 0 step=2 rank=1 common=0", "push 1 step=2 rank=1 common=0", "prepare step=3"}},
      {"nothing was pulled", w.values(0, 2, 2), {}},
      {"these", w.prepared(3), {"pull 0 step=2 rows=3;", "pull 1 step=2 rows=;0"}},
      {"values", w.rows(0, 2, 2), {}},
      {"values", w.rows(1, 2, 2), {"compute step=3 ticket=4 of 2"}},
      {"asked to stop meanwhile", w.stop(), {}},
      {"its records never came", w.abandon(), {"leave 0", "leave 1", "left"}},
  });
}

TEST_CASE("SyncWorkerCore: after Gone it pulls the same rows; after a Restore it asks which rows are needed there",
          "[ps]") {
  SyncWorker w = sync_worker_with_tables(9, 2);
  carry_rows_to(w, 4);
  tell(WorkerStory{
      {"9: join all", w.gone(0, 4, 6, {0, 2, 4, 6}), {"join 0", "join 1"}},
      {"joined again", w.joined(0, 6, {0, 2, 4, 6}), {}},
      {"the rows of 5 are known", w.joined(1, 4, {0, 2}), {"pull 0 step=4 rows=5;", "pull 1 step=4 rows=;2"}},
      {"9: restore the common cut", w.gone(0, 4, 6, {0, 2, 4, 6}), {"restore 0 cut=2", "restore 1 cut=2"}},
      {"late values", w.rows(1, 4, 4), {}},
      {"10", w.joined(0, 2, {0, 2}), {}},
      {"the rows of 3 are not known", w.joined(1, 2, {0, 2}), {"prepare step=3"}},
      {"values of the step, without rows", w.values(0, 2, 2), {}},
      {"these", w.prepared(3), {"pull 0 step=2 rows=3;", "pull 1 step=2 rows=;0"}},
      {"values", w.rows(0, 2, 2), {}},
      {"values", w.rows(1, 2, 2), {"compute step=3 ticket=8 of 2"}},
  });
}

TEST_CASE(
    "SyncWorkerCore: continuing beside another process, it asks for the rows of the step of that process (rule 9)",
    "[ps]") {
  SyncWorker w = sync_worker_with_tables(99, 0);
  tell(WorkerStory{
      {"join", w.start(), {"join 0", "join 1"}},
      {"ahead", w.joined(0, 17), {}},
      {"behind", w.joined(1, 2), {"prepare step=3"}},
      {"", w.prepared(3), {"pull 0 step=2 rows=3;", "pull 1 step=2 rows=;0"}},
      {"9: no Restore", w.doubled(0, 2, 17), {"prepare step=18"}},
      {"", w.prepared(18), {"pull 0 step=17 rows=18;", "pull 1 step=17 rows=;0"}},
      {"one step further, whose values were wanted before", w.doubled(0, 17, 18), {"prepare step=19"}},
  });
}

TEST_CASE("SyncWorkerCore: rows for a step that a restore has made void are ignored", "[ps]") {
  SyncWorker w = sync_worker_with_tables(9, 2);
  tell(WorkerStory{
      {"join", w.start(), {"join 0", "join 1"}},
      {"join", w.joined(0, 4, {0, 2, 4}), {}},
      {"at 4", w.joined(1, 4, {0, 2}), {"prepare step=5"}},
      {"10: it does not keep what shard 1 lacks", w.joined(1, 2, {0, 2}), {"restore 0 cut=2", "restore 1 cut=2"}},
      {"while it waits for the answers", w.prepared(5), {}},
      {"at 2", w.joined(0, 2, {0, 2}), {}},
      {"at 2", w.joined(1, 2, {0, 2}), {"prepare step=3"}},
      {"too late", w.prepared(5), {}},
      {"these", w.prepared(3), {"pull 0 step=2 rows=3;", "pull 1 step=2 rows=;0"}},
  });
  SyncWorker same_step = sync_worker_with_tables(9, 2);
  tell(WorkerStory{
      {"join", same_step.start(), {"join 0", "join 1"}},
      {"join", same_step.joined(0, 2, {0, 2}), {}},
      {"at 2", same_step.joined(1, 2, {0, 2}), {"prepare step=3"}},
      {"a disk is lost: back to 0", same_step.joined(1, 0, {0}), {"restore 0 cut=0", "restore 1 cut=0"}},
      {"shard 1 was faster", same_step.joined(1, 2, {0}), {}},
      {"at 2 again", same_step.joined(0, 2, {0}), {"prepare step=3"}},
      {"the first answer is still right", same_step.prepared(3), {"pull 0 step=2 rows=3;", "pull 1 step=2 rows=;0"}},
      {"the second answer is ignored", same_step.prepared(3), {}},
  });
}

TEST_CASE("SyncWorkerCore: a pull that waits for room wants no rows, and its answer does not count as values", "[ps]") {
  SyncWorker w = sync_worker_with_tables(9, 1);  // the window is 2
  carry_rows_to(w, 3);
  tell(WorkerStory{
      {"back at 0: a pull that is answered when there is room",
       w.joined(1, 0),
       {"push 1 step=1 rank=1 common=0", "push 1 step=2 rank=1 common=0", "pull 1 step=2", "pull 1 step=3 rows=;1"}},
      {"values", w.rows(0, 3, 3), {}},
      {"room", w.values(1, 2, 2), {"push 1 step=3 rank=1 common=0"}},
      {"an answer without rows, to an earlier pull", w.values(1, 3, 3), {}},
      {"values", w.rows(1, 3, 3), {"compute step=4 ticket=5 of 2"}},
  });
}

TEST_CASE("SyncWorkerCore: a worker that finds the last cut pulls the result with the rows that are wanted at the end",
          "[ps]") {
  SyncWorker w = sync_worker_with_tables(2, 2, {.wants_result = true});
  tell(WorkerStory{
      {"join", w.start(), {"join 0", "join 1"}},
      {"the last step", w.joined(0, 2, {0, 2}), {}},
      {"which rows?", w.joined(1, 2, {0, 2}), {"prepare step=3"}},
      {"these", w.prepared(3), {"pull 0 step=2 rows=3;", "pull 1 step=2 rows=;0"}},
      {"values", w.rows(0, 2, 2, {0, 2}), {}},
      {"values", w.rows(1, 2, 2, {0, 2}), {"goodbye 0", "goodbye 1", "done w=1 rows=2 w=1 rows=2"}},
  });
  SyncWorker leaves = sync_worker_with_tables(9, 2);
  tell(WorkerStory{
      {"join", leaves.start(), {"join 0", "join 1"}},
      {"join", leaves.joined(0, 0), {}},
      {"which rows?", leaves.joined(1, 0), {"prepare step=1"}},
      {"stop", leaves.stop(), {"leave 0", "leave 1", "left"}},
      {"too late", leaves.prepared(1), {}},
  });
}

namespace {

/// Rank 1 of 3, with two shards. A step is complete with two contributions.
auto backup_worker(Step total, Step interval, distrib::WorkerOptions options = {}) -> SyncWorker {
  distrib::Job job = story::job(2, 3, total, interval);
  job.consistency = distrib::BulkSynchronousParallel{.replicas_to_aggregate = 2};
  return {{SyncWorkerCore{job, 1, options}}};
}

}  // namespace

TEST_CASE("SyncWorkerCore: with backup workers a late worker continues at the smallest k and sends no Restore (rule 9)",
          "[ps]") {
  SyncWorker w = backup_worker(99, 9);
  carry_to(w, 4);
  tell(WorkerStory{
      {"Gone: join all", w.gone(0, 4, 8), {"join 0", "join 1"}},
      {"Gone from the other shard too", w.gone(1, 4, 7), {}},
      {"8", w.joined(0, 8), {}},
      {"7 is the smallest", w.joined(1, 7), {"pull 0 step=7", "pull 1 step=7"}},
      {"too late again", w.gone(1, 7, 9), {"join 0", "join 1"}},
      {"9", w.joined(0, 9), {}},
      {"9", w.joined(1, 9), {"pull 0 step=9", "pull 1 step=9"}},
      {"values", w.values(0, 9, 9), {}},
      {"continue", w.values(1, 9, 9), {"compute step=10 ticket=8 of 2"}},
      {"a notice says that shard 0 is ahead already", w.notice(0, 11, {0, 9}), {}},
      {"stale at shard 0, counts at shard 1",
       w.computed(8),
       {"push 0 step=10 rank=1 common=0", "push 1 step=10 rank=1 common=0", "pull 0 step=10", "pull 1 step=10"}},
  });
}

TEST_CASE("SyncWorkerCore: other ranks may have a contribution that it lacks, until a shard waits for exactly this one",
          "[ps]") {
  SyncWorker w = backup_worker(99, 9);
  carry_to(w, 4);
  WorkerActions ignored;
  w.gone(0, 4, 6)(ignored);
  for (std::uint32_t shard : {0U, 1U}) w.joined(shard, 6)(ignored);
  for (std::uint32_t shard : {0U, 1U}) w.values(shard, 6, 6)(ignored);
  w.computed(std::get<distrib::Compute>(ignored.back()).ticket)(ignored);  // it has 1 .. 4 and 7
  tell(WorkerStory{
      {"shard 1 came back: what is kept, and a pull that is answered when that is counted",
       w.joined(1, 2),
       {"push 1 step=3 rank=1 common=0", "push 1 step=4 rank=1 common=0", "pull 1 step=4", "pull 1 step=7"}},
      {"not yet", w.pushed(1, 3), {}},
      {"other ranks had 5 and 6", w.values(1, 4, 6), {"push 1 step=7 rank=1 common=0"}},
      {"again, and this time no other rank has 5",
       w.joined(1, 3),
       {"push 1 step=4 rank=1 common=0", "pull 1 step=4", "pull 1 step=7"}},
      {"the shard waits for 5", w.values(1, 4, 4), {"join 0", "join 1"}},
      {"joined", w.joined(0, 7), {}},
      {"made again: 4 is the smallest", w.joined(1, 4), {"pull 0 step=4", "pull 1 step=4"}},
      {"values", w.values(1, 4, 4), {}},
      {"shard 0 no longer has the values", w.gone(0, 4, 7), {"join 0", "join 1"}},
      {"joined", w.joined(0, 7), {}},
      {"so shard 0 is asked for the step where it is", w.joined(1, 4), {"pull 0 step=7", "pull 1 step=4"}},
      {"an answer to an earlier pull", w.values(0, 4, 7), {}},
      {"values", w.values(1, 4, 4), {}},
      {"7 and 4", w.values(0, 7, 7), {"compute step=5 ticket=10 of 2"}},
      {"useful to shard 1",
       w.computed(10),
       {"push 0 step=5 rank=1 common=0", "push 1 step=5 rank=1 common=0", "pull 0 step=5", "pull 1 step=5"}},
  });
}

TEST_CASE("SyncWorkerCore: with backup workers it does not make contributions again that it still has", "[ps]") {
  SyncWorker w = backup_worker(99, 9);
  carry_to(w, 4);
  tell(WorkerStory{
      {"gone", w.gone(0, 4, 6), {"join 0", "join 1"}},
      {"joined", w.joined(0, 6), {}},
      {"shard 1 is back at 2: it continues after 4",
       w.joined(1, 2),
       {"pull 0 step=6", "pull 1 step=4", "push 1 step=3 rank=1 common=0", "push 1 step=4 rank=1 common=0"}},
      {"values", w.values(0, 6, 6), {}},
      {"continue", w.values(1, 4, 4), {"compute step=5 ticket=7 of 2"}},
  });
}

TEST_CASE("SyncWorkerCore: with backup workers a shard that came back may have other values of the same step", "[ps]") {
  SyncWorker w = backup_worker(9, 9);
  carry_to(w, 4);
  tell(WorkerStory{
      {"values", w.values(0, 4, 4), {}},
      {"back, and at 4 already", w.joined(0, 4), {"pull 0 step=4"}},
      {"its earlier values do not count", w.values(1, 4, 4), {}},
      {"these count", w.values(0, 4, 4), {"compute step=5 ticket=6 of 2"}},
  });
}

TEST_CASE("SyncWorkerCore: with backup workers a late worker that wants the result pulls it, and sends no Restore",
          "[ps]") {
  SyncWorker w = backup_worker(9, 9, {.wants_result = true});
  carry_to(w, 4);
  tell(WorkerStory{
      {"9 is saved", w.notice(0, 9, {0, 9}), {}},
      {"on all shards", w.notice(1, 9, {0, 9}), {"join 0", "join 1"}},
      {"joined", w.joined(0, 9, {0, 9}), {}},
      {"the last", w.joined(1, 9, {0, 9}), {"pull 0 step=9", "pull 1 step=9"}},
      {"values", w.values(0, 9, 9, {0, 9}), {}},
      {"done", w.values(1, 9, 9, {0, 9}), {"goodbye 0", "goodbye 1", "done w=1 w=1"}},
  });
}

TEST_CASE("SyncWorkerCore: with two replicas it uses the values of either, and sends both the same contributions",
          "[ps]") {
  distrib::Job job = story::job(1, 1, 9, 0);
  job.replicas = 2;
  SyncWorker w{{SyncWorkerCore{job, 0}}};
  const auto lost = [&w](std::uint32_t replica) {
    return [&w, replica](WorkerActions& out) { w.core.disconnected(replica, out); };
  };
  const auto made = [&w](std::uint64_t ticket) {
    return [&w, ticket](WorkerActions& out) { w.core.computed(ticket, {block(1)}, out); };
  };
  tell(WorkerStory{
      {"both are connected", w.reconnected(0), {"join 0"}},
      {"", w.reconnected(1), {"join 1"}},
      {"waits for both", w.joined(1, 0), {}},
      {"pulls from the first", w.joined(0, 0), {"pull 0 step=0"}},
      {"it is lost: pulls from the other", lost(0), {"pull 1 step=0"}},
      {"continues without it", w.values(1, 0, 0), {"compute step=1 ticket=1 of 1"}},
      {"made", made(1), {"push 1 step=1 rank=0 common=0", "pull 1 step=1"}},
      {"it is connected again", w.reconnected(0), {"join 0"}},
      {"and is sent what it lacks", w.joined(0, 0), {"push 0 step=1 rank=0 common=0", "pull 0 step=1"}},
      {"the first answer counts", w.values(0, 1, 1), {"compute step=2 ticket=2 of 1"}},
      {"made", made(2), {"push 0 step=2 rank=0 common=0", "push 1 step=2 rank=0 common=0", "pull 0 step=2"}},
      {"a cut of one replica is not common", w.values(0, 2, 2, {0, 2}), {"compute step=3 ticket=3 of 1"}},
  });
  CHECK(w.core.common_cut() == 0);
  tell(WorkerStory{{"both have it", w.notice(1, 2, {0, 2}), {}}});
  CHECK(w.core.common_cut() == 2);
  tell(WorkerStory{
      {"made", made(3), {"push 0 step=3 rank=0 common=2", "push 1 step=3 rank=0 common=2", "pull 0 step=3"}},
      {"two answers", w.reconnected(1), {"join 1"}},
      {"", w.joined(1, 3, {0, 2}), {"pull 1 step=3"}},
      {"", w.values(0, 3, 3, {0, 2}), {"compute step=4 ticket=4 of 1"}},
  });
}

TEST_CASE(
    "SyncWorkerCore: no goodbye for a shard with a replica that is behind, so that the other replica waits for it",
    "[ps]") {
  distrib::Job job = story::job(2, 1, 9, 0);
  job.replicas = 2;
  SyncWorker w{{SyncWorkerCore{job, 0}}};
  const auto lost = [&w](WorkerActions& out) { w.core.disconnected(2, out); };
  tell(WorkerStory{
      {"", w.joined(0, 9, {0, 4}), {}},
      {"", w.joined(1, 9, {0, 9}), {"pull 0 step=9", "pull 1 step=9"}},
      {"a replica is behind", w.joined(2, 5, {0, 4}), {"catch up 2 k=5", "pull 2 step=9"}},
      {"", w.joined(3, 9, {0, 9}), {"pull 3 step=9"}},
      {"a connected replica is waited for", w.notice(0, 9, {0, 9}), {}},
      {"it is lost", lost, {"leave 0", "goodbye 1", "leave 2", "goodbye 3", "done"}},
  });
}

TEST_CASE("SyncWorkerCore: when a replica joins again, the other replica may have the values first", "[ps]") {
  distrib::Job job = story::job(1, 2, 9, 0);
  job.replicas = 2;
  SyncWorker w{{SyncWorkerCore{job, 0}}};
  tell(WorkerStory{
      {"both are connected", w.reconnected(0), {"join 0"}},
      {"", w.reconnected(1), {"join 1"}},
      {"", w.joined(1, 0), {}},
      {"", w.joined(0, 0), {"pull 0 step=0"}},
      {"", w.values(0, 0, 0), {"compute step=1 ticket=1 of 1"}},
      {"made",
       [&w](WorkerActions& out) { w.core.computed(1, {block(1)}, out); },
       {"push 0 step=1 rank=0 common=0", "push 1 step=1 rank=0 common=0", "pull 0 step=1"}},
      {"it lacks what another rank no longer has",
       w.joined(0, 0),
       {"push 0 step=1 rank=0 common=0", "pull 0 step=1", "pull 1 step=1"}},
      {"the other replica has all", w.values(1, 1, 1), {"compute step=2 ticket=2 of 1"}},
  });
}

TEST_CASE("SyncWorkerCore: when the values of a shard have arrived, its other replica is not asked for them", "[ps]") {
  distrib::Job job = story::job(2, 1, 9, 0);
  job.replicas = 2;
  SyncWorker w{{SyncWorkerCore{job, 0}}};
  WorkerActions ignored;
  for (std::uint32_t replica : {0U, 1U, 2U, 3U}) w.reconnected(replica)(ignored);
  for (std::uint32_t replica : {1U, 2U, 3U}) w.joined(replica, 0)(ignored);
  tell(WorkerStory{
      {"", w.joined(0, 0), {"pull 0 step=0", "pull 1 step=0"}},
      {"the values of shard 0", w.values(0, 0, 0), {}},
      {"the same replica joins again", w.joined(0, 0), {"pull 0 step=0"}},
  });
}

TEST_CASE("SyncWorkerCore: a replica that lacks what is no longer kept gets the state of the other replica", "[ps]") {
  distrib::Job job = story::job(1, 1, 9, 0);
  job.replicas = 2;
  SyncWorker w{{SyncWorkerCore{job, 0}}};
  tell(WorkerStory{
      {"the first is ahead", w.joined(0, 4, {0, 4}), {"pull 0 step=4"}},
      {"the second has lost its disk", w.joined(1, 0), {"catch up 1 k=0", "pull 1 step=4"}},
      {"meanwhile the first alone counts", w.values(0, 4, 4, {0, 4}), {"compute step=5 ticket=1 of 1"}},
  });
  CHECK(w.core.common_cut() == 4);
  tell(WorkerStory{
      {"it has caught up", w.joined(1, 4, {0, 4}), {"pull 1 step=4"}},
      {"",
       [&w](WorkerActions& out) { w.core.computed(1, {block(1)}, out); },
       {"push 0 step=5 rank=0 common=4", "push 1 step=5 rank=0 common=4", "pull 0 step=5"}},
  });
}

TEST_CASE("SyncWorkerCore: a replica waits for the state of the other replica until that has joined again", "[ps]") {
  distrib::Job job = story::job(1, 1, 9, 0);
  job.replicas = 2;
  SyncWorker w{{SyncWorkerCore{job, 0}}};
  tell(WorkerStory{
      {"", w.joined(0, 4, {0, 4}), {"pull 0 step=4"}},
      {"it is lost", [&w](WorkerActions& out) { w.core.disconnected(0, out); }, {}},
      {"and connected again", w.reconnected(0), {"join 0"}},
      {"the other one has lost its disk, and waits", w.joined(1, 0), {"pull 1 step=4"}},
      {"it can get the state", w.joined(0, 4, {0, 4}), {"pull 0 step=4", "catch up 1 k=0"}},
  });
}

TEST_CASE("SyncWorkerCore: a replica that a Restore sent back gets no state: all go back, also its other replica",
          "[ps]") {
  distrib::Job job = story::job(2, 2, 9, 0);
  job.replicas = 2;
  SyncWorker w{{SyncWorkerCore{job, 0}}};
  const auto start = [&w] {
    tell(WorkerStory{
        {"all are connected", w.reconnected(0), {"join 0"}},
        {"", w.reconnected(1), {"join 1"}},
        {"", w.reconnected(2), {"join 2"}},
        {"", w.reconnected(3), {"join 3"}},
        {"", w.joined(0, 4, {0, 4}), {}},
        {"", w.joined(1, 3, {0, 3}), {}},
        {"", w.joined(2, 4, {0, 4}), {}},
        {"", w.joined(3, 3, {0, 3}), {"pull 0 step=3", "pull 1 step=3"}},
    });
  };
  SECTION("it went back on the same connection") {
    start();
    tell(WorkerStory{
        {"another worker had found only cut 0 in common",
         w.joined(0, 0, {0, 4}),
         {"restore 0 cut=0", "restore 1 cut=0", "restore 2 cut=0", "restore 3 cut=0"}},
    });
  }
  SECTION("it started again without its cuts") {
    start();
    tell(WorkerStory{
        {"its connection is lost", [&w](WorkerActions& out) { w.core.disconnected(0, out); }, {"pull 2 step=3"}},
        {"", w.reconnected(0), {"join 0"}},
        {"", w.joined(0, 0), {"catch up 0 k=0", "pull 0 step=3"}},
    });
  }
  SECTION("all have gone back: the job goes on from there") {
    start();
    tell(WorkerStory{
        {"all go back",
         w.joined(0, 0, {0, 4}),
         {"restore 0 cut=0", "restore 1 cut=0", "restore 2 cut=0", "restore 3 cut=0"}},
        {"", w.joined(0, 0, {0, 4}), {}},
        {"", w.joined(1, 0, {0, 3}), {}},
        {"", w.joined(2, 0, {0, 4}), {}},
        {"", w.joined(3, 0, {0, 3}), {"pull 0 step=0", "pull 1 step=0"}},
    });
  }
  SECTION("others stay one step ahead, because they keep the values of the cut: these help") {
    tell(WorkerStory{
        {"all are connected", w.reconnected(0), {"join 0"}},
        {"", w.reconnected(1), {"join 1"}},
        {"", w.reconnected(2), {"join 2"}},
        {"", w.reconnected(3), {"join 3"}},
        {"", w.joined(0, 1, {0}), {}},
        {"", w.joined(1, 1, {0, 1}), {}},
        {"", w.joined(2, 1, {0}), {}},
        {"", w.joined(3, 1, {0, 1}), {"pull 0 step=1", "pull 1 step=1"}},
        {"a Restore of another worker comes late",
         w.joined(1, 0, {0, 1}),
         {"restore 0 cut=0", "restore 1 cut=0", "restore 2 cut=0", "restore 3 cut=0"}},
        {"", w.joined(0, 1, {0}), {}},
        {"", w.joined(1, 0, {0, 1}), {}},
        {"", w.joined(2, 1, {0}), {}},
        {"", w.joined(3, 1, {0, 1}), {"pull 0 step=1", "catch up 1 k=0", "pull 3 step=1"}},
    });
  }
}

TEST_CASE("SyncWorkerCore: a replica that is left behind is sent what is kept, and counts again when it advances",
          "[ps]") {
  distrib::Job job = story::job(1, 2, 9, 0);
  job.replicas = 2;
  SyncWorker w{{SyncWorkerCore{job, 0}}};
  tell(WorkerStory{
      {"the first is ahead, and has no cut", w.joined(0, 4), {"pull 0 step=4"}},
      {"the second has lost its disk", w.joined(1, 3), {"catch up 1 k=3", "pull 1 step=4"}},
      {"there was no disk space for a cut", w.joined(1, 3), {"pull 1 step=4"}},
      {"continues", w.values(0, 4, 4), {"compute step=5 ticket=1 of 1"}},
      {"another worker may send 4 to the second",
       [&w](WorkerActions& out) { w.core.computed(1, {block(1)}, out); },
       {"push 0 step=5 rank=0 common=0", "push 1 step=5 rank=0 common=0", "pull 0 step=5"}},
      {"it did", w.pushed(1, 4), {}},
      {"the first is lost: pulls from the second",
       [&w](WorkerActions& out) { w.core.disconnected(0, out); },
       {"pull 1 step=5"}},
  });
  SyncWorker late{{SyncWorkerCore{job, 0}}};
  WorkerActions ignored;
  late.joined(0, 4)(ignored);
  for (int i = 0; i < 2; ++i) late.joined(1, 3)(ignored);
  late.values(0, 4, 4)(ignored);
  late.core.computed(1, {block(1)}, ignored);
  tell(WorkerStory{
      {"the first may have lost contributions", late.joined(0, 4), {"push 0 step=5 rank=0 common=0", "pull 0 step=5"}},
      {"the second advances, and is asked too", late.pushed(1, 4), {"pull 1 step=5"}},
  });
}

TEST_CASE(
    "SyncWorkerCore: when no replica has the values of t any more, all go back, also a replica that is left behind",
    "[ps]") {
  distrib::Job job = story::job(2, 1, 9, 0);
  job.replicas = 2;
  SyncWorker w{{SyncWorkerCore{job, 0}}};
  tell(WorkerStory{
      {"all are connected", w.reconnected(0), {"join 0"}},
      {"", w.reconnected(1), {"join 1"}},
      {"", w.reconnected(2), {"join 2"}},
      {"", w.reconnected(3), {"join 3"}},
      {"a replica is beyond what the other shard has", w.joined(0, 4, {0, 1}), {}},
      {"", w.joined(1, 2, {0, 2}), {}},
      {"", w.joined(3, 2, {0, 2}), {}},
      {"the other replica of its shard lacks what is no longer kept",
       w.joined(2, 1, {0, 1}),
       {"pull 1 step=2", "pull 2 step=2", "catch up 2 k=1"}},
      {"there was no disk space for a cut", w.joined(2, 1, {0, 1}), {"pull 0 step=2", "pull 2 step=2"}},
      {"", w.gone(0, 2, 4, {0, 1}), {"join 0", "join 1", "join 2", "join 3"}},
      {"", w.joined(0, 4, {0, 1}), {}},
      {"", w.joined(1, 2, {0, 2}), {}},
      {"", w.joined(3, 2, {0, 2}), {}},
      {"nothing has changed", w.joined(2, 1, {0, 1}), {"pull 1 step=2", "pull 2 step=2", "pull 0 step=2"}},
      {"", w.gone(0, 2, 4, {0, 1}), {"restore 0 cut=0", "restore 1 cut=0", "restore 2 cut=0", "restore 3 cut=0"}},
  });
}

TEST_CASE("SyncWorkerCore: replicas whose values differ are reported", "[ps]") {
  distrib::Job job = story::job(2, 1, 9, 0);
  job.replicas = 2;
  SyncWorker w{{SyncWorkerCore{job, 0}}};
  WorkerActions ignored;
  for (const std::uint32_t replica : {0U, 1U, 2U, 3U}) w.joined(replica, 0)(ignored);
  w.joined(2, 0)(ignored);  // it is pulled from too
  tell(WorkerStory{
      {"", w.values(0, 0, 0), {}},
      {"equal", w.values(2, 0, 0), {}},
      {"joins again", w.joined(2, 0), {"pull 2 step=0"}},
      {"not equal",
       [&w](WorkerActions& out) { w.core.values(2, 0, block(7), {0, {0}}, out); },
       {"replicas differ 0 step=0"}},
  });
}

TEST_CASE("SyncWorkerCore: contribution 0 is sent to each shard that waits for it, whenever the shard starts at step 0",
          "[ps]") {
  SyncWorker w = sync_worker(9, 0, {.initial_values = {block(8), block(9)}});
  const auto joined = [&w](std::uint32_t shard, Step k, bool no_values) {
    return [&w, shard, k, no_values](WorkerActions& out) { w.core.joined(shard, {k, {0}, false, no_values}, out); };
  };
  tell(WorkerStory{
      {"", w.start(), {"join 0", "join 1"}},
      {"not before all have answered", joined(0, 0, true), {}},
      {"to the shard that lacks it",
       joined(1, 0, false),
       {"pull 0 step=0", "push 0 step=0 rank=1 common=0", "pull 1 step=0"}},
      {"once", [&w](WorkerActions& out) { w.core.pushed(0, {0, {0}, false, true}, out); }, {}},
      {"", w.values(0, 0, 0), {}},
      {"", w.values(1, 0, 0), {"compute step=1 ticket=2 of 2"}},
      {"it came back without a cut", joined(1, 0, true), {"push 1 step=0 rank=1 common=0", "pull 1 step=0"}},
      {"",
       w.computed(2),
       {"push 0 step=1 rank=1 common=0", "push 1 step=1 rank=1 common=0", "pull 0 step=1", "pull 1 step=1"}},
      {"before the contributions that follow",
       joined(1, 0, true),
       {"push 1 step=0 rank=1 common=0", "push 1 step=1 rank=1 common=0", "pull 1 step=1"}},
  });
}

namespace {

/// Rank 1 of 2, with two shards that report histories: the numbers are the digests of their lineages.
struct WorkerOfHistories : SyncWorker {
  using Names = std::vector<distrib::NamedCut>;

  auto joined_in(std::uint32_t shard, std::uint64_t history, Step k, Cuts cuts, Names names) {
    return [=, this](WorkerActions& out) { core.joined(shard, {k, cuts, false, false, false, history, names}, out); };
  }
  auto values_in(std::uint32_t shard, std::uint64_t history, Step step, Step k, Cuts cuts = {0}) {
    return [=, this](WorkerActions& out) {
      core.values(shard, step, block(1), {k, cuts, false, false, false, history, {}}, out);
    };
  }
  auto notice_in(std::uint32_t shard, std::uint64_t history, Step k, Cuts cuts = {0}) {
    return [=, this](WorkerActions& out) { core.notice(shard, {k, cuts, false, false, false, history, {}}, out); };
  }
};

auto worker_of_histories() -> WorkerOfHistories {
  return {{{SyncWorkerCore{story::job(2, 2, 9, 2), 1, distrib::WorkerOptions{.wants_result = true}}}}};
}

}  // namespace

TEST_CASE("SyncWorkerCore: shards of two histories go to the newest cut that is the same on both", "[ps]") {
  WorkerOfHistories w = worker_of_histories();
  tell(WorkerStory{
      {"", w.start(), {"join 0", "join 1"}},
      {"at a cut of an earlier history", w.joined_in(0, 70, 6, {0, 2, 4, 6}, {{0, 5}, {2, 50}, {4, 50}, {6, 50}}), {}},
      {"the names that it reported stay known", w.notice_in(0, 70, 6, {0, 2, 4, 6}), {}},
      {"neither 6 nor 4 is the same",
       w.joined_in(1, 80, 6, {0, 4, 6}, {{0, 5}, {2, 50}, {4, 60}, {6, 60}}),
       {"restore 0 cut=2 lineage=50", "restore 1 cut=2 lineage=50"}},
      {"loaded", w.joined_in(0, 90, 2, {0, 2}, {{0, 5}, {2, 50}, {4, 50}, {6, 50}}), {}},
      {"both loaded", w.joined_in(1, 90, 2, {0, 2}, {{0, 5}, {2, 50}}), {"pull 0 step=2", "pull 1 step=2"}},
      {"values", w.values_in(0, 90, 2, 2, {0, 2}), {}},
      {"values", w.values_in(1, 90, 2, 2, {0, 2}), {"compute step=3 ticket=3 of 2"}},
  });
  WorkerActions out;
  w.computed(3)(out);
  CHECK(std::get<distrib::SendPush>(out.front()).contribution.history == 90);
}

TEST_CASE("SyncWorkerCore: in a job that is not replayable a new worker sends shards at different steps to one cut",
          "[ps]") {
  distrib::Job job = story::job(2, 2, 9, 2);
  job.replayable = false;
  SyncWorker w{{SyncWorkerCore{job, 1}}};
  tell(WorkerStory{
      {"", w.start(), {"join 0", "join 1"}},
      {"ahead", w.joined(0, 4, {0, 2, 4}), {}},
      {"its steps 3 and 4 cannot be made again", w.joined(1, 2, {0, 2}), {"restore 0 cut=2", "restore 1 cut=2"}},
      {"", w.joined(0, 2, {0, 2}), {}},
      {"now they are at one step", w.joined(1, 2, {0, 2}), {"pull 0 step=2", "pull 1 step=2"}},
      {"", w.values(0, 2, 2, {0, 2}), {}},
      {"", w.values(1, 2, 2, {0, 2}), {"compute step=3 ticket=3 of 2"}},
      {"",
       w.computed(3),
       {"push 0 step=3 rank=1 common=2", "push 1 step=3 rank=1 common=2", "pull 0 step=3", "pull 1 step=3"}},
      {"a shard that comes back is sent what it lacks",
       w.joined(1, 2, {0, 2}),
       {"push 1 step=3 rank=1 common=2", "pull 1 step=3"}},
  });

  SyncWorker replayable = sync_worker(9, 2);
  tell(WorkerStory{
      {"", replayable.start(), {"join 0", "join 1"}},
      {"", replayable.joined(0, 4, {0, 2, 4}), {}},
      {"otherwise it makes them again", replayable.joined(1, 2, {0, 2}), {"pull 0 step=2", "pull 1 step=2"}},
  });
}

TEST_CASE("SyncWorkerCore: cuts of one step and two histories are no common cut at the end of the job", "[ps]") {
  WorkerOfHistories w = worker_of_histories();
  tell(WorkerStory{
      {"", w.start(), {"join 0", "join 1"}},
      {"at the end, with old settings", w.joined_in(0, 70, 9, {0, 9}, {{0, 5}, {9, 50}}), {}},
      {"at the end, with other settings",
       w.joined_in(1, 80, 9, {0, 9}, {{0, 5}, {9, 60}}),
       {"restore 0 cut=0 lineage=5", "restore 1 cut=0 lineage=5"}},
  });
  CHECK_FALSE(w.core.everything_saved());
  CHECK(w.core.common_cut() == 0);
}

TEST_CASE("SyncWorkerCore: when a shard reports another history, the worker joins all again", "[ps]") {
  for (const auto hears : {+[](WorkerOfHistories& w, WorkerActions& out) { w.notice_in(1, 90, 3)(out); },
                           +[](WorkerOfHistories& w, WorkerActions& out) { w.values_in(1, 90, 2, 2)(out); }}) {
    WorkerOfHistories w = worker_of_histories();
    tell(WorkerStory{
        {"", w.start(), {"join 0", "join 1"}},
        {"", w.joined_in(0, 70, 2, {0, 2}, {{0, 5}, {2, 50}}), {}},
        {"", w.joined_in(1, 70, 2, {0, 2}, {{0, 5}, {2, 50}}), {"pull 0 step=2", "pull 1 step=2"}},
        {"", w.values_in(0, 70, 2, 2), {}},
        {"of another history", [&](WorkerActions& out) { hears(w, out); }, {"join 0", "join 1"}},
        {"", w.joined_in(0, 90, 0, {0}, {{0, 5}}), {}},
        {"continues in that history", w.joined_in(1, 90, 0, {0}, {{0, 5}}), {"pull 0 step=0", "pull 1 step=0"}},
    });
  }
}

TEST_CASE("SyncWorkerCore: contributions of another history are not sent again", "[ps]") {
  WorkerOfHistories w = worker_of_histories();
  tell(WorkerStory{
      {"", w.start(), {"join 0", "join 1"}},
      {"", w.joined_in(0, 70, 0, {0}, {{0, 5}}), {}},
      {"", w.joined_in(1, 70, 0, {0}, {{0, 5}}), {"pull 0 step=0", "pull 1 step=0"}},
      {"", w.values_in(0, 70, 0, 0), {}},
      {"", w.values_in(1, 70, 0, 0), {"compute step=1 ticket=2 of 2"}},
      {"",
       w.computed(2),
       {"push 0 step=1 rank=1 common=0", "push 1 step=1 rank=1 common=0", "pull 0 step=1", "pull 1 step=1"}},
      {"another history", w.notice_in(0, 90, 0), {"join 0", "join 1"}},
      {"", w.joined_in(0, 90, 0, {0}, {{0, 5}}), {}},
      {"nothing is pushed", w.joined_in(1, 90, 0, {0}, {{0, 5}}), {"pull 0 step=0", "pull 1 step=0"}},
  });
  WorkerOfHistories late = worker_of_histories();
  tell(WorkerStory{
      {"", late.start(), {"join 0", "join 1"}},
      {"", late.joined_in(0, 70, 0, {0}, {{0, 5}}), {}},
      {"", late.joined_in(1, 70, 0, {0}, {{0, 5}}), {"pull 0 step=0", "pull 1 step=0"}},
      {"", late.values_in(0, 70, 0, 0), {}},
      {"", late.values_in(1, 70, 0, 0), {"compute step=1 ticket=2 of 2"}},
      {"",
       late.computed(2),
       {"push 0 step=1 rank=1 common=0", "push 1 step=1 rank=1 common=0", "pull 0 step=1", "pull 1 step=1"}},
      {"another history", late.notice_in(0, 90, 1), {"join 0", "join 1"}},
      {"", late.joined_in(0, 90, 1, {0}, {{0, 5}}), {}},
      {"", late.joined_in(1, 90, 1, {0}, {{0, 5}}), {"pull 0 step=1", "pull 1 step=1"}},
      {"a shard lacks step 1, which was made in the old history",
       late.joined_in(0, 90, 0, {0}, {{0, 5}}),
       {"restore 0 cut=0", "restore 1 cut=0"}},
  });
}

TEST_CASE("SyncWorkerCore: a shard of an older version takes part if settings were never changed", "[ps]") {
  const std::uint64_t only = story::only_lineage(story::job(2, 2, 9, 2)).digest();
  WorkerOfHistories same = worker_of_histories();
  tell(WorkerStory{
      {"", same.start(), {"join 0", "join 1"}},
      {"reports no history", same.joined(0, 2, {0, 2}), {}},
      {"the only one", same.joined_in(1, only, 2, {0, 2}, {{0, 5}, {2, only}}), {"pull 0 step=2", "pull 1 step=2"}},
  });
  WorkerOfHistories other = worker_of_histories();
  tell(WorkerStory{
      {"", other.start(), {"join 0", "join 1"}},
      {"reports no history", other.joined(0, 2, {0, 2}), {}},
      {"another history", other.joined_in(1, 70, 2, {0, 2}, {{0, 5}, {2, 50}}), {"tells no history 0"}},
  });
}

TEST_CASE(
    "SyncWorkerCore: a replica that is one step beyond t still has its values; a replica that is two steps "
    "beyond is not asked",
    "[ps]") {
  distrib::Job job = story::job(2, 1, 9, 0);
  job.replicas = 2;
  const auto begin_with = [&job](Step of_first) {
    SyncWorker w{{SyncWorkerCore{job, 0}}};
    WorkerActions out;
    for (const std::uint32_t replica : {0U, 1U, 2U, 3U}) w.reconnected(replica)(out);
    for (const std::uint32_t replica : {1U, 2U, 3U}) w.joined(replica, 2)(out);
    out.clear();
    w.joined(0, of_first)(out);
    std::vector<std::string> texts;
    for (const auto& action : out) texts.push_back(story::text(action));
    return texts;
  };
  CHECK(begin_with(2) == std::vector<std::string>{"pull 0 step=2", "pull 1 step=2"});
  CHECK(begin_with(3) == std::vector<std::string>{"pull 0 step=2", "pull 1 step=2"});
  CHECK(begin_with(4) == std::vector<std::string>{"pull 1 step=2", "pull 2 step=2"});
}

namespace {

using distrib::Rank;
using distrib::RankEntry;
using distrib::RankLog;
using distrib::SharedRankLog;

/// A log that begins with ranks 0 and 1, and has these entries.
auto log_with(std::vector<RankEntry> entries) -> SharedRankLog {
  RankLog log{2};
  for (RankEntry& entry : entries) log.add(std::make_shared<const RankEntry>(std::move(entry)));
  return std::make_shared<const RankLog>(std::move(log));
}

/// A rank of a job whose ranks change, with two shards, each with a log of its own.
struct ScaledWorker {
  SyncWorkerCore core;
  SharedRankLog logs[2] = {log_with({}), log_with({})};
  std::uint64_t ticket = 0;

  explicit ScaledWorker(Rank rank, Step total = 20, distrib::WorkerOptions options = {})
      : core{job(total), rank, std::move(options)} {
    WorkerActions ignored;
    core.start(ignored);
    joined(0, 0, ignored);
    joined(1, 0, ignored);
  }

  static auto job(Step total) -> distrib::Job {
    distrib::Job job = story::job(2, 2, total, 4);
    job.most_ranks = 8;
    return job;
  }
  void joined(std::uint32_t shard, Step k, WorkerActions& out, Cuts cuts = {0}) {
    core.joined(shard, {k, std::move(cuts), false, false, false, 0, {}, logs[shard]}, out);
  }
  /// Both shards tell the values of a step; returns the actions.
  auto values(Step step, Cuts cuts = {0}) -> WorkerActions {
    WorkerActions out;
    for (const std::uint32_t shard : {0U, 1U})
      core.values(shard, step, block(1), {step, cuts, false, false, false, 0, {}, logs[shard]}, out);
    return out;
  }
  /// The same; it must compute a contribution then, which is returned. The contribution is made at once.
  auto computes(Step step, Cuts cuts = {0}) -> distrib::Compute {
    const WorkerActions out = values(step, std::move(cuts));
    REQUIRE(out.size() == 1);
    const auto work = std::get<distrib::Compute>(out[0]);
    WorkerActions sent;
    core.computed(work.ticket, {block(1), block(2)}, sent);
    for (const support::WorkerAction& action : sent)
      if (const auto* const push = std::get_if<distrib::SendPush>(&action);
          push && push->contribution.step == work.step)
        CHECK(push->contribution.entry == work.entry);
    return work;
  }
};

auto told_texts(const WorkerActions& actions) -> std::vector<std::string> {
  std::vector<std::string> all;
  for (const support::WorkerAction& action : actions) all.push_back(story::text(action));
  return all;
}

}  // namespace

TEST_CASE("SyncWorkerCore: the ranks of a step are those of the union of what all shards tell (E4, E5)", "[ps]") {
  ScaledWorker w{1};
  const auto first = w.computes(0);
  CHECK(first.entry->ranks == std::vector<Rank>{0, 1});
  CHECK(first.number == 1);
  w.logs[1] = log_with({{3, 1, {0, 1, 4}}});
  CHECK(w.computes(1).number == 3);  // step 2
  const auto third = w.computes(2);
  CHECK(third.entry->ranks == std::vector<Rank>{0, 1, 4});
  CHECK(third.number == 5);
  w.logs[0] = log_with({{4, 2, {1}}});
  CHECK(w.computes(3).number == 7);
  const auto fifth = w.computes(4);
  CHECK(fifth.entry->ranks == std::vector<Rank>{1});
  CHECK(fifth.number == 8);
}

TEST_CASE("SyncWorkerCore: a contribution that is sent again states the ranks of its own step (E4)", "[ps]") {
  ScaledWorker w{1};
  static_cast<void>(w.computes(0));
  w.logs[0] = log_with({{2, 1, {1, 5}}, {3, 2, {1}}});
  static_cast<void>(w.computes(1));
  static_cast<void>(w.computes(2));
  WorkerActions out;
  w.joined(1, 0, out);
  std::vector<std::vector<Rank>> stated;
  for (const support::WorkerAction& action : out)
    if (const auto* const push = std::get_if<distrib::SendPush>(&action))
      stated.push_back(push->contribution.entry->ranks);
  CHECK(stated == std::vector<std::vector<Rank>>{{0, 1}, {1, 5}, {1}});
}

TEST_CASE("SyncWorkerCore: a rank that makes no step follows the values, and sends nobody back", "[ps]") {
  ScaledWorker w{4};
  w.logs[0] = log_with({{4, 1, {0, 4}}});
  CHECK(told_texts(w.values(0)) == std::vector<std::string>{"pull 0 step=1", "pull 1 step=1"});
  CHECK(w.core.step() == 1);
  WorkerActions out;
  w.core.gone(0, 1, {3, {0}, false, false, false, 0, {}, w.logs[0]}, out);
  // It goes on there: no Restore, and no Join, which would lead to the same Gone at once while the other shard is behind.
  CHECK(told_texts(out) == std::vector<std::string>{"pull 0 step=3", "pull 1 step=3"});
  CHECK(w.computes(3).number == 7);
}

TEST_CASE("SyncWorkerCore: however far shards are apart, a rank that looks on joins none of them again", "[ps]") {
  ScaledWorker w{4, 100};
  w.logs[0] = log_with({{40, 1, {0, 4}}});
  w.values(0);
  for (Step step = 1; step < 39; step += 2) {
    WorkerActions out;
    w.core.gone(0, step, {step + 2, {0}, false, false, false, 0, {}, w.logs[0]}, out);
    const std::string at = std::to_string(step + 2);
    CHECK(told_texts(out) == std::vector<std::string>{"pull 0 step=" + at, "pull 1 step=" + at});
  }
}

TEST_CASE("SyncWorkerCore: a rank that went on too far, because it did not know an entry, sends all back", "[ps]") {
  ScaledWorker w{4};
  w.values(0);
  WorkerActions out;
  w.core.gone(0, 1, {3, {0}, false, false, false, 0, {}, w.logs[0]}, out);
  CHECK(told_texts(out) == std::vector<std::string>{"pull 0 step=3", "pull 1 step=3"});
  out.clear();
  w.logs[1] = log_with({{2, 1, {0, 4}}});  // it makes steps 2 and 3, and shard 1 lacks them
  w.core.notice(1, {1, {0}, false, false, false, 0, {}, w.logs[1]}, out);
  CHECK(told_texts(out) == std::vector<std::string>{"restore 0 cut=0", "restore 1 cut=0"});
}

TEST_CASE("SyncWorkerCore: a rank that makes a step that a shard has completed sends all back, if it cannot reach it",
          "[ps]") {
  ScaledWorker w{4};
  w.logs[0] = log_with({{3, 1, {0, 4}}});
  WorkerActions out;
  w.joined(0, 4, out);  // another process of the rank has made step 3; shard 1 came back
  w.core.gone(0, 0, {4, {0}, false, false, false, 0, {}, w.logs[0]}, out);
  out.clear();
  w.joined(0, 4, out);
  w.joined(1, 0, out);
  out.clear();
  w.core.gone(0, 0, {4, {0}, false, false, false, 0, {}, w.logs[0]}, out);
  CHECK(told_texts(out) == std::vector<std::string>{"restore 0 cut=0", "restore 1 cut=0"});
}

TEST_CASE("SyncWorkerCore: a shard gets only contributions of steps that the rank makes", "[ps]") {
  ScaledWorker w{1};
  w.logs[0] = w.logs[1] = log_with({{2, 1, {0}}, {3, 2, {1}}});
  static_cast<void>(w.computes(0));
  static_cast<void>(w.values(1));  // step 2 is made by others
  static_cast<void>(w.computes(2));
  WorkerActions out;
  w.joined(0, 0, out);
  CHECK(told_texts(out) ==
        std::vector<std::string>{"push 0 step=1 rank=1 common=0", "push 0 step=3 rank=1 common=0", "pull 0 step=3"});
}

TEST_CASE("SyncWorkerCore: a rank that makes no later step leaves when its contributions are in the common cut",
          "[ps]") {
  ScaledWorker w{1};
  static_cast<void>(w.computes(0));
  w.logs[0] = log_with({{3, 1, {0}}});
  static_cast<void>(w.computes(1));
  CHECK(told_texts(w.values(2)) == std::vector<std::string>{"pull 0 step=3", "pull 1 step=3"});
  WorkerActions out;
  w.core.notice(0, {4, {0, 4}, false, false, false, 0, {}, w.logs[0]}, out);
  CHECK(out.empty());
  w.core.notice(1, {4, {0, 4}, false, false, false, 0, {}, w.logs[1]}, out);
  CHECK(told_texts(out) == std::vector<std::string>{"leave 0", "leave 1", "left"});
  CHECK(std::get<distrib::WorkerDone>(out.back()).retired);
  ScaledWorker chief{0, 20, {.wants_result = true}};
  chief.logs[0] = log_with({{2, 1, {1}}});
  static_cast<void>(chief.computes(0));
  CHECK(chief.values(1, {0, 1}).size() == 2);  // it wants the result
}

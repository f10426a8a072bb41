// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/protocol/sync_worker_core.hpp>

#include "ps/core_events.hpp"
#include "support/catch.hpp"

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

/// Rank 1 of 2, two shards, and what it says while it does all steps up to `t` undisturbed.
auto sync_worker(Step total, Step interval, distrib::WorkerOptions options = {}) -> SyncWorker {
  return {{SyncWorkerCore{story::job(2, 2, total, interval), 1, options}}};
}

/// Carries it to where it has made the contributions of steps 1 to t and waits for the values of t.
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
  tell(WorkerStory{
      {"7: join all", w.start(), {"join 0", "join 1"}},
      {"waits for all", w.joined(1, 0), {}},
      {"7: t = 0", w.joined(0, 0), {"pull 0 step=0", "pull 1 step=0"}},
      {"waits for all", w.values(1, 0, 0), {}},
      {"another step's values", w.values(0, 5, 0), {}},
      {"all there", w.values(0, 0, 0), {"compute step=1 ticket=2 of 2"}},
      {"not this one", w.computed(1), {}},
      {"made",
       w.computed(2),
       {"push 0 step=1 rank=1 common=0", "push 1 step=1 rank=1 common=0", "pull 0 step=1", "pull 1 step=1"}},
      {"made twice", w.computed(2), {}},
      {"counted or stored", w.pushed(0, 0), {}},
      {"values", w.values(0, 1, 1), {}},
      {"12: at the end it waits for the cut", w.values(1, 1, 1), {}},
      {"12: on every shard", w.notice(0, 1, {0, 1}), {}},
      {"12: goodbye", w.notice(1, 1, {0, 1}), {"goodbye 0", "goodbye 1", "done"}},
      {"that was it", w.notice(1, 1, {0, 1}), {}},
  });
}

TEST_CASE("SyncWorkerCore: a push has an answer of its own unless a pull comes with it", "[ps]") {
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

TEST_CASE("SyncWorkerCore: a start in the middle and at the end (rules 7, 12)", "[ps]") {
  SyncWorker middle = sync_worker(9, 2);
  tell(WorkerStory{
      {"join", middle.start(), {"join 0", "join 1"}},
      {"ahead", middle.joined(0, 5, {0, 2, 4}), {}},
      {"t is the smallest k", middle.joined(1, 4, {0, 2, 4}), {"pull 0 step=4", "pull 1 step=4"}},
      {"the kept one", middle.values(0, 4, 5, {0, 2, 4}), {}},
      {"go on", middle.values(1, 4, 4, {0, 2, 4}), {"compute step=5 ticket=2 of 2"}},
      {"only to the one who needs it",
       middle.computed(2),
       {"push 1 step=5 rank=1 common=4", "pull 0 step=5", "pull 1 step=5"}},
  });
  CHECK(middle.core.step() == 5);
  CHECK(middle.core.common_cut() == 4);
  SyncWorker late = sync_worker(9, 2);
  tell(WorkerStory{
      {"join", late.start(), {"join 0", "join 1"}},
      {"N", late.joined(0, 9, {0, 8, 9}), {}},
      {"12: it finds N and is done", late.joined(1, 9, {0, 8, 9}), {"goodbye 0", "goodbye 1", "done"}},
  });
}

TEST_CASE("SyncWorkerCore: a shard that came back is sent what follows its cut (rule 8)", "[ps]") {
  SyncWorker w = sync_worker(9, 2);
  carry_to(w, 4);
  tell(WorkerStory{
      {"lost and there again", w.reconnected(0), {"join 0"}},
      {"8: what it lacks, and the pull again",
       w.joined(0, 2, {0, 2}),
       {"push 0 step=3 rank=1 common=0", "push 0 step=4 rank=1 common=0", "pull 0 step=4"}},
      {"values", w.values(0, 4, 4, {0, 2}), {}},
      {"once more: the values are here, but is it?",
       w.joined(0, 3, {0, 2}),
       {"push 0 step=4 rank=1 common=0", "pull 0 step=4"}},
      {"go on", w.values(1, 4, 4, {0, 2}), {"compute step=5 ticket=6 of 2"}},
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
      {"back at 0: the first two, and a pull that tells when there is room",
       w.joined(1, 0),
       {"push 1 step=1 rank=1 common=0", "push 1 step=2 rank=1 common=0", "pull 1 step=2", "pull 1 step=5"}},
      {"no room yet", w.pushed(1, 0), {}},
      {"room for one", w.pushed(1, 1), {"push 1 step=3 rank=1 common=0", "pull 1 step=3"}},
      {"the answer", w.values(1, 2, 2), {"push 1 step=4 rank=1 common=0", "pull 1 step=4"}},
      {"or that it is gone", w.gone(1, 3, 5), {}},
  });
}

TEST_CASE("SyncWorkerCore: room is awaited even when the shard's k was never heard of again (rule 3)", "[ps]") {
  SyncWorker w = sync_worker(9, 1);
  carry_to(w, 2);
  tell(WorkerStory{
      {"values of 2", w.values(0, 2, 2), {}},
      {"back at 0",
       w.joined(0, 0),
       {"push 0 step=1 rank=1 common=0", "push 0 step=2 rank=1 common=0", "pull 0 step=2"}},
      {"go on", w.values(1, 2, 2), {"compute step=3 ticket=4 of 2"}},
      {"3 has no room at shard 0",
       w.computed(4),
       {"pull 0 step=2", "push 1 step=3 rank=1 common=0", "pull 0 step=3", "pull 1 step=3"}},
      {"now it has", w.values(0, 2, 2), {"push 0 step=3 rank=1 common=0"}},
  });
}

TEST_CASE("SyncWorkerCore: told Gone it joins again, told so twice it restores (rule 9)", "[ps]") {
  SyncWorker w = sync_worker(9, 2);
  carry_to(w, 4);
  tell(WorkerStory{
      {"another step's", w.gone(0, 3, 6, {0, 2, 4, 6}), {}},
      {"9: join all", w.gone(0, 4, 6, {0, 2, 4, 6}), {"join 0", "join 1"}},
      {"again", w.joined(0, 6, {0, 2, 4, 6}), {}},
      {"again", w.joined(1, 4, {0, 2, 4}), {"pull 0 step=4", "pull 1 step=4"}},
      {"the other one can", w.values(1, 4, 4, {0, 2, 4}), {}},
      {"9: restore the common cut", w.gone(0, 4, 6, {0, 2, 4, 6}), {"restore 0 cut=4", "restore 1 cut=4"}},
      {"late", w.gone(0, 4, 6, {0, 2, 4, 6}), {}},
      {"10: waits for all", w.joined(0, 4, {0, 2, 4}), {}},
      {"10: starts by rule 7", w.joined(1, 4, {0, 2, 4}), {"pull 0 step=4", "pull 1 step=4"}},
      {"the first Gone after that", w.gone(1, 4, 6, {0, 2, 4}), {"join 0", "join 1"}},
  });
}

TEST_CASE("SyncWorkerCore: told Gone beside another process of its rank it goes on with that one (rule 9)", "[ps]") {
  SyncWorker w = sync_worker(99, 10);
  tell(WorkerStory{
      {"join", w.start(), {"join 0", "join 1"}},
      {"ahead", w.joined(0, 17), {}},
      {"it came back, and waits for somebody", w.joined(1, 2), {"pull 0 step=2", "pull 1 step=2"}},
      {"9: nobody is sent back", w.doubled(0, 2, 17), {"pull 0 step=17", "pull 1 step=17"}},
      {"of before", w.values(1, 2, 2), {}},
      {"values", w.values(0, 17, 17), {}},
      {"that one serves it", w.notice(1, 3, {0}), {}},
      {"it came back again: so does that one hear", w.joined(1, 2), {"pull 1 step=17"}},
      {"there", w.values(1, 17, 17), {"compute step=18 ticket=2 of 2"}},
      {"made",
       w.computed(2),
       {"push 0 step=18 rank=1 common=0", "push 1 step=18 rank=1 common=0", "pull 0 step=18", "pull 1 step=18"}},
      {"it came back", w.joined(1, 15), {"push 1 step=18 rank=1 common=0", "pull 1 step=18"}},
      {"10: further than what was left to that one", w.joined(1, 1), {"restore 0 cut=0", "restore 1 cut=0"}},
  });
}

TEST_CASE("SyncWorkerCore: who told of another process tells when it may be lost (rules 9, 10)", "[ps]") {
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
      {"10: shard 1 waits for nobody else", lost.joined(0, 17), {"restore 0 cut=0", "restore 1 cut=0"}},
      {"back", lost.joined(0, 0), {}},
      {"7", lost.joined(1, 0), {"pull 0 step=0", "pull 1 step=0"}},
      {"nothing is left to anybody", lost.joined(0, 0), {"pull 0 step=0"}},
  });
  SyncWorker late = sync_worker(99, 10);
  after_gone(late, 12);
  tell(WorkerStory{
      {"values", late.values(0, 17, 17), {}},
      {"values", late.values(1, 17, 17), {"compute step=18 ticket=2 of 2"}},
      {"made",
       late.computed(2),
       {"push 0 step=18 rank=1 common=0", "push 1 step=18 rank=1 common=0", "pull 0 step=18", "pull 1 step=18"}},
      {"it came back, and is sent what is here",
       late.joined(1, 12),
       {"push 1 step=18 rank=1 common=0", "pull 1 step=18"}},
      {"10: the rest was left to a process that is lost", late.joined(0, 18), {"restore 0 cut=0", "restore 1 cut=0"}},
  });
  SyncWorker there = sync_worker(99, 10);
  after_gone(there, 12);
  tell(WorkerStory{
      {"shard 1 is there already", there.notice(1, 17, {0}), {}},
      {"nobody lacks anything", there.joined(0, 17), {"pull 0 step=17"}},
  });
}

TEST_CASE("SyncWorkerCore: Gone is nothing when the values are here", "[ps]") {
  SyncWorker w = sync_worker(9, 2);
  carry_to(w, 4);
  tell(WorkerStory{
      {"values", w.values(0, 4, 4), {}},
      {"a second pull's answer", w.gone(0, 4, 6), {}},
      {"go on", w.values(1, 4, 4), {"compute step=5 ticket=6 of 2"}},
      {"while it computes", w.gone(1, 4, 6), {}},
  });
}

TEST_CASE("SyncWorkerCore: it restores when it cannot serve a shard (rule 10)", "[ps]") {
  SyncWorker w = sync_worker(9, 2);  // it started at 4 and has nothing older
  tell(WorkerStory{
      {"join", w.start(), {"join 0", "join 1"}},
      {"join", w.joined(0, 4, {0, 2, 4}), {}},
      {"join", w.joined(1, 4, {0, 2}), {"pull 0 step=4", "pull 1 step=4"}},
      {"values", w.values(0, 4, 4, {0, 2, 4}), {}},
      {"values", w.values(1, 4, 4, {0, 2}), {"compute step=5 ticket=2 of 2"}},
      {"lost: 3 and 4 are needed", w.joined(1, 2, {0, 2}), {"restore 0 cut=2", "restore 1 cut=2"}},
      {"overtaken", w.computed(2), {}},
      {"told meanwhile", w.notice(0, 4, {0, 2, 4}), {}},
      {"values of before", w.values(0, 4, 4, {0, 2, 4}), {}},
      {"10: waits for all", w.joined(0, 2, {0, 2}), {}},
      {"10: made again from there", w.joined(1, 2, {0, 2}), {"pull 0 step=2", "pull 1 step=2"}},
      {"values", w.values(0, 2, 2, {0, 2}), {}},
      {"values", w.values(1, 2, 2, {0, 2}), {"compute step=3 ticket=4 of 2"}},
  });
}

TEST_CASE("SyncWorkerCore: somebody else's restore is served from the buffer (rule 11)", "[ps]") {
  SyncWorker w = sync_worker(9, 9);
  carry_to(w, 3);
  tell(WorkerStory{
      {"shard 0 went back, as far as it was known to be",
       w.joined(0, 2, {0}),
       {"push 0 step=3 rank=1 common=0", "pull 0 step=3"}},
      {"shard 0 went back further",
       w.joined(0, 0, {0}),
       {"push 0 step=1 rank=1 common=0", "push 0 step=2 rank=1 common=0", "push 0 step=3 rank=1 common=0",
        "pull 0 step=3"}},
  });
}

TEST_CASE("SyncWorkerCore: contributions are kept until they are in the common cut (rule 6)", "[ps]") {
  // Two blocks of 64 bytes a step: room for two steps.
  SyncWorker w = sync_worker(9, 2, {.replay_budget_bytes = 256});
  carry_to(w, 2);
  tell(WorkerStory{
      {"values", w.values(0, 2, 2, {0}), {}},
      {"6: full", w.values(1, 2, 2, {0}), {"save 0", "save 1"}},
      {"6: asked once", w.notice(1, 2, {0}), {}},
      {"not on all", w.notice(0, 2, {0, 2}), {}},
      {"6: the common cut moves", w.notice(1, 2, {0, 2}), {"compute step=3 ticket=4 of 2"}},
      {"made",
       w.computed(4),
       {"push 0 step=3 rank=1 common=2", "push 1 step=3 rank=1 common=2", "pull 0 step=3", "pull 1 step=3"}},
  });
  CHECK(w.core.common_cut() == 2);
}

TEST_CASE("SyncWorkerCore: it waits for no cut that a shard has no room for, and goes back when one is lost", "[ps]") {
  SyncWorker w = sync_worker(9, 2, {.replay_budget_bytes = 256});
  carry_to(w, 2);
  const auto no_room = [&w](std::uint32_t shard, Step k) {
    return [=, &w](WorkerActions& out) { w.core.notice(shard, {k, {0}, true}, out); };
  };
  tell(WorkerStory{
      {"values", w.values(0, 2, 2), {}},
      {"6: full", w.values(1, 2, 2), {"save 0", "save 1"}},
      {"one is enough", no_room(1, 2), {"compute step=3 ticket=4 of 2"}},
      {"made",
       w.computed(4),
       {"push 0 step=3 rank=1 common=0", "push 1 step=3 rank=1 common=0", "pull 0 step=3", "pull 1 step=3"}},
      {"", no_room(0, 3), {}},
      {"", no_room(1, 3), {}},
      {"values", w.values(0, 3, 3), {}},
      {"came back at 1: all is kept that it needs",
       w.joined(0, 1),
       {"push 0 step=2 rank=1 common=0", "push 0 step=3 rank=1 common=0", "pull 0 step=3"}},
      {"came back at 0: the first is not kept", w.joined(0, 0), {"restore 0 cut=0", "restore 1 cut=0"}},
  });
}

TEST_CASE("SyncWorkerCore: the cut that was waited for may be told by Joined", "[ps]") {
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
      {"N is not durable", last.values(1, 2, 2, {0}), {}},
      {"shard 1 saved, died and came back",
       last.joined(1, 2, {0, 2}),
       {"pull 1 step=2", "goodbye 0", "goodbye 1", "done"}},
  });
}

TEST_CASE("SyncWorkerCore: a full buffer asks for cuts at t, wherever the next one is due (rule 6)", "[ps]") {
  SyncWorker w = sync_worker(99, 50, {.replay_budget_bytes = 128});
  carry_to(w, 1);
  tell(WorkerStory{
      {"values", w.values(0, 1, 1), {}},
      {"shard 1 comes back at 0", w.joined(1, 0), {"push 1 step=1 rank=1 common=0", "pull 1 step=1"}},
      {"it is there again", w.values(1, 1, 1), {"save 0", "save 1"}},
      {"shard 0 comes back and may not know", w.joined(0, 1), {"pull 0 step=1", "save 0"}},
      {"saved", w.notice(0, 1, {0, 1}), {}},
      {"saved", w.notice(1, 1, {0, 1}), {"compute step=2 ticket=3 of 2"}},
  });
  SyncWorker zombie = sync_worker(99, 50, {.replay_budget_bytes = 128});
  carry_to(zombie, 1);
  tell(WorkerStory{
      {"values", zombie.values(0, 1, 1), {}},
      {"its successor was faster: others may wait", zombie.values(1, 1, 2), {"compute step=2 ticket=3 of 2"}},
  });
}

TEST_CASE("SyncWorkerCore: N in every list is the end, wherever the shards were sent back to (rule 12)", "[ps]") {
  SyncWorker w = sync_worker(9, 2);
  carry_to(w, 4);
  tell(WorkerStory{
      {"values", w.values(0, 4, 4, {0, 9}), {}},
      {"values", w.values(1, 4, 4), {"compute step=5 ticket=6 of 2"}},
      {"and N is there", w.notice(1, 4, {0, 9}), {"goodbye 0", "goodbye 1", "done"}},
      {"too late", w.computed(6), {}},
  });
}

TEST_CASE("SyncWorkerCore: after a restore what was kept beyond does not fill the buffer", "[ps]") {
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

TEST_CASE("SyncWorkerCore: without a budget only what is in flight is kept", "[ps]") {
  SyncWorker w = sync_worker(9, 9, {.replay_budget_bytes = 0});
  carry_to(w, 3);
  tell(WorkerStory{
      {"in flight", w.joined(0, 2), {"push 0 step=3 rank=1 common=0", "pull 0 step=3"}},
      {"what came before must be made again", w.joined(0, 1), {"restore 0 cut=0", "restore 1 cut=0"}},
  });
}

TEST_CASE("SyncWorkerCore: asked to stop it finishes what is in flight and leaves", "[ps]") {
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
      {"it would have to restore, and leaves", overtaken.joined(1, 0), {"leave 0", "leave 1", "left"}},
      {"too late", overtaken.computed(4), {}},
  });
}

TEST_CASE("SyncWorkerCore: who wants the result takes it before goodbye (rule 12)", "[ps]") {
  SyncWorker w = sync_worker(2, 2, {.wants_result = true});
  carry_to(w, 2);
  tell(WorkerStory{
      {"values", w.values(0, 2, 2), {}},
      {"durable", w.notice(0, 2, {0, 2}), {}},
      {"durable on all, but the values are not here", w.notice(1, 2, {0, 2}), {}},
      {"they are", w.values(1, 2, 2, {0, 2}), {"goodbye 0", "goodbye 1", "done w=1 w=1"}},
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
      {"N", late.joined(0, 2, {0, 2}), {}},
      {"it finds N, and takes the values", late.joined(1, 2, {0, 2}), {"pull 0 step=2", "pull 1 step=2"}},
      {"values", late.values(0, 2, 2, {0, 2}), {}},
      {"values", late.values(1, 2, 2, {0, 2}), {"goodbye 0", "goodbye 1", "done w=1 w=1"}},
  });
}

TEST_CASE("SyncWorkerCore: shards that were sent back go to their cut N for the result", "[ps]") {
  SyncWorker w = sync_worker(9, 2, {.wants_result = true});
  carry_to(w, 4);
  tell(WorkerStory{
      {"values", w.values(0, 4, 4, {0, 9}), {}},
      {"N is there", w.values(1, 4, 4, {0, 9}), {"restore 0 cut=9", "restore 1 cut=9"}},
      {"at N", w.joined(0, 9, {0, 9}), {}},
      {"at N", w.joined(1, 9, {0, 9}), {"pull 0 step=9", "pull 1 step=9"}},
      {"values", w.values(0, 9, 9, {0, 9}), {}},
      {"values", w.values(1, 9, 9, {0, 9}), {"goodbye 0", "goodbye 1", "done w=1 w=1"}},
  });
  SyncWorker one = sync_worker(2, 2, {.wants_result = true});
  carry_to(one, 2);
  tell(WorkerStory{
      {"values", one.values(0, 2, 2, {0, 2}), {}},
      {"somebody sent it back",
       one.joined(1, 0, {0, 2}),
       {"push 1 step=1 rank=1 common=2", "push 1 step=2 rank=1 common=2", "pull 1 step=2", "restore 0 cut=2",
        "restore 1 cut=2"}},
      {"kept", one.joined(0, 2, {0, 2}), {}},
      {"at N", one.joined(1, 2, {0, 2}), {"pull 0 step=2", "pull 1 step=2"}},
      {"values", one.values(0, 2, 2, {0, 2}), {}},
      {"values", one.values(1, 2, 2, {0, 2}), {"goodbye 0", "goodbye 1", "done w=1 w=1"}},
  });
}

TEST_CASE("SyncWorkerCore: who stops leaves without the result", "[ps]") {
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

TEST_CASE("SyncWorkerCore: with tables it asks which rows, once; the next ones come with a contribution", "[ps]") {
  SyncWorker w = sync_worker_with_tables(2, 0);
  tell(WorkerStory{
      {"nobody asked", w.prepared(1), {}},
      {"join", w.start(), {"join 0", "join 1"}},
      {"waits for all", w.joined(0, 0), {}},
      {"which rows?", w.joined(1, 0), {"prepare step=1"}},
      {"there again, but it is not known yet which", w.joined(0, 0), {}},
      {"values that nobody asked for", w.values(0, 0, 0), {}},
      {"rows of another step", w.prepared(2), {}},
      {"these", w.prepared(1), {"pull 0 step=0 rows=1;", "pull 1 step=0 rows=;1"}},
      {"told twice", w.prepared(1), {}},
      {"there again", w.joined(0, 0), {"pull 0 step=0 rows=1;"}},
      {"an answer without rows is none", w.values(0, 0, 0), {}},
      {"values", w.rows(1, 0, 0), {}},
      {"values", w.rows(0, 0, 0), {"compute step=1 ticket=2 of 2"}},
      {"made, and the next rows are known",
       w.computed(2, 2),
       {"push 0 step=1 rank=1 common=0", "push 1 step=1 rank=1 common=0", "pull 0 step=1 rows=2;",
        "pull 1 step=1 rows=;2"}},
      {"values", w.rows(0, 1, 1), {}},
      {"values", w.rows(1, 1, 1), {"compute step=2 ticket=3 of 2"}},
      {"the last; what it wants at the end",
       w.computed(3, 3),
       {"push 0 step=2 rank=1 common=0", "push 1 step=2 rank=1 common=0", "pull 0 step=2 rows=3;",
        "pull 1 step=2 rows=;0"}},
  });
}

TEST_CASE("SyncWorkerCore: told Gone it asks for the same rows; restored, which rows are needed there", "[ps]") {
  SyncWorker w = sync_worker_with_tables(9, 2);
  carry_rows_to(w, 4);
  tell(WorkerStory{
      {"9: join all", w.gone(0, 4, 6, {0, 2, 4, 6}), {"join 0", "join 1"}},
      {"again", w.joined(0, 6, {0, 2, 4, 6}), {}},
      {"the rows of 5 are known", w.joined(1, 4, {0, 2}), {"pull 0 step=4 rows=5;", "pull 1 step=4 rows=;2"}},
      {"9: restore the common cut", w.gone(0, 4, 6, {0, 2, 4, 6}), {"restore 0 cut=2", "restore 1 cut=2"}},
      {"late values", w.rows(1, 4, 4), {}},
      {"10", w.joined(0, 2, {0, 2}), {}},
      {"those of 3 are not", w.joined(1, 2, {0, 2}), {"prepare step=3"}},
      {"values of the step, without rows", w.values(0, 2, 2), {}},
      {"these", w.prepared(3), {"pull 0 step=2 rows=3;", "pull 1 step=2 rows=;0"}},
      {"values", w.rows(0, 2, 2), {}},
      {"values", w.rows(1, 2, 2), {"compute step=3 ticket=8 of 2"}},
  });
}

TEST_CASE("SyncWorkerCore: with tables it asks for the rows where the other process is (rule 9)", "[ps]") {
  SyncWorker w = sync_worker_with_tables(99, 0);
  tell(WorkerStory{
      {"join", w.start(), {"join 0", "join 1"}},
      {"ahead", w.joined(0, 17), {}},
      {"behind", w.joined(1, 2), {"prepare step=3"}},
      {"", w.prepared(3), {"pull 0 step=2 rows=3;", "pull 1 step=2 rows=;0"}},
      {"9: nobody is sent back", w.doubled(0, 2, 17), {"prepare step=18"}},
      {"", w.prepared(18), {"pull 0 step=17 rows=18;", "pull 1 step=17 rows=;0"}},
  });
}

TEST_CASE("SyncWorkerCore: rows that a restore has overtaken are not wanted any more", "[ps]") {
  SyncWorker w = sync_worker_with_tables(9, 2);
  tell(WorkerStory{
      {"join", w.start(), {"join 0", "join 1"}},
      {"join", w.joined(0, 4, {0, 2, 4}), {}},
      {"at 4", w.joined(1, 4, {0, 2}), {"prepare step=5"}},
      {"10: it has not what shard 1 lacks", w.joined(1, 2, {0, 2}), {"restore 0 cut=2", "restore 1 cut=2"}},
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
      {"the first answer is as good", same_step.prepared(3), {"pull 0 step=2 rows=3;", "pull 1 step=2 rows=;0"}},
      {"the second says the same", same_step.prepared(3), {}},
  });
}

TEST_CASE("SyncWorkerCore: a pull that asks for room wants no rows, and its answer is not taken for values", "[ps]") {
  SyncWorker w = sync_worker_with_tables(9, 1);  // the window is 2
  carry_rows_to(w, 3);
  tell(WorkerStory{
      {"back at 0: a pull that tells when there is room",
       w.joined(1, 0),
       {"push 1 step=1 rank=1 common=0", "push 1 step=2 rank=1 common=0", "pull 1 step=2", "pull 1 step=3 rows=;1"}},
      {"values", w.rows(0, 3, 3), {}},
      {"room", w.values(1, 2, 2), {"push 1 step=3 rank=1 common=0"}},
      {"values without rows, of another incarnation's pull", w.values(1, 3, 3), {}},
      {"values", w.rows(1, 3, 3), {"compute step=4 ticket=5 of 2"}},
  });
}

TEST_CASE("SyncWorkerCore: who finds N takes the result with the rows that are wanted at the end", "[ps]") {
  SyncWorker w = sync_worker_with_tables(2, 2, {.wants_result = true});
  tell(WorkerStory{
      {"join", w.start(), {"join 0", "join 1"}},
      {"N", w.joined(0, 2, {0, 2}), {}},
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

/// Rank 1 of 3 of which two count, two shards.
auto backup_worker(Step total, Step interval, distrib::WorkerOptions options = {}) -> SyncWorker {
  distrib::Job job = story::job(2, 3, total, interval);
  job.consistency = distrib::BulkSynchronousParallel{.replicas_to_aggregate = 2};
  return {{SyncWorkerCore{job, 1, options}}};
}

}  // namespace

TEST_CASE("SyncWorkerCore: a late worker goes on at the smallest k, and restores nobody (rule 9)", "[ps]") {
  SyncWorker w = backup_worker(99, 9);
  carry_to(w, 4);
  tell(WorkerStory{
      {"gone: join all", w.gone(0, 4, 8), {"join 0", "join 1"}},
      {"the other one, too", w.gone(1, 4, 7), {}},
      {"8", w.joined(0, 8), {}},
      {"7 is the smallest", w.joined(1, 7), {"pull 0 step=7", "pull 1 step=7"}},
      {"again too late", w.gone(1, 7, 9), {"join 0", "join 1"}},
      {"9", w.joined(0, 9), {}},
      {"9", w.joined(1, 9), {"pull 0 step=9", "pull 1 step=9"}},
      {"values", w.values(0, 9, 9), {}},
      {"go on", w.values(1, 9, 9), {"compute step=10 ticket=8 of 2"}},
      {"a cut says that shard 0 is there already", w.notice(0, 11, {0, 9}), {}},
      {"to be counted as too late there, and to count here",
       w.computed(8),
       {"push 0 step=10 rank=1 common=0", "push 1 step=10 rank=1 common=0", "pull 0 step=10", "pull 1 step=10"}},
  });
}

TEST_CASE("SyncWorkerCore: what it has not the other ranks may have, until a shard waits for just that", "[ps]") {
  SyncWorker w = backup_worker(99, 9);
  carry_to(w, 4);
  WorkerActions ignored;
  w.gone(0, 4, 6)(ignored);
  for (std::uint32_t shard : {0U, 1U}) w.joined(shard, 6)(ignored);
  for (std::uint32_t shard : {0U, 1U}) w.values(shard, 6, 6)(ignored);
  w.computed(std::get<distrib::Compute>(ignored.back()).ticket)(ignored);  // it has 1 .. 4 and 7
  tell(WorkerStory{
      {"shard 1 came back: what it has, and a pull that tells when that is counted",
       w.joined(1, 2),
       {"push 1 step=3 rank=1 common=0", "push 1 step=4 rank=1 common=0", "pull 1 step=4", "pull 1 step=7"}},
      {"not yet", w.pushed(1, 3), {}},
      {"others had 5 and 6", w.values(1, 4, 6), {"push 1 step=7 rank=1 common=0"}},
      {"once more, and this time nobody has 5",
       w.joined(1, 3),
       {"push 1 step=4 rank=1 common=0", "pull 1 step=4", "pull 1 step=7"}},
      {"it waits for it", w.values(1, 4, 4), {"join 0", "join 1"}},
      {"joined", w.joined(0, 7), {}},
      {"made again: 4 is the smallest", w.joined(1, 4), {"pull 0 step=4", "pull 1 step=4"}},
      {"values", w.values(1, 4, 4), {}},
      {"shard 0 has it no more", w.gone(0, 4, 7), {"join 0", "join 1"}},
      {"joined", w.joined(0, 7), {}},
      {"so it gives the step where it is", w.joined(1, 4), {"pull 0 step=7", "pull 1 step=4"}},
      {"an answer of before", w.values(0, 4, 7), {}},
      {"values", w.values(1, 4, 4), {}},
      {"7 and 4", w.values(0, 7, 7), {"compute step=5 ticket=10 of 2"}},
      {"of use to shard 1",
       w.computed(10),
       {"push 0 step=5 rank=1 common=0", "push 1 step=5 rank=1 common=0", "pull 0 step=5", "pull 1 step=5"}},
  });
}

TEST_CASE("SyncWorkerCore: a shard came back while this one was late: what it has made it need not make again",
          "[ps]") {
  SyncWorker w = backup_worker(99, 9);
  carry_to(w, 4);
  tell(WorkerStory{
      {"gone", w.gone(0, 4, 6), {"join 0", "join 1"}},
      {"joined", w.joined(0, 6), {}},
      {"shard 1 is back at 2: it goes on behind 4",
       w.joined(1, 2),
       {"pull 0 step=6", "pull 1 step=4", "push 1 step=3 rank=1 common=0", "push 1 step=4 rank=1 common=0"}},
      {"values", w.values(0, 6, 6), {}},
      {"go on", w.values(1, 4, 4), {"compute step=5 ticket=7 of 2"}},
  });
}

TEST_CASE("SyncWorkerCore: values of a shard that came back may be others of the same step", "[ps]") {
  SyncWorker w = backup_worker(9, 9);
  carry_to(w, 4);
  tell(WorkerStory{
      {"values", w.values(0, 4, 4), {}},
      {"back, and already there again", w.joined(0, 4), {"pull 0 step=4"}},
      {"those of before are not taken", w.values(1, 4, 4), {}},
      {"these are", w.values(0, 4, 4), {"compute step=5 ticket=6 of 2"}},
  });
}

TEST_CASE("SyncWorkerCore: who is late at the end and wants the result pulls it, and restores nobody", "[ps]") {
  SyncWorker w = backup_worker(9, 9, {.wants_result = true});
  carry_to(w, 4);
  tell(WorkerStory{
      {"9 is saved", w.notice(0, 9, {0, 9}), {}},
      {"on all", w.notice(1, 9, {0, 9}), {"join 0", "join 1"}},
      {"joined", w.joined(0, 9, {0, 9}), {}},
      {"the last", w.joined(1, 9, {0, 9}), {"pull 0 step=9", "pull 1 step=9"}},
      {"values", w.values(0, 9, 9, {0, 9}), {}},
      {"done", w.values(1, 9, 9, {0, 9}), {"goodbye 0", "goodbye 1", "done w=1 w=1"}},
  });
}

TEST_CASE("SyncWorkerCore: of two replicas either gives the values, and both are sent the same", "[ps]") {
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
      {"both are there", w.reconnected(0), {"join 0"}},
      {"", w.reconnected(1), {"join 1"}},
      {"waits for both", w.joined(1, 0), {}},
      {"asks the first", w.joined(0, 0), {"pull 0 step=0"}},
      {"it is lost: asks the other one", lost(0), {"pull 1 step=0"}},
      {"goes on without it", w.values(1, 0, 0), {"compute step=1 ticket=1 of 1"}},
      {"made", made(1), {"push 1 step=1 rank=0 common=0", "pull 1 step=1"}},
      {"it is there again", w.reconnected(0), {"join 0"}},
      {"and is sent what it lacks", w.joined(0, 0), {"push 0 step=1 rank=0 common=0", "pull 0 step=1"}},
      {"the first answer counts", w.values(0, 1, 1), {"compute step=2 ticket=2 of 1"}},
      {"made", made(2), {"push 0 step=2 rank=0 common=0", "push 1 step=2 rank=0 common=0", "pull 0 step=2"}},
      {"a cut of one of them is not common", w.values(0, 2, 2, {0, 2}), {"compute step=3 ticket=3 of 1"}},
  });
  CHECK(w.core.common_cut() == 0);
  tell(WorkerStory{{"it is now", w.notice(1, 2, {0, 2}), {}}});
  CHECK(w.core.common_cut() == 2);
  tell(WorkerStory{
      {"made", made(3), {"push 0 step=3 rank=0 common=2", "push 1 step=3 rank=0 common=2", "pull 0 step=3"}},
      {"two answers", w.reconnected(1), {"join 1"}},
      {"", w.joined(1, 3, {0, 2}), {"pull 1 step=3"}},
      {"", w.values(0, 3, 3, {0, 2}), {"compute step=4 ticket=4 of 1"}},
  });
}

TEST_CASE("SyncWorkerCore: no goodbye for a shard of which a replica is behind: the other one lingers for it", "[ps]") {
  distrib::Job job = story::job(2, 1, 9, 0);
  job.replicas = 2;
  SyncWorker w{{SyncWorkerCore{job, 0}}};
  const auto lost = [&w](WorkerActions& out) { w.core.disconnected(2, out); };
  tell(WorkerStory{
      {"", w.joined(0, 9, {0, 4}), {}},
      {"", w.joined(1, 9, {0, 9}), {"pull 0 step=9", "pull 1 step=9"}},
      {"behind", w.joined(2, 5, {0, 4}), {"catch up 2 k=5", "pull 2 step=9"}},
      {"", w.joined(3, 9, {0, 9}), {"pull 3 step=9"}},
      {"one that is there is waited for", w.notice(0, 9, {0, 9}), {}},
      {"it is not", lost, {"leave 0", "goodbye 1", "leave 2", "goodbye 3", "done"}},
  });
}

TEST_CASE("SyncWorkerCore: where a replica joins anew, one that was not ahead of it may be there first", "[ps]") {
  distrib::Job job = story::job(1, 2, 9, 0);
  job.replicas = 2;
  SyncWorker w{{SyncWorkerCore{job, 0}}};
  tell(WorkerStory{
      {"both are there", w.reconnected(0), {"join 0"}},
      {"", w.reconnected(1), {"join 1"}},
      {"", w.joined(1, 0), {}},
      {"", w.joined(0, 0), {"pull 0 step=0"}},
      {"", w.values(0, 0, 0), {"compute step=1 ticket=1 of 1"}},
      {"made",
       [&w](WorkerActions& out) { w.core.computed(1, {block(1)}, out); },
       {"push 0 step=1 rank=0 common=0", "push 1 step=1 rank=0 common=0", "pull 0 step=1"}},
      {"it lacks what another rank has no more",
       w.joined(0, 0),
       {"push 0 step=1 rank=0 common=0", "pull 0 step=1", "pull 1 step=1"}},
      {"the other one has all", w.values(1, 1, 1), {"compute step=2 ticket=2 of 1"}},
  });
}

TEST_CASE("SyncWorkerCore: a replica that cannot be served catches up with the other one", "[ps]") {
  distrib::Job job = story::job(1, 1, 9, 0);
  job.replicas = 2;
  SyncWorker w{{SyncWorkerCore{job, 0}}};
  tell(WorkerStory{
      {"one is ahead", w.joined(0, 4, {0, 4}), {"pull 0 step=4"}},
      {"the other one has lost its disk", w.joined(1, 0), {"catch up 1 k=0", "pull 1 step=4"}},
      {"meanwhile the first one counts", w.values(0, 4, 4, {0, 4}), {"compute step=5 ticket=1 of 1"}},
  });
  CHECK(w.core.common_cut() == 4);
  tell(WorkerStory{
      {"it is there", w.joined(1, 4, {0, 4}), {"pull 1 step=4"}},
      {"",
       [&w](WorkerActions& out) { w.core.computed(1, {block(1)}, out); },
       {"push 0 step=5 rank=0 common=4", "push 1 step=5 rank=0 common=4", "pull 0 step=5"}},
  });
}

TEST_CASE("SyncWorkerCore: a replica that is left behind is sent what there is, and counts when it has moved", "[ps]") {
  distrib::Job job = story::job(1, 2, 9, 0);
  job.replicas = 2;
  SyncWorker w{{SyncWorkerCore{job, 0}}};
  tell(WorkerStory{
      {"one is ahead, and has no cut", w.joined(0, 4), {"pull 0 step=4"}},
      {"the other one has lost its disk", w.joined(1, 3), {"catch up 1 k=3", "pull 1 step=4"}},
      {"there was no room for a cut", w.joined(1, 3), {"pull 1 step=4"}},
      {"goes on", w.values(0, 4, 4), {"compute step=5 ticket=1 of 1"}},
      {"it may have 4 of somebody else",
       [&w](WorkerActions& out) { w.core.computed(1, {block(1)}, out); },
       {"push 0 step=5 rank=0 common=0", "push 1 step=5 rank=0 common=0", "pull 0 step=5"}},
      {"it had", w.pushed(1, 4), {}},
      {"the first one is lost: this one is asked",
       [&w](WorkerActions& out) { w.core.disconnected(0, out); },
       {"pull 1 step=5"}},
  });
}

TEST_CASE(
    "SyncWorkerCore: when nobody can give the values of t any more, all go back, a replica that is left behind too",
    "[ps]") {
  distrib::Job job = story::job(2, 1, 9, 0);
  job.replicas = 2;
  SyncWorker w{{SyncWorkerCore{job, 0}}};
  tell(WorkerStory{
      {"all are there", w.reconnected(0), {"join 0"}},
      {"", w.reconnected(1), {"join 1"}},
      {"", w.reconnected(2), {"join 2"}},
      {"", w.reconnected(3), {"join 3"}},
      {"one is beyond what the other shard has", w.joined(0, 4, {0, 1}), {}},
      {"", w.joined(1, 2, {0, 2}), {}},
      {"", w.joined(3, 2, {0, 2}), {}},
      {"its replica lacks what is gone", w.joined(2, 1, {0, 1}), {"pull 1 step=2", "pull 2 step=2", "catch up 2 k=1"}},
      {"there was no room for a cut", w.joined(2, 1, {0, 1}), {"pull 0 step=2", "pull 2 step=2"}},
      {"", w.gone(0, 2, 4, {0, 1}), {"join 0", "join 1", "join 2", "join 3"}},
      {"", w.joined(0, 4, {0, 1}), {}},
      {"", w.joined(1, 2, {0, 2}), {}},
      {"", w.joined(3, 2, {0, 2}), {}},
      {"nothing has changed", w.joined(2, 1, {0, 1}), {"pull 1 step=2", "pull 2 step=2", "pull 0 step=2"}},
      {"", w.gone(0, 2, 4, {0, 1}), {"restore 0 cut=0", "restore 1 cut=0", "restore 2 cut=0", "restore 3 cut=0"}},
  });
}

TEST_CASE("SyncWorkerCore: replicas whose values differ are told of", "[ps]") {
  distrib::Job job = story::job(2, 1, 9, 0);
  job.replicas = 2;
  SyncWorker w{{SyncWorkerCore{job, 0}}};
  WorkerActions ignored;
  for (const std::uint32_t replica : {0U, 1U, 2U, 3U}) w.joined(replica, 0)(ignored);
  w.joined(2, 0)(ignored);  // it is asked, too
  tell(WorkerStory{
      {"", w.values(0, 0, 0), {}},
      {"equal", w.values(2, 0, 0), {}},
      {"joins anew", w.joined(2, 0), {"pull 2 step=0"}},
      {"not equal",
       [&w](WorkerActions& out) { w.core.values(2, 0, block(7), {0, {0}}, out); },
       {"replicas differ 0 step=0"}},
  });
}

TEST_CASE("SyncWorkerCore: contribution 0 goes to each shard that waits for it, whenever it begins anew", "[ps]") {
  SyncWorker w = sync_worker(9, 0, {.initial_values = {block(8), block(9)}});
  const auto joined = [&w](std::uint32_t shard, Step k, bool no_values) {
    return [&w, shard, k, no_values](WorkerActions& out) { w.core.joined(shard, {k, {0}, false, no_values}, out); };
  };
  tell(WorkerStory{
      {"", w.start(), {"join 0", "join 1"}},
      {"when all have answered", joined(0, 0, true), {}},
      {"to whom it lacks", joined(1, 0, false), {"pull 0 step=0", "push 0 step=0 rank=1 common=0", "pull 1 step=0"}},
      {"once", [&w](WorkerActions& out) { w.core.pushed(0, {0, {0}, false, true}, out); }, {}},
      {"", w.values(0, 0, 0), {}},
      {"", w.values(1, 0, 0), {"compute step=1 ticket=2 of 2"}},
      {"it came back without a cut", joined(1, 0, true), {"push 1 step=0 rank=1 common=0", "pull 1 step=0"}},
      {"",
       w.computed(2),
       {"push 0 step=1 rank=1 common=0", "push 1 step=1 rank=1 common=0", "pull 0 step=1", "pull 1 step=1"}},
      {"before what follows",
       joined(1, 0, true),
       {"push 1 step=0 rank=1 common=0", "push 1 step=1 rank=1 common=0", "pull 1 step=1"}},
  });
}

namespace {

/// Rank 1 of 2 and two shards, which tell histories: the numbers of their lineages are those given.
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
      {"at a cut of before", w.joined_in(0, 70, 6, {0, 2, 4, 6}, {{0, 5}, {2, 50}, {4, 50}, {6, 50}}), {}},
      {"what it had told stays known", w.notice_in(0, 70, 6, {0, 2, 4, 6}), {}},
      {"6 is not the same, 4 neither",
       w.joined_in(1, 80, 6, {0, 4, 6}, {{0, 5}, {2, 50}, {4, 60}, {6, 60}}),
       {"restore 0 cut=2 lineage=50", "restore 1 cut=2 lineage=50"}},
      {"there", w.joined_in(0, 90, 2, {0, 2}, {{0, 5}, {2, 50}, {4, 50}, {6, 50}}), {}},
      {"both", w.joined_in(1, 90, 2, {0, 2}, {{0, 5}, {2, 50}}), {"pull 0 step=2", "pull 1 step=2"}},
      {"values", w.values_in(0, 90, 2, 2, {0, 2}), {}},
      {"values", w.values_in(1, 90, 2, 2, {0, 2}), {"compute step=3 ticket=3 of 2"}},
  });
  WorkerActions out;
  w.computed(3)(out);
  CHECK(std::get<distrib::SendPush>(out.front()).contribution.history == 90);
}

TEST_CASE("SyncWorkerCore: cuts of one step and two histories are no common cut at the end", "[ps]") {
  WorkerOfHistories w = worker_of_histories();
  tell(WorkerStory{
      {"", w.start(), {"join 0", "join 1"}},
      {"done, by old settings", w.joined_in(0, 70, 9, {0, 9}, {{0, 5}, {9, 50}}), {}},
      {"done, by others",
       w.joined_in(1, 80, 9, {0, 9}, {{0, 5}, {9, 60}}),
       {"restore 0 cut=0 lineage=5", "restore 1 cut=0 lineage=5"}},
  });
  CHECK_FALSE(w.core.everything_saved());
  CHECK(w.core.common_cut() == 0);
}

TEST_CASE("SyncWorkerCore: who hears of another history asks all where they are", "[ps]") {
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
        {"goes on in that", w.joined_in(1, 90, 0, {0}, {{0, 5}}), {"pull 0 step=0", "pull 1 step=0"}},
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
}

TEST_CASE("SyncWorkerCore: a shard of an older version takes part as long as settings were never changed", "[ps]") {
  const std::uint64_t only = story::only_lineage(story::job(2, 2, 9, 2)).digest();
  WorkerOfHistories same = worker_of_histories();
  tell(WorkerStory{
      {"", same.start(), {"join 0", "join 1"}},
      {"tells none", same.joined(0, 2, {0, 2}), {}},
      {"the only one", same.joined_in(1, only, 2, {0, 2}, {{0, 5}, {2, only}}), {"pull 0 step=2", "pull 1 step=2"}},
  });
  WorkerOfHistories other = worker_of_histories();
  tell(WorkerStory{
      {"", other.start(), {"join 0", "join 1"}},
      {"tells none", other.joined(0, 2, {0, 2}), {}},
      {"another one", other.joined_in(1, 70, 2, {0, 2}, {{0, 5}, {2, 50}}), {"tells no history 0"}},
  });
}

TEST_CASE("SyncWorkerCore: a replica that is one step beyond t still has its values, one that is two is not asked",
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

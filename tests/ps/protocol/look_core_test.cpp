// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/protocol/look_core.hpp>

#include "ps/story.hpp"
#include "support/catch.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

using distrib::AskEnd;
using distrib::AskLook;
using distrib::CannotKeepUp;
using distrib::DropLooks;
using distrib::Job;
using distrib::JobDone;
using distrib::LookCore;
using distrib::LookedAt;
using distrib::Step;

namespace {

/// An onlooker of two shards whose actions are texts: "ask 0 newest", "ask 1 step 4".
struct LookBench {
  explicit LookBench(const Job& job) : core{job} {}

  struct Event {
    const char* what;
    std::function<void()> happens;
    std::vector<std::string> expected;
  };
  void tell(const std::vector<Event>& events) {
    for (const Event& event : events) {
      CAPTURE(event.what);
      told.clear();
      event.happens();
      CHECK(told == event.expected);
    }
  }

  void operator()(AskLook ask) {
    const std::string which = ask.newest                        ? "newest"
                              : ask.step == distrib::end_of_job ? "end"
                                                                : "step " + std::to_string(ask.step);
    told.push_back("ask " + std::to_string(ask.shard) + " " + which);
  }
  void operator()(DropLooks) { told.emplace_back("drop"); }
  void operator()(AskEnd ask) { told.push_back("await " + std::to_string(ask.shard)); }
  void operator()(JobDone) { told.emplace_back("done"); }
  void operator()(const LookedAt& seen) {
    std::string text = (seen.is_one_step ? "step " : "about ") + std::to_string(seen.step);
    for (const auto& block : seen.blocks) text += " " + std::to_string(static_cast<int>(block->as<float>()[0]));
    told.push_back(text + (seen.is_last ? " last" : ""));
  }
  void operator()(CannotKeepUp action) { told.push_back("cannot keep up with " + std::to_string(action.step)); }

  auto connected(std::uint32_t shard) {
    return [=, this] { core.connected(shard, *this); };
  }
  auto lost(std::uint32_t shard) {
    return [=, this] { core.disconnected(shard, *this); };
  }
  auto look() {
    return [this] { core.look(*this); };
  }
  auto look_at_end() {
    return [this] { core.look_at_end(*this); };
  }
  auto values(std::uint32_t shard, Step counted, float number, std::uint64_t history = 7) {
    return [=, this] { core.values(shard, counted, history, story::block(number), *this); };
  }
  auto gone(Step done) {
    return [=, this] { core.gone(done, *this); };
  }
  auto done(std::uint32_t shard) {
    return [=, this] { core.done(shard, *this); };
  }
  void reach_all() {
    connected(0)();
    connected(1)();
    told.clear();
  }

  LookCore core;
  std::vector<std::string> told;
};

auto synchronous_job() -> Job {
  Job job = story::job(2, 2, 9, 3);
  job.consistency = distrib::BulkSynchronousParallel{};
  return job;
}

}  // namespace

TEST_CASE("LookCore: asks one shard for its step, and the others for the same one", "[ps]") {
  LookBench bench{synchronous_job()};
  bench.tell({
      {"not all shards can be asked", bench.look(), {}},
      {"one of two", bench.connected(1), {"await 1"}},
      {"both", bench.connected(0), {"await 0", "ask 0 newest"}},
      {"it names the step", bench.values(0, 4, 10), {"ask 1 step 4"}},
      {"the other has it", bench.values(1, 4, 20), {"step 4 10 20"}},
      {"nothing is wanted", bench.values(1, 5, 20), {}},
      {"step 0 is a step", bench.look(), {"ask 0 newest"}},
      {"the others are asked for it, not for their newest", bench.values(0, 0, 1), {"ask 1 step 0"}},
      {"both", bench.values(1, 0, 2), {"step 0 1 2"}},
      {"the last step", bench.look(), {"ask 0 newest"}},
      {"of the job", bench.values(0, 9, 1), {"ask 1 step 9"}},
      {"so these are the last values", bench.values(1, 9, 2), {"step 9 1 2 last"}},
  });
}

TEST_CASE("LookCore: if a shard is beyond the step, asks all for one that is not made yet", "[ps]") {
  LookBench bench{synchronous_job()};
  bench.reach_all();
  bench.tell({
      {"a look", bench.look(), {"ask 0 newest"}},
      {"the first shard", bench.values(0, 1, 10), {"ask 1 step 1"}},
      {"gone is not the end", bench.gone(3), {"drop", "ask 0 step 4", "ask 1 step 4"}},
      {"one has made it", bench.values(1, 4, 21), {}},
      {"the other is beyond it again", bench.gone(5), {"drop", "ask 0 step 7", "ask 1 step 7"}},
      {"again; not beyond the last step", bench.gone(7), {"drop", "ask 0 step 9", "ask 1 step 9"}},
      {"both", bench.values(1, 9, 22), {}},
      {"together", bench.values(0, 9, 12), {"step 9 12 22 last"}},
  });
}

TEST_CASE("LookCore: gives up when shards are beyond the step again and again", "[ps]") {
  Job job = synchronous_job();
  job.total_steps = 1'000'000;
  LookBench bench{job};
  bench.reach_all();
  bench.look()();
  Step done = 0;
  for (unsigned round = 1; round < LookCore::most_rounds; ++round) {
    bench.told.clear();
    bench.gone(done += 1000)();
    REQUIRE(bench.told.size() == 3);
    CHECK(bench.told[1] == "ask 0 step " + std::to_string(done + (1U << (round - 1))));
  }
  bench.tell({
      {"once more", bench.gone(done + 1000), {"drop", "cannot keep up with " + std::to_string(done + 1000)}},
      {"late", bench.gone(done + 1001), {}},
      {"another look begins from the start", bench.look(), {"ask 0 newest"}},
  });
}

TEST_CASE("LookCore: values of different steps or histories are not combined", "[ps]") {
  LookBench bench{synchronous_job()};
  bench.reach_all();
  bench.tell({
      {"a look", bench.look(), {"ask 0 newest"}},
      {"the first shard", bench.values(0, 4, 10, 7), {"ask 1 step 4"}},
      {"a job that was continued with other settings",
       bench.values(1, 4, 20, 8),
       {"drop", "ask 0 step 5", "ask 1 step 5"}},
      {"now they agree", bench.values(1, 5, 21, 8), {}},
      {"and are told", bench.values(0, 5, 11, 8), {"step 5 11 21"}},
      {"a look", bench.look(), {"ask 0 newest"}},
      {"the first shard", bench.values(0, 5, 10), {"ask 1 step 5"}},
      {"another step than was asked for", bench.values(1, 6, 20), {"drop", "ask 0 step 7", "ask 1 step 7"}},
  });
}

TEST_CASE("LookCore: a lost connection begins the look again", "[ps]") {
  LookBench bench{synchronous_job()};
  bench.reach_all();
  bench.tell({
      {"a look", bench.look(), {"ask 0 newest"}},
      {"the first shard", bench.values(0, 4, 10), {"ask 1 step 4"}},
      {"its values do not count any more", bench.lost(0), {"drop"}},
      {"late", bench.values(1, 4, 20), {}},
      {"there again", bench.connected(0), {"await 0", "ask 0 newest"}},
      {"from the start", bench.values(0, 5, 11), {"ask 1 step 5"}},
      {"lost before the answer", bench.lost(1), {"drop"}},
      {"the owner looks again meanwhile", bench.look(), {}},
      {"there again", bench.connected(1), {"await 1", "ask 0 newest"}},
      {"given up", [&] { bench.core.give_up(bench); }, {"drop"}},
      {"nothing is wanted", bench.lost(1), {}},
      {"not even then", bench.connected(1), {"await 1"}},
  });
}

TEST_CASE("LookCore: waits for the values at the end, until it is asked to look before", "[ps]") {
  LookBench bench{synchronous_job()};
  bench.reach_all();
  bench.tell({
      {"the end", bench.look_at_end(), {"ask 0 end", "ask 1 end"}},
      {"a look meanwhile", bench.look(), {"drop", "ask 0 newest"}},
      {"of a step", bench.values(0, 4, 10), {"ask 1 step 4"}},
      {"done", bench.values(1, 4, 20), {"step 4 10 20"}},
      {"the end", bench.look_at_end(), {"ask 0 end", "ask 1 end"}},
      {"lost", bench.lost(1), {"drop"}},
      {"there again", bench.connected(1), {"await 1", "ask 0 end", "ask 1 end"}},
      {"one is done", bench.values(1, 9, 22), {}},
      {"both are", bench.values(0, 9, 12), {"step 9 12 22 last"}},
  });
}

TEST_CASE("LookCore: the word of one shard that the job is done is enough, with a look or without", "[ps]") {
  const Job job = synchronous_job();
  LookBench idle{job};
  idle.reach_all();
  idle.tell({
      {"no look is under way", idle.done(1), {"done"}},
      {"once", idle.done(0), {}},
      {"nothing follows", idle.look(), {}},
      {"not even then", idle.lost(0), {}},
      {"nor then", idle.connected(0), {}},
  });
  LookBench apart{job};
  apart.tell({
      {"only one shard can be reached", apart.connected(0), {"await 0"}},
      {"a look", apart.look(), {}},
      {"that one is done", apart.done(0), {"done"}},
  });
  LookBench asks{job};
  asks.reach_all();
  asks.tell({
      {"a look", asks.look(), {"ask 0 newest"}},
      {"it will not be answered", asks.done(0), {"drop", "done"}},
      {"late", asks.values(0, 4, 10), {}},
  });
}

TEST_CASE("LookCore: a look that a shard has answered before its end is completed by the others, if they can", "[ps]") {
  const Job job = synchronous_job();
  const auto half_seen = [](LookBench& bench) {
    bench.reach_all();
    bench.tell({
        {"a look", bench.look(), {"ask 0 newest"}},
        {"the first shard", bench.values(0, 9, 10), {"ask 1 step 9"}},
        {"is done", bench.done(0), {}},
    });
  };
  LookBench whole{job};
  half_seen(whole);
  whole.tell({
      {"the owner wants another look: there is none", whole.look(), {}},
      {"the other shard", whole.values(1, 9, 20), {"step 9 10 20 last", "done"}},
  });
  LookBench done{job};
  half_seen(done);
  done.tell({{"the other shard is done, too", done.done(1), {"drop", "done"}}});
  LookBench lost{job};
  half_seen(lost);
  lost.tell({{"the other shard is lost", lost.lost(1), {"drop", "done"}}});
  LookBench beyond{job};
  half_seen(beyond);
  beyond.tell({{"the other shard is beyond it: the first cannot be asked again", beyond.gone(10), {"drop", "done"}}});
}

TEST_CASE("LookCore: in an asynchronous job all shards answer at once, and the answer says so", "[ps]") {
  LookBench bench{story::asynchronous(story::job(2, 2, 9, 3))};
  bench.reach_all();
  bench.tell({
      {"a look", bench.look(), {"ask 0 newest", "ask 1 newest"}},
      {"one", bench.values(1, 6, 20), {}},
      {"the other; the least number counts", bench.values(0, 4, 10), {"about 4 10 20"}},
      {"the end", bench.look_at_end(), {"ask 0 end", "ask 1 end"}},
      {"one", bench.values(0, 9, 10), {}},
      {"both", bench.values(1, 9, 20), {"about 9 10 20 last"}},
  });
}

TEST_CASE("LookCore: a shard without variables answers with an empty block", "[ps]") {
  LookBench bench{synchronous_job()};
  bench.reach_all();
  bench.look()();
  bench.values(0, 4, 1)();
  std::vector<distrib::SharedBuffer> blocks;
  auto out = [&](auto action) {
    if constexpr (requires { action.blocks; }) blocks = action.blocks;
  };
  bench.core.values(1, 4, 7, nullptr, out);
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[1]->size() == 0);
}

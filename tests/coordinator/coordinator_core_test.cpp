// SPDX-License-Identifier: Apache-2.0
#include <distrib/coordinator/coordinator_core.hpp>

#include "support/catch.hpp"

#include <distrib/sim/dice.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using distrib::coordinator_errc;
using distrib::CoordinatorCore;
using distrib::CoordinatorOptions;
using distrib::Error;
using distrib::failure;
using distrib::Instant;
using distrib::RunEnd;

namespace {

/// The actions of a coordinator as texts, since the last `take`.
struct Told {
  void operator()(distrib::StartRun a) { say("run", a.worker, a.run, "closure " + std::to_string(a.closure)); }
  void operator()(distrib::BuildResource a) { say("build", a.worker, a.run, "resource " + std::to_string(a.resource)); }
  void operator()(distrib::StopRun a) { say("stop", a.worker, a.run, ""); }
  void operator()(distrib::CloseWorker a) { texts.push_back("close worker " + std::to_string(a.worker)); }
  void operator()(const distrib::ClosureDone& a) {
    texts.push_back("closure " + std::to_string(a.closure) + ": " +
                    (a.error ? a.error.code.message() + " [" + a.error.where + "]" : "value"));
  }
  void say(const std::string& what, std::uint32_t worker, std::uint64_t run, const std::string& of) {
    texts.push_back(what + " " + std::to_string(run) + " on " + std::to_string(worker) + (of.empty() ? "" : ": " + of));
  }
  auto take() -> std::vector<std::string> { return std::exchange(texts, {}); }

  std::vector<std::string> texts;
};

using Texts = std::vector<std::string>;

/// A coordinator with its clock.
struct Coordinator {
  explicit Coordinator(std::uint32_t workers, CoordinatorOptions options = {}, std::uint32_t ps = 2)
      : core{options, workers, ps, now} {}

  auto schedule(std::uint64_t closure) -> Texts {
    core.schedule(closure, "step", now, told);
    return told.take();
  }
  auto connected(std::uint32_t worker, std::uint64_t process) -> Texts {
    core.connected(worker, process, now, told);
    return told.take();
  }
  auto lost(std::uint32_t worker) -> Texts {
    core.lost(worker, now, told);
    return told.take();
  }
  auto ended(std::uint32_t worker, std::uint64_t run, RunEnd end = {}) -> Texts {
    core.ended(worker, run, std::move(end), now, told);
    return told.take();
  }
  auto stop() -> Texts {
    core.stop(now, told);
    return told.take();
  }
  auto after(std::chrono::milliseconds time) -> Texts {
    now += time;
    core.woken(now, told);
    return told.take();
  }
  auto wakes_in() -> std::chrono::milliseconds {
    const auto at = core.wake();
    return at ? std::chrono::duration_cast<std::chrono::milliseconds>(*at - now) : std::chrono::milliseconds{-1};
  }

  Instant now{1h};
  CoordinatorCore core;
  Told told;
};

auto throws(std::string what) -> RunEnd { return {{coordinator_errc::function_failed, std::move(what)}, {}}; }
auto no_ps(std::uint32_t task) -> RunEnd { return {{coordinator_errc::ps_unreachable, "pull"}, {task}}; }

}  // namespace

TEST_CASE("P063 CoordinatorCore: closures go to any free worker, and end with their values", "[coordinator]") {
  Coordinator c{2};
  CHECK(c.core.idle());
  CHECK(c.schedule(1).empty());  // no worker yet
  CHECK(c.schedule(2).empty());
  CHECK_FALSE(c.core.idle());
  CHECK(c.connected(1, 7) == Texts{"run 1 on 1: closure 1"});
  CHECK(c.schedule(3).empty());  // the worker is busy
  CHECK(c.connected(0, 8) == Texts{"run 2 on 0: closure 2"});
  CHECK(c.core.awaited() == "step on /job:worker/task:0, step on /job:worker/task:1");
  CHECK(c.ended(1, 1) == Texts{"closure 1: value", "run 3 on 1: closure 3"});
  CHECK(c.ended(1, 1).empty());  // ended twice: ignored
  CHECK(c.ended(1, 3) == Texts{"closure 3: value"});
  CHECK_FALSE(c.core.idle());
  CHECK(c.ended(0, 2) == Texts{"closure 2: value"});
  CHECK(c.core.idle());
  CHECK_FALSE(c.core.error());
  CHECK_FALSE(c.core.wake());
}

TEST_CASE("P063 CoordinatorCore: the queue is bounded; what runs does not count", "[coordinator]") {
  Coordinator c{1, {.most_queued = 2}};
  c.schedule(1);
  CHECK_FALSE(c.core.full());
  c.schedule(2);
  CHECK(c.core.full());
  c.connected(0, 1);
  CHECK_FALSE(c.core.full());
}

TEST_CASE("P064 CoordinatorCore: the first error stops everything, is reported once, and work goes on",
          "[coordinator]") {
  Coordinator c{2};
  c.connected(0, 1);
  c.connected(1, 2);
  for (std::uint64_t closure : {1U, 2U, 3U, 4U}) c.schedule(closure);
  CHECK(c.ended(0, 1, throws("bad batch")) ==
        Texts{"closure 1: the function threw an exception [step on /job:worker/task:0: bad batch]"});
  CHECK(c.core.error().code == coordinator_errc::function_failed);
  CHECK_FALSE(c.core.stopped());  // worker 1 is still running
  const std::string cancelled = "the function was cancelled because another function failed: schedule it again [step]";
  CHECK(c.stop() == Texts{"closure 3: " + cancelled, "closure 4: " + cancelled, "stop 2 on 1"});
  CHECK(c.stop().empty());  // asked once
  CHECK(c.ended(1, 2, throws("was stopped")) == Texts{"closure 2: " + cancelled});
  CHECK(c.core.stopped());
  CHECK(c.core.take_error(c.now).where == "step on /job:worker/task:0: bad batch");
  CHECK_FALSE(c.core.error());
  CHECK(c.core.idle());
  CHECK(c.schedule(5) == Texts{"run 3 on 0: closure 5"});
}

TEST_CASE("P064 CoordinatorCore: a run that ends before it notices the stop keeps its value", "[coordinator]") {
  Coordinator c{2};
  c.connected(0, 1);
  c.connected(1, 2);
  c.schedule(1);
  c.schedule(2);
  c.ended(0, 1, throws("x"));
  c.stop();
  CHECK(c.ended(1, 2) == Texts{"closure 2: value"});
  CHECK(c.core.stopped());
}

TEST_CASE("P065 CoordinatorCore: the closure of a lost worker runs on another one, before those that wait",
          "[coordinator]") {
  Coordinator c{2};
  c.connected(0, 1);
  c.connected(1, 2);
  for (std::uint64_t closure : {1U, 2U, 3U}) c.schedule(closure);
  CHECK(c.lost(0).empty());  // worker 1 is busy
  CHECK(c.ended(0, 1).empty());  // too late: the run belongs to a connection that is lost
  CHECK(c.ended(1, 2) == Texts{"closure 2: value", "run 3 on 1: closure 1"});
  CHECK(c.connected(0, 3) == Texts{"run 4 on 0: closure 3"});
  CHECK(c.lost(0).empty());
  CHECK(c.lost(0).empty());  // twice is harmless
  CHECK(c.ended(1, 3) == Texts{"closure 1: value", "run 5 on 1: closure 3"});
  CHECK(c.ended(1, 5) == Texts{"closure 3: value"});
}

TEST_CASE("P065 CoordinatorCore: a closure that would be put back while there is an error is cancelled",
          "[coordinator]") {
  Coordinator c{2};
  c.connected(0, 1);
  c.connected(1, 2);
  c.schedule(1);
  c.schedule(2);
  c.ended(0, 1, throws("x"));
  CHECK(c.lost(1) == Texts{"closure 2: the function was cancelled because another function failed: schedule it again "
                           "[step]"});
  CHECK(c.core.stopped());
}

TEST_CASE("P065 CoordinatorCore: it is an error only if no worker is left, and after each report time counts anew",
          "[coordinator]") {
  Coordinator c{2, {.start_within = 10s, .recovery_within = 60s}};
  CHECK_FALSE(c.core.wake());  // nothing waits
  c.schedule(1);
  CHECK(c.wakes_in() == 10s);
  c.connected(0, 1);
  c.connected(1, 2);
  c.lost(0);
  CHECK(c.after(59s).empty());
  CHECK_FALSE(c.core.error());
  c.lost(1);
  CHECK(c.wakes_in() == 60s);
  CHECK(c.after(60s - 1ms).empty());
  CHECK_FALSE(c.core.error());
  CHECK(c.after(1ms).empty());
  CHECK(c.core.error().code == coordinator_errc::workers_lost);
  CHECK(c.core.error().where == "/job:worker/task:0, /job:worker/task:1");
  c.stop();
  c.core.take_error(c.now);
  c.schedule(2);
  CHECK(c.wakes_in() == 60s);
  CHECK(c.connected(1, 3) == Texts{"run 3 on 1: closure 2"});
}

TEST_CASE("P066 CoordinatorCore: the third report of one ps is fatal, not the fourth; reports of others do not count",
          "[coordinator]") {
  Coordinator c{1};
  c.connected(0, 1);
  CHECK(c.schedule(1) == Texts{"run 1 on 0: closure 1"});
  CHECK(c.ended(0, 1, no_ps(0)) == Texts{"run 2 on 0: closure 1"});  // put back, and run again
  CHECK(c.ended(0, 2, no_ps(1)) == Texts{"run 3 on 0: closure 1"});
  CHECK(c.ended(0, 3, no_ps(1)) == Texts{"run 4 on 0: closure 1"});
  CHECK(c.ended(0, 4, no_ps(0)) == Texts{"run 5 on 0: closure 1"});
  CHECK_FALSE(c.core.error());
  CHECK(c.ended(0, 5, no_ps(1)).front().find("[/job:ps/task:1: pull]") != std::string::npos);
  CHECK(c.core.error().code == coordinator_errc::ps_lost);
  c.stop();
  c.core.take_error(c.now);
  c.schedule(2);
  c.ended(0, 6, no_ps(1));  // it stays lost: the reports are not forgotten
  CHECK(c.core.error().code == coordinator_errc::ps_lost);
}

TEST_CASE("P066 CoordinatorCore: a threshold of 1 or 0 makes the first report fatal", "[coordinator]") {
  const std::uint32_t reports = GENERATE(0U, 1U);
  Coordinator c{1, {.ps_reports = reports}};
  c.connected(0, 1);
  c.schedule(1);
  c.ended(0, 1, no_ps(0));
  CHECK(c.core.error().code == coordinator_errc::ps_lost);
}

TEST_CASE("P067 CoordinatorCore: resources are built before closures run, again for another process, in order",
          "[coordinator]") {
  Coordinator c{2};
  c.core.add_resource(100, "open");
  c.core.add_resource(101, "iterate");
  CHECK(c.connected(0, 1).empty());  // nothing is built before it is needed
  CHECK(c.schedule(1) == Texts{"build 1 on 0: resource 100"});
  CHECK(c.ended(0, 1) == Texts{"build 2 on 0: resource 101"});
  CHECK(c.ended(0, 2) == Texts{"run 3 on 0: closure 1"});
  CHECK(c.lost(0).empty());
  CHECK(c.connected(0, 1) == Texts{"run 4 on 0: closure 1"});  // the same process still has them
  CHECK(c.lost(0).empty());
  CHECK(c.connected(0, 2) == Texts{"build 5 on 0: resource 100"});
  CHECK(c.lost(0).empty());  // a build that is lost needs nothing put back
  CHECK(c.connected(0, 3) == Texts{"build 6 on 0: resource 100"});
  c.ended(0, 6);
  CHECK(c.ended(0, 7) == Texts{"run 8 on 0: closure 1"});
  CHECK(c.ended(0, 8) == Texts{"closure 1: value"});
  CHECK(c.core.idle());
}

TEST_CASE("P067 CoordinatorCore: a resource that cannot be built is an error that has the reason", "[coordinator]") {
  Coordinator c{1};
  c.core.add_resource(100, "open");
  c.connected(0, 1);
  c.schedule(1);
  CHECK(c.ended(0, 1, throws("no such file")).empty());
  CHECK(c.core.error().code == coordinator_errc::resource_failed);
  CHECK(c.core.error().where == "open on /job:worker/task:0: no such file: the function threw an exception");
  CHECK(c.stop().size() == 1);  // the closure that waited for it
  c.core.take_error(c.now);
  CHECK(c.schedule(2) == Texts{"build 2 on 0: resource 100"});  // tried again
}

TEST_CASE("P068 CoordinatorCore: worker i begins i delays later, at most the longest delay", "[coordinator]") {
  Coordinator c{4, {.start_delay = 2s, .longest_start_delay = 5s}};
  for (std::uint32_t worker : {0U, 1U, 2U, 3U}) c.connected(worker, worker);
  CHECK(c.schedule(1) == Texts{"run 1 on 0: closure 1"});
  for (std::uint64_t closure : {2U, 3U, 4U}) CHECK(c.schedule(closure).empty());
  CHECK(c.wakes_in() == 2s);
  CHECK(c.after(2s - 1ms).empty());
  CHECK(c.after(1ms) == Texts{"run 2 on 1: closure 2"});
  CHECK(c.after(2s) == Texts{"run 3 on 2: closure 3"});
  CHECK(c.wakes_in() == 1s);  // not 6 s, but 5 s after the start
  CHECK(c.after(1s) == Texts{"run 4 on 3: closure 4"});
  CHECK(c.lost(1).empty());
  CHECK(c.connected(1, 9) == Texts{"run 5 on 1: closure 2"});  // only the start is delayed
}

TEST_CASE("CoordinatorCore: a function that runs too long is an error, and its worker counts as lost if it never ends",
          "[coordinator]") {
  Coordinator c{1, {.function_within = 10s, .stop_within = 3s}};
  c.connected(0, 1);
  c.schedule(1);
  c.schedule(2);
  CHECK(c.wakes_in() == 10s);
  const Texts over = c.after(10s);
  REQUIRE(over.size() == 1);
  CHECK(over[0].find("ran longer than function_within") != std::string::npos);
  CHECK(over[0].find("[step on /job:worker/task:0]") != std::string::npos);
  CHECK_FALSE(c.core.stopped());
  CHECK(c.after(1h).empty());  // not reported twice
  CHECK(c.stop().back() == "stop 1 on 0");
  CHECK(c.wakes_in() == 3s);
  CHECK(c.after(3s) == Texts{"close worker 0"});
  CHECK(c.core.stopped());
  CHECK(c.core.take_error(c.now).code == coordinator_errc::function_overdue);
  CHECK(c.schedule(3).empty());
  CHECK(c.connected(0, 1) == Texts{"run 2 on 0: closure 3"});
  CHECK(c.ended(0, 1).empty());
}

TEST_CASE("CoordinatorCore: a worker that is refused is an error at once", "[coordinator]") {
  Coordinator c{2};
  c.core.refused(1, {coordinator_errc::other_functions, ""});
  CHECK(c.core.error().where == "/job:worker/task:1");
  CHECK(c.core.stopped());
}

// Workers that come, go, fail and hang by dice: whatever happens, each closure ends once, a worker has one run at a
// time, no run begins while there is an error, and when everything is calm again, everything ends.
TEST_CASE("CoordinatorCore: random stories", "[coordinator]") {
  struct Checked {
    void operator()(distrib::StartRun a) { begin(a.worker, a.run, a.closure); }
    void operator()(distrib::BuildResource a) { begin(a.worker, a.run, 0); }
    void operator()(distrib::StopRun a) { CHECK(running.at(a.worker).first == a.run); }
    void operator()(distrib::CloseWorker a) { running.erase(a.worker); }
    void operator()(const distrib::ClosureDone& a) { CHECK(++ends[a.closure] == 1); }
    void begin(std::uint32_t worker, std::uint64_t run, std::uint64_t closure) {
      CHECK(up.contains(worker));
      CHECK(!running.contains(worker));
      CHECK(!core->error());
      if (closure != 0) CHECK(ends[closure] == 0);
      running[worker] = {run, closure};
    }
    CoordinatorCore* core = nullptr;
    std::map<std::uint32_t, std::uint64_t> up;  // worker -> process
    std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> running;
    std::map<std::uint64_t, int> ends;
  };
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    distrib::sim::Dice dice{seed};
    const std::uint32_t workers = 1 + static_cast<std::uint32_t>(dice.below(4));
    Instant now{1h};
    CoordinatorCore core{{.most_queued = 5,
                          .function_within = 20s,
                          .stop_within = 5s,
                          .start_within = 40s,
                          .recovery_within = 30s,
                          .start_delay = 1s,
                          .ps_reports = 4},
                         workers,
                         2,
                         now};
    Checked out;
    out.core = &core;
    std::uint64_t closures = 0, processes = 0;
    const auto lose = [&](std::uint32_t worker) {
      out.up.erase(worker);
      out.running.erase(worker);
      core.lost(worker, now, out);
    };
    const auto end = [&](std::uint32_t worker, RunEnd how) {
      const auto run = out.running.extract(worker);
      if (!run.empty()) core.ended(worker, run.mapped().first, std::move(how), now, out);
    };
    const auto take_error = [&] {  // what schedule, join and done do
      core.stop(now, out);
      if (core.stopped()) CHECK(core.take_error(now).code);
    };
    for (int event = 0; event < 300; ++event) {
      const auto worker = static_cast<std::uint32_t>(dice.below(workers));
      switch (dice.below(12)) {
        case 0:
        case 1:
        case 2:
          if (!core.full() && !core.error()) core.schedule(++closures, "f", now, out);
          break;
        case 3: lose(worker); break;
        case 4:
        case 5:
          if (!out.up.contains(worker)) {
            out.up[worker] = dice.below(3) == 0 && processes != 0 ? processes : ++processes;
            core.connected(worker, out.up[worker], now, out);
          }
          break;
        case 6: end(worker, {}); break;
        case 7: end(worker, dice.below(4) == 0 ? throws("x") : RunEnd{}); break;
        case 8: end(worker, no_ps(static_cast<std::uint32_t>(dice.below(2)))); break;
        case 9:
          if (closures == 5) core.add_resource(1000, "r");
          [[fallthrough]];
        case 10:
          now += std::chrono::milliseconds{dice.below(9'000)};
          core.woken(now, out);
          break;
        default:
          if (core.error()) take_error();
      }
      // A worker whose connection the core closed is not up any more.
      for (auto at = out.up.begin(); at != out.up.end();) at = core.is_up(at->first) ? std::next(at) : out.up.erase(at);
    }
    // Calm: all workers are there and succeed.
    for (int round = 0; round < 100 && (!core.idle() || core.error()); ++round) {
      if (core.error()) take_error();
      for (std::uint32_t worker = 0; worker < workers; ++worker) {
        if (!out.up.contains(worker)) {
          out.up[worker] = ++processes;
          core.connected(worker, processes, now, out);
        }
        end(worker, {});
      }
      now += 1s;
      core.woken(now, out);
      for (auto at = out.up.begin(); at != out.up.end();) at = core.is_up(at->first) ? std::next(at) : out.up.erase(at);
    }
    CHECK(core.idle());
    for (std::uint64_t closure = 1; closure <= closures; ++closure) CHECK(out.ends[closure] == 1);
  }
}

// SPDX-License-Identifier: Apache-2.0
#include "tools/distrib/launch_core.hpp"

#include "support/catch.hpp"

#include <chrono>
#include <csignal>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using tools::Ending;
using tools::LaunchCore;

namespace {

using Words = std::vector<std::string>;

/// Writes down the actions of the core.
struct Shell {
  Words words;
  void operator()(const tools::StartTask& start) { words.push_back("start " + std::to_string(start.task)); }
  void operator()(const tools::TerminateTasks&) { words.emplace_back("terminate"); }
  void operator()(const tools::KillTasks&) { words.emplace_back("kill"); }
  void operator()(const tools::Say& say) { words.push_back(say.text); }
};

/// A job of ps0, worker0 and worker1. `said` and each event return the actions; the time comes with each event.
struct Job {
  explicit Job(tools::LaunchRules rules = {}) : core{{"ps0", "worker0", "worker1"}, rules} { core.begin(*this); }

  template <class Action>
  void operator()(const Action& action) {
    shell(action);
  }
  auto said() -> Words { return std::exchange(shell.words, {}); }
  auto ended(std::size_t task, Ending ending, std::chrono::milliseconds at) -> Words {
    core.ended(task, ending, tools::Instant{at}, *this);
    return said();
  }
  auto tick(std::chrono::milliseconds at) -> Words {
    core.tick(tools::Instant{at}, *this);
    return said();
  }
  auto stop(std::chrono::milliseconds at) -> Words {
    core.stop(tools::Instant{at}, *this);
    return said();
  }
  auto kill() -> Words {
    core.kill(*this);
    return said();
  }
  [[nodiscard]] auto wake() const -> std::optional<std::chrono::milliseconds> {
    if (const auto at = core.wake()) return at->time_since_epoch();
    return std::nullopt;
  }

  Shell shell;
  LaunchCore core;
};

constexpr Ending done{0, 0}, again{1, 0}, permanent{70, 0}, killed{0, SIGKILL}, terminated{0, SIGTERM};

}  // namespace

TEST_CASE("LaunchCore: all tasks end with 0", "[tools]") {
  Job job;
  CHECK(job.said() == Words{"start 0", "start 1", "start 2"});
  CHECK(job.ended(2, done, 10ms) == Words{"worker1 ended with code 0"});
  CHECK(job.ended(1, done, 20ms) == Words{"worker0 ended with code 0"});
  CHECK_FALSE(job.core.all_ended());
  CHECK_FALSE(job.wake());
  CHECK(job.ended(0, done, 30ms) == Words{"ps0 ended with code 0"});
  CHECK(job.core.all_ended());
  CHECK_FALSE(job.core.stopping());
  CHECK(job.core.exit_code() == 0);
  CHECK(job.core.summary() == "exit code 0: all 3 tasks are done");
}

TEST_CASE("LaunchCore: a worker of dealt ranks that is lost does not end the job, while another one serves",
          "[tools]") {
  Job job{{.first_dealt = 1, .dealt = 2}};
  CHECK(job.ended(2, killed, 10ms) ==
        Words{"start 0", "start 1", "start 2", "worker1 was ended by SIGKILL: the other workers serve its ranks"});
  CHECK_FALSE(job.core.stopping());
  CHECK(job.ended(1, again, 20ms) == Words{"worker0 ended with code 1 (retry): stopping the job", "terminate"});
  CHECK(job.core.exit_code() == 1);

  Job late{{.first_dealt = 1, .dealt = 2}};
  CHECK(late.ended(1, done, 10ms).back() == "worker0 ended with code 0");
  CHECK(late.ended(2, killed, 20ms) == Words{"worker1 was ended by SIGKILL: the other workers serve its ranks"});
  CHECK(late.ended(0, done, 30ms) == Words{"ps0 ended with code 0"});
  CHECK(late.core.exit_code() == 0);

  Job refused{{.first_dealt = 1, .dealt = 2}};
  CHECK(refused.ended(2, permanent, 10ms).back() == "terminate");
  Job server{{.first_dealt = 1, .dealt = 2}};
  CHECK(server.ended(0, killed, 10ms).back() == "terminate");
}

TEST_CASE("LaunchCore: workers of dealt ranks that are started later, or again, when the user asks", "[tools]") {
  const auto more = [](Job& job) {
    job.core.more(job);
    return job.said();
  };
  Job job{{.first_dealt = 1, .dealt = 2, .idle = 1}};
  CHECK(job.said() == Words{"start 0", "start 1"});
  CHECK(job.core.state_of(2) == "not started");
  CHECK(more(job) == Words{"start 2"});
  CHECK(more(job) == Words{"asked for one more worker, but all 2 are there"});
  CHECK(job.ended(2, killed, 10ms).back() == "worker1 was ended by SIGKILL: the other workers serve its ranks");
  CHECK(more(job) == Words{"start 2"});
  CHECK(job.ended(2, done, 20ms).size() == 1);
  CHECK(job.ended(1, done, 30ms).size() == 1);
  CHECK(job.ended(0, done, 40ms).size() == 1);
  CHECK(job.core.all_ended());

  Job fixed;
  CHECK(more(fixed).back() == "asked for one more worker, but without --ranks the workers are fixed");
  Job alone{{.first_dealt = 1, .dealt = 2, .idle = 1}};
  CHECK(alone.ended(1, killed, 10ms).back() == "terminate");  // one that was never started serves nothing
  CHECK(more(alone).empty());
  CHECK(alone.ended(0, done, 20ms).size() == 1);
  CHECK(alone.core.all_ended());
}

TEST_CASE("LaunchCore: the first failure determines the exit code, and the other tasks are asked to end", "[tools]") {
  struct Case {
    Ending ending;
    bool restart;
    int exit_code;
    std::string words;
  };
  const Case cases[] = {
      {again, false, 1, "worker0 ended with code 1 (retry)"},
      {killed, false, 137, "worker0 was ended by SIGKILL"},
      {permanent, false, 70, "worker0 ended with code 70 (permanent)"},
      {permanent, true, 70, "worker0 ended with code 70 (permanent)"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.words, c.restart);
    Job job{{.restart = c.restart, .max_restarts = 10, .grace = 500ms}};
    job.said();
    CHECK(job.ended(1, c.ending, 1000ms) == Words{c.words + ": stopping the job", "terminate"});
    CHECK(job.wake() == 1500ms);
    CHECK(job.ended(0, terminated, 1100ms) == Words{"ps0 was ended by SIGTERM"});
    CHECK(job.tick(1499ms).empty());
    CHECK(job.ended(2, {64, 0}, 1499ms) == Words{"worker1 ended with code 64 (permanent)"});
    CHECK(job.core.all_ended());
    CHECK(job.core.exit_code() == c.exit_code);
    CHECK(job.core.summary() == "exit code " + std::to_string(c.exit_code) + ": " + c.words);
  }
}

TEST_CASE("LaunchCore: a task that does not end in the grace time is killed, once", "[tools]") {
  Job job{{.restart = false, .max_restarts = 10, .grace = 500ms}};
  job.said();
  job.ended(1, permanent, 0ms);
  CHECK(job.tick(500ms) == Words{"after 0.5 s ps0 worker1 still ran: killed", "kill"});
  CHECK(job.core.killing());
  CHECK_FALSE(job.wake());
  CHECK(job.tick(9000ms).empty());
  job.ended(0, killed, 510ms);
  job.ended(2, killed, 510ms);
  CHECK(job.core.all_ended());
  CHECK(job.core.exit_code() == 70);
}

TEST_CASE("LaunchCore: processes that the tasks started may outlast them for the grace time", "[tools]") {
  Job job{{.restart = false, .max_restarts = 10, .grace = 500ms}};
  job.said();
  job.stop(0ms);
  for (const std::size_t task : {0U, 1U, 2U}) job.ended(task, terminated, 10ms);
  CHECK(job.core.all_ended());
  CHECK_FALSE(job.core.killing());
  CHECK(job.wake() == 500ms);
  CHECK(job.tick(500ms) == Words{"after 0.5 s processes that the tasks had started still ran: killed", "kill"});
}

TEST_CASE("LaunchCore: --restart starts a task again after longer and longer pauses, then gives up", "[tools]") {
  Job job{{.restart = true, .max_restarts = 8, .grace = 10s}};
  job.said();
  const char* const pauses[] = {"0.1", "0.2", "0.4", "0.8", "1.6", "3.2", "5.0", "5.0"};
  const std::chrono::milliseconds times[] = {100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 5000ms, 5000ms};
  auto at = 0ms;
  for (std::size_t i = 0; i < 8; ++i) {
    CAPTURE(i);
    const bool odd = i % 2 == 1;
    CHECK(job.ended(2, odd ? killed : again, at) ==
          Words{std::string{"worker1 "} + (odd ? "was ended by SIGKILL" : "ended with code 1 (retry)") +
                ": starting it again in " + pauses[i] + " s (" + std::to_string(i + 1) + " of at most 8)"});
    CHECK_FALSE(job.core.all_ended());
    CHECK(job.wake() == at + times[i]);
    CHECK(job.tick(at + times[i] - 1ms).empty());
    at += times[i];
    CHECK(job.tick(at) == Words{"start 2"});
    CHECK_FALSE(job.wake());
  }
  CHECK(job.ended(2, killed, at) ==
        Words{"worker1 was ended by SIGKILL after 8 restarts: stopping the job", "terminate"});
  job.ended(0, again, at);
  job.ended(1, again, at);
  CHECK(job.core.exit_code() == 137);
}

TEST_CASE("LaunchCore: restarts are counted for each task separately, and the job may still succeed", "[tools]") {
  Job job{{.restart = true, .max_restarts = 1, .grace = 10s}};
  job.said();
  job.ended(0, killed, 0ms);
  job.ended(1, again, 50ms);
  CHECK(job.wake() == 100ms);
  CHECK(job.tick(200ms) == Words{"start 0", "start 1"});
  for (const std::size_t task : {0U, 1U, 2U}) job.ended(task, done, 300ms);
  CHECK(job.core.all_ended());
  CHECK(job.core.exit_code() == 0);
}

TEST_CASE("LaunchCore: asked to stop", "[tools]") {
  Job job{{.restart = true, .max_restarts = 10, .grace = 10s}};
  job.said();
  CHECK(job.stop(0ms) == Words{"asked to stop: the tasks have 10.0 s to end, then they are killed", "terminate"});
  CHECK(job.stop(5ms).empty());
  CHECK(job.ended(0, done, 10ms) == Words{"ps0 ended with code 0"});
  CHECK(job.ended(2, again, 20ms) == Words{"worker1 ended with code 1 (retry)"});  // is not restarted
  CHECK(job.ended(1, terminated, 30ms) == Words{"worker0 was ended by SIGTERM"});
  CHECK(job.core.all_ended());
  CHECK(job.core.exit_code() == 1);

  SECTION("if all tasks end with 0 in time, the exit code is 0") {
    Job other;
    other.stop(0ms);
    for (const std::size_t task : {0U, 1U, 2U}) other.ended(task, done, 10ms);
    CHECK(other.core.exit_code() == 0);
  }
}

TEST_CASE("LaunchCore: a task that waits for a restart when the job is stopped keeps its ending", "[tools]") {
  Job job{{.restart = true, .max_restarts = 10, .grace = 10s}};
  job.said();
  job.ended(1, killed, 0ms);
  job.stop(50ms);
  CHECK(job.tick(100ms).empty());
  job.ended(0, done, 110ms);
  job.ended(2, again, 110ms);
  CHECK(job.core.all_ended());
  CHECK(job.core.summary() == "exit code 137: worker0 was ended by SIGKILL");
}

TEST_CASE("LaunchCore: kill() kills all tasks at once", "[tools]") {
  Job job{{.restart = true, .max_restarts = 10, .grace = 1h}};
  job.said();
  job.ended(1, killed, 0ms);
  SECTION("after they were asked to end") { job.stop(10ms); }
  SECTION("without asking them first") {}
  CHECK(job.kill() == Words{"kill"});
  CHECK_FALSE(job.wake());
  CHECK(job.tick(100ms).empty());
  CHECK(job.ended(0, killed, 120ms) == Words{"ps0 was ended by SIGKILL"});
  job.ended(2, killed, 120ms);
  CHECK(job.core.all_ended());
  CHECK(job.core.exit_code() == 137);
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/hooks/profiler.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"
#include "train/loopback_cluster.hpp"

#include <nlohmann/json.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using distrib::Phase;
using distrib::Profiler;
using distrib::Step;
using Json = nlohmann::json;

namespace {

auto trace_of(const std::filesystem::path& file) -> Json { return Json::parse(std::ifstream{file}); }

auto names_in(const std::filesystem::path& directory) -> std::vector<std::string> {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator{directory}) names.push_back(file.path().filename());
  std::ranges::sort(names);
  return names;
}

auto phase(Phase::Kind kind, Step step, std::chrono::milliseconds begin, std::chrono::milliseconds end)
    -> distrib::PhaseMeasured {
  const std::chrono::steady_clock::time_point zero{};
  return {"/job:worker/task:1", {kind, 1, step, zero + begin, zero + end, true}};
}

/// Writes down the times of rank 0: when it got the values for each contribution, and its phases.
struct Watch {
  struct Seen {
    std::map<Step, double> computed;  // when each contribution was computed, in seconds
    std::map<Step, std::map<Phase::Kind, double>> spent;
    std::map<Step, double> begun;
  };
  std::shared_ptr<Seen> seen = std::make_shared<Seen>();
  void on_contribution(const distrib::ContributionMade& event) const {
    if (event.rank == 0)
      seen->computed[event.step] =
          std::chrono::duration<double>{std::chrono::steady_clock::now().time_since_epoch()}.count();
  }
  void on_phase(const distrib::PhaseMeasured& event) const {
    if (!event.phase.is_rank || event.phase.of != 0 || event.phase.kind == Phase::Kind::reached) return;
    seen->spent[event.phase.step][event.phase.kind] +=
        std::chrono::duration<double>{event.phase.end - event.phase.begin}.count();
    if (event.phase.kind == Phase::Kind::compute)
      seen->begun[event.phase.step] = std::chrono::duration<double>{event.phase.begin.time_since_epoch()}.count();
  }
};

}  // namespace

TEST_CASE("Profiler: writes a file that is JSON when the process ends", "[train]") {
  const support::TempDirectory directory;
  const std::string path = (directory / "traces").string();
  {
    Profiler hook{{.output_dir = path, .save_steps = 1, .first_step = 2}};
    hook.on_phase(phase(Phase::Kind::compute, 1, 1ms, 2ms));  // too early
    hook.on_phase(phase(Phase::Kind::compute, 2, 3ms, 5ms));
    hook.on_phase(phase(Phase::Kind::reached, 2, 6ms, 6ms));
    std::string unfinished;
    std::getline(std::ifstream{path + "/trace-job-worker-task-1.json"}, unfinished, '\0');
    CHECK_THAT(unfinished, ContainsSubstring("compute"));  // a killed process leaves this
    CHECK_FALSE(hook.report());
  }
  const Json trace = trace_of(path + "/trace-job-worker-task-1.json");
  REQUIRE(trace.size() == 4);
  CHECK(trace[0]["ph"] == "M");
  CHECK(trace[0]["args"]["name"] == "job-worker-task-1");
  CHECK(trace[1]["args"]["name"] == "rank 1");
  CHECK(trace[2]["ph"] == "X");
  CHECK(trace[2]["name"] == "compute");
  CHECK(trace[2]["ts"] == 3000);
  CHECK(trace[2]["dur"] == 2000);
  CHECK(trace[2]["args"]["step"] == 2);
  CHECK(trace[2]["pid"] == trace[0]["pid"]);
  CHECK(trace[3]["ph"] == "i");
  CHECK(trace[3]["name"] == "reached");
}

TEST_CASE("Profiler: each process has a file, and not more events than allowed", "[train]") {
  const support::TempDirectory directory;
  const std::string path = directory.path().string();
  for (int process = 0; process < 2; ++process) {
    Profiler hook{{.output_dir = path, .save_secs = 1, .max_events = 3}};
    for (Step step = 1; step <= 9; ++step) hook.on_phase(phase(Phase::Kind::compute, step, 1ms, 2ms));
    CHECK(trace_of(path + "/trace-job-worker-task-1" + (process == 0 ? "" : ".2") + ".json").size() == 5);
  }
  CHECK(names_in(path) == std::vector<std::string>{"trace-job-worker-task-1.2.json", "trace-job-worker-task-1.json"});
}

TEST_CASE("Profiler: a file that cannot be made ends the job, a full disk ends the trace", "[train]") {
  const support::TempDirectory directory;
  std::ofstream{directory / "file"} << "no directory";
  Profiler hook{{.output_dir = (directory / "file").string(), .save_steps = 1}};
  CHECK_THROWS_WITH(hook.on_phase(phase(Phase::Kind::compute, 1, 1ms, 2ms)),
                    ContainsSubstring("file/trace-job-worker-task-1.json"));
  CHECK_THROWS_WITH((Profiler{{.output_dir = "x"}}), ContainsSubstring("exactly one of"));

  // A limit on the size of files stands for a full disk.
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  ::rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const ::rlimit least{16, limit.rlim_max};
  Profiler other{{.output_dir = (directory / "traces").string(), .save_steps = 1}};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &least) == 0);
  other.on_phase(phase(Phase::Kind::compute, 1, 1ms, 2ms));
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  std::signal(SIGXFSZ, before);
  const auto report = other.report();
  REQUIRE(report);
  CHECK_THAT(report->text, ContainsSubstring("trace-job-worker-task-1.json ends here"));
  CHECK_NOTHROW(other.on_phase(phase(Phase::Kind::compute, 2, 3ms, 4ms)));
  CHECK_FALSE(other.report());
}

TEST_CASE("Profiler: a job in one process; cuts are in the trace too", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  {
    auto trainer = line_job::builder(data, {.workers = 2, .steps = 6})
                       .with_hooks(distrib::SaveCheckpoint{.directory = (directory / "out").string(), .every_steps = 3},
                                   Profiler{{.output_dir = (directory / "traces").string(), .save_steps = 2}})
                       .build();
    CHECK(trainer.run() == 0);
  }
  std::map<std::string, int> found;
  for (const Json& event : trace_of(directory / "traces/trace-local.json")) ++found[event["name"]];
  CHECK(found["compute"] == 12);
  CHECK(found["wait"] == 10);
  CHECK(found["save"] == 2);
  CHECK(found["reached"] == 6);
}

TEST_CASE("Profiler: in a cluster the phases of a rank's step sum to its duration", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  constexpr Step steps = 40;
  const Watch watch;
  loopback_cluster::run(line_job::builder(data, {.steps = steps}).with_hooks(watch), 2, 3);
  const auto& seen = *watch.seen;
  REQUIRE(seen.computed.size() == steps);
  for (Step step = 1; step < steps; ++step) {
    const auto& spent = seen.spent.at(step);
    CHECK(spent.size() == 4);
    double sum = 0;
    for (const auto& [kind, time] : spent) sum += time;
    // From the values for one contribution to the values for the next one.
    CHECK(std::abs(sum - (seen.begun.at(step + 1) - seen.begun.at(step))) < 1e-6);
    // By another clock: the hook heard of the contribution while it was computed.
    CHECK(seen.computed.at(step) >= seen.begun.at(step));
    CHECK(seen.computed.at(step) <= seen.begun.at(step) + spent.at(Phase::Kind::compute) + 1e-6);
  }
}

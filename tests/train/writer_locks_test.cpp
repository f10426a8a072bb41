// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/writer_locks.hpp>

#include <distrib/ps/job/error.hpp>
#include <distrib/train/hooks/write_summaries.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>

using namespace distrib;
using namespace std::chrono_literals;

namespace {

/// Returns the plan of a job with checkpoints and summaries; an empty directory: without these.
auto locked_plan(const support::TempDirectory& data, const std::string& checkpoints, const std::string& summaries) {
  const auto base = line_job::builder(line_model::write(data.path()));
  if (checkpoints.empty()) return base.with_hooks(WriteSummaries{summaries}).plan();
  if (summaries.empty()) return base.with_hooks(SaveCheckpoint{.directory = checkpoints}).plan();
  return base
      .with_hooks(SaveCheckpoint{.directory = checkpoints}, WriteSummaries{summaries}, WriteSummaries{summaries + "/."})
      .plan();
}

/// Returns the error text if the locks are refused, otherwise an empty text.
template <class Hold> auto lock_refusal(Hold hold) -> std::string {
  try {
    WriterLocks locks;
    hold(locks);
  } catch (const std::system_error& error) {
    CHECK(error.code() == ps_errc::directory_in_use);
    return error.what();
  }
  return {};
}

/// Holds what a ps of a cluster holds.
struct HeldByPs {
  HeldByPs(const std::string& directory, int index) {
    lock.hold(directory, "ps-" + std::to_string(index), "/job:ps/task:" + std::to_string(index), 0ms, error);
  }
  DirectoryLock lock;
  Error error;
};

}  // namespace

TEST_CASE("WriterLocks: a second job in one process is refused, and the error names the holder", "[train]") {
  const support::TempDirectory data;
  const support::TempDirectory out;
  const std::string checkpoints = out / "checkpoint";
  const std::string events = out / "events";
  const TrainingPlan both = locked_plan(data, checkpoints, events);
  std::optional<WriterLocks> first{std::in_place};
  first->hold_local(both, 0ms);  // two hooks that write to one directory belong to one job

  const std::string holder = ", held by process " + std::to_string(::getpid()) + " on ";
  const auto local = [&](const TrainingPlan& plan) { return lock_refusal([&](auto& l) { l.hold_local(plan, 0ms); }); };
  CHECK_THAT(local(both), ContainsSubstring("local job in " + checkpoints + holder));
  CHECK_THAT(local(locked_plan(data, checkpoints, "")), ContainsSubstring("local job in " + checkpoints + holder));
  CHECK_THAT(local(locked_plan(data, "", events)), ContainsSubstring("local job in " + events + holder));
  CHECK_THAT(local(locked_plan(data, out / "another", events + "/")), ContainsSubstring(holder));
  CHECK(local(locked_plan(data, out / "another", out / "other_events")).empty());
  CHECK(local(locked_plan(data, events, checkpoints)).empty());  // in each directory a writer of the other kind

  first.reset();
  CHECK(local(both).empty());
}

TEST_CASE("WriterLocks: checkpoints and summaries in one directory: no other job may use it", "[train]") {
  const support::TempDirectory data;
  const support::TempDirectory out;
  const std::string directory = out.path().string();
  const TrainingPlan plan = locked_plan(data, directory, directory);
  WriterLocks local;
  local.hold_local(plan, 0ms);
  CHECK(std::filesystem::exists(out / ".ps-0.lock"));
  CHECK(std::filesystem::exists(out / ".chief.lock"));
  CHECK_FALSE(lock_refusal([&](auto& l) { l.hold_chief(plan, "/job:worker/task:0", 0ms); }).empty());
}

TEST_CASE("WriterLocks: a job in one process and a cluster refuse each other", "[train]") {
  const support::TempDirectory data;
  const support::TempDirectory out;
  const std::string directory = out.path().string();
  const TrainingPlan plan = locked_plan(data, directory, directory);
  SECTION("a local job while a parameter server runs") {
    for (const int index : {0, 1}) {
      const HeldByPs ps{directory, index};
      const std::string said = lock_refusal([&](auto& l) { l.hold_local(plan, 0ms); });
      CHECK_THAT(said, ContainsSubstring("local job in " + directory + ", held by process "));
      CHECK_THAT(said, ContainsSubstring("end that process, or use another directory"));
    }
    CHECK(lock_refusal([&](auto& l) { l.hold_local(plan, 0ms); }).empty());  // after the cluster has ended
  }
  SECTION("a parameter server while a local job runs") {
    {
      const HeldByPs earlier{directory, 3};
    }
    WriterLocks local;
    local.hold_local(plan, 0ms);
    CHECK(HeldByPs(directory, 0).error.code == ps_errc::directory_in_use);
    CHECK(HeldByPs(directory, 3).error.code == ps_errc::directory_in_use);
  }
  SECTION("the chief of a cluster writes in the directory of its parameter servers' cuts") {
    const HeldByPs ps{directory, 0};
    WriterLocks chief;
    chief.hold_chief(plan, "/job:chief/task:0", 0ms);
    CHECK_FALSE(HeldByPs(directory, 1).error);
    CHECK_THAT(lock_refusal([&](auto& l) { l.hold_chief(plan, "/job:chief/task:0", 0ms); }),
               ContainsSubstring("/job:chief/task:0 in " + directory + ", held by process "));
  }
}

TEST_CASE("WriterLocks: without lock support no job is refused, and a job without files holds no locks", "[train]") {
  const support::TempDirectory data;
  const support::TempDirectory out;
  for (const char* name : {".ps-0.lock", ".chief.lock"}) std::filesystem::create_directory(out / name);
  const std::string directory = out.path().string();
  const TrainingPlan plan = locked_plan(data, directory, directory);
  WriterLocks first;
  first.hold_local(plan, 0ms);
  CHECK(lock_refusal([&](auto& l) { l.hold_local(plan, 0ms); }).empty());
  CHECK(lock_refusal([&](auto& l) {
          l.hold_local(line_job::builder(line_model::write(data.path())).plan(), 0ms);
        }).empty());
}

TEST_CASE("WriterLocks: an evaluator writes beside the chief, but not beside another evaluator", "[train]") {
  const support::TempDirectory data;
  const support::TempDirectory out;
  const TrainingPlan plan = locked_plan(data, "", out.path().string());
  WriterLocks chief;
  chief.hold_chief(plan, "chief", 0ms);
  WriterLocks evaluator;
  evaluator.hold_evaluator(plan, "/job:evaluator/task:0", 0ms);
  CHECK_THAT(lock_refusal([&](WriterLocks& locks) { locks.hold_evaluator(plan, "another", 0ms); }),
             ContainsSubstring("another in " + out.path().string()));
}

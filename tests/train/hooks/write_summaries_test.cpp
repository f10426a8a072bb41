// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/hooks/write_summaries.hpp>

#include "support/catch.hpp"
#include "support/map_objects.hpp"
#include "support/temp_directory.hpp"

#include <distrib/summary/event_reader.hpp>

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace {

// Runs `test` in a process of its own, on a small disk in memory that only this process sees. Returns what the test
// found wrong: an empty text if nothing; an empty optional if this user cannot mount such a disk.
template <class Test>
auto on_small_disk(const std::string& directory, Test test) -> std::optional<std::string> {
  int pipe_ends[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const std::string user = "0 " + std::to_string(::getuid()) + " 1";
    const std::string group = "0 " + std::to_string(::getgid()) + " 1";
    const auto put = [](const char* file, const std::string& text) {
      return static_cast<bool>(std::ofstream{file} << text << std::flush);
    };
    const bool is_apart = ::unshare(CLONE_NEWNS) == 0 ||
                          (::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && put("/proc/self/uid_map", user) &&
                           put("/proc/self/setgroups", "deny") && put("/proc/self/gid_map", group));
    const bool is_mounted = is_apart && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                            ::mount("tmpfs", directory.c_str(), "tmpfs", 0, "size=64k") == 0;
    std::string wrong = is_mounted ? "" : "no disk";
    try {
      if (is_mounted) wrong = test();
    } catch (const std::exception& error) {
      wrong = error.what();
    }
    static_cast<void>(::write(pipe_ends[1], wrong.data(), wrong.size()));
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  std::string wrong;
  for (char c; ::read(pipe_ends[0], &c, 1) == 1;) wrong += c;
  ::close(pipe_ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  if (wrong == "no disk") return std::nullopt;
  return wrong;
}

}  // namespace

TEST_CASE("WriteSummaries: a full disk is reported once and training continues; with free space summaries continue too",
          "[train]") {
  const support::TempDirectory directory;
  const std::string path = directory.path().string();
  const auto wrong = on_small_disk(path, [&]() -> std::string {
    distrib::WriteSummaries hook{path + "/events", 1};
    const auto step = [&hook](distrib::Step number) { hook.on_step({number, 1, 64}); };
    const auto fill = [&path] {
      std::ofstream filler{path + "/filler", std::ios::binary};
      while (filler << std::string(4096, 'x') << std::flush) {
      }
    };
    hook.on_start({});
    step(1);
    if (hook.report()) return "a report for nothing";
    fill();
    distrib::Step at = 1;
    std::optional<distrib::Event> report;
    for (; !report && at < 1000; report = hook.report()) step(++at);  // until the last page of the file is full
    if (!report || report->kind != distrib::Event::Kind::no_room) return "no report";
    if (report->text.find(path + "/events (No space left on device): the training continues") == std::string::npos)
      return report->text;
    for (distrib::Step more = 0; more < 50; ++more) step(++at);
    hook.on_evaluated({at, {10, {{"accuracy", 0.75}}, {}}});
    if (hook.report()) return "reported twice";
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator{path + "/events"}) ++files;
    if (files != 1) return "a file that was just started is still there";
    std::filesystem::remove(path + "/filler");
    step(++at);
    const distrib::Step again = at;
    if (hook.report()) return "a report although there is space again";
    fill();
    report.reset();
    for (; !report && at < 9000; report = hook.report()) step(++at);
    if (!report) return "not reported again";
    hook.on_end({});
    const auto scalars = distrib::read_scalars(path + "/events");
    for (const auto& event : scalars)
      if (event.tag == "loss" && event.step == static_cast<std::int64_t>(again)) return "";
    return "nothing in the second file";
  });
  if (!wrong) WARN("skipped: this user cannot mount a disk");
  else CHECK(*wrong == "");
}

TEST_CASE("WriteSummaries: a disk that is full from the start, and a path that is not writable", "[train]") {
  const support::TempDirectory directory;
  const std::string path = directory.path().string();
  const auto wrong = on_small_disk(path, [&]() -> std::string {
    std::ofstream filler{path + "/filler", std::ios::binary};
    while (filler << std::string(4096, 'x') << std::flush) {
    }
    distrib::WriteSummaries hook{path + "/events"};
    hook.on_start({7, 20, 1, 64, {}});
    const auto report = hook.report();
    hook.on_step({8, 1, 64});
    hook.on_end({});
    return report && !hook.report() ? "" : "not reported once";
  });
  if (!wrong) WARN("skipped: this user cannot mount a disk");
  else CHECK(*wrong == "");
  std::ofstream{path + "/file"} << "no directory";
  distrib::WriteSummaries hook{path + "/file"};
  CHECK_THROWS_AS(hook.on_start({}), std::system_error);
}

TEST_CASE("WriteSummaries: writes after the first step, then every n steps, and each evaluation", "[train]") {
  const support::TempDirectory directory;
  distrib::WriteSummaries hook{directory.path().string(), 8};
  hook.on_start({});
  for (distrib::Step step = 1; step <= 25; ++step) hook.on_step({step, static_cast<float>(step) / 2, 64});
  distrib::RocAuc auc;
  auc.add(0.1F, false);
  auc.add(0.9F, true);
  hook.on_evaluated({25, {10, {{"accuracy", 0.75}}, {{"auc", auc}}}});
  hook.on_end({});

  std::map<std::string, std::vector<std::int64_t>> steps;
  std::map<std::string, double> last;
  for (const auto& event : distrib::read_scalars(directory.path())) {
    steps[event.tag].push_back(event.step);
    last[event.tag] = event.value;
  }
  CHECK(steps["loss"] == std::vector<std::int64_t>{1, 9, 17, 25});
  CHECK(last["loss"] == 12.5);
  CHECK(steps["gradient_norm"].empty());
  CHECK(steps["examples_per_second"] == std::vector<std::int64_t>{9, 17, 25});
  CHECK(steps["evaluation/accuracy"] == std::vector<std::int64_t>{25});
  CHECK(last["evaluation/accuracy"] == 0.75);
  CHECK(last["evaluation/auc"] == 1);
}

TEST_CASE("WriteSummaries: writes the norm of the gradient if it is known", "[train]") {
  const support::TempDirectory directory;
  distrib::WriteSummaries hook{directory.path().string(), 2};
  hook.on_start({});
  for (distrib::Step step = 1; step <= 3; ++step) hook.on_step({step, 1, 64, static_cast<float>(step) / 4});
  hook.on_end({});
  std::map<std::int64_t, double> norms;
  for (const auto& event : distrib::read_scalars(directory.path()))
    if (event.tag == "gradient_norm") norms[event.step] = event.value;
  CHECK(norms == std::map<std::int64_t, double>{{1, 0.25}, {3, 0.75}});
}

TEST_CASE("WriteSummaries: a run that begins again drops the points beyond its first step", "[train]") {
  const distrib::Step first = GENERATE(0U, 2U);
  const support::TempDirectory directory;
  {
    distrib::WriteSummaries killed{directory.path().string(), 1};
    killed.on_start({});
    for (distrib::Step step = 1; step <= 4; ++step) killed.on_step({step, 1, 64});
    killed.on_end({});
  }
  distrib::WriteSummaries hook{directory.path().string(), 1};
  hook.on_start({first, 20, 1, 64, {}});
  hook.on_step({first + 1, 2, 64});
  hook.on_end({});

  std::map<std::int64_t, double> loss;
  for (const auto& event : distrib::read_scalars(directory.path()))
    if (event.tag == "loss") loss[event.step] = event.value;
  std::map<std::int64_t, double> expected;
  for (distrib::Step step = 1; step <= first; ++step) expected[static_cast<std::int64_t>(step)] = 1;
  expected[static_cast<std::int64_t>(first) + 1] = 2;
  CHECK(loss == expected);
}

TEST_CASE("WriteSummaries: in an object store the whole file goes up at checkpoints, evaluations and the end",
          "[train]") {
  const auto bucket = std::make_shared<support::MapObjects>();
  const support::TempDirectory directory;
  distrib::WriteSummaries hook{"map://bucket/run/events", 1};
  hook.use_object_stores(support::map_stores(bucket));
  CHECK(hook.written_directory() == "map://bucket/run/events");
  hook.on_start({});
  for (distrib::Step step = 1; step <= 4; ++step) hook.on_step({step, 1, 64});
  CHECK(bucket->count("") == 0);
  hook.on_saved({4, "map://bucket/run/model.ckpt-4"});
  hook.on_step({5, 1, 64});
  hook.on_evaluated({5, {10, {{"accuracy", 0.75}}, {}}});
  hook.on_step({6, 1, 64});
  hook.on_end({});
  CHECK_FALSE(hook.report());
  CHECK(bucket->count("run/events/events.out.tfevents.") == 1);
  REQUIRE(bucket->objects.size() == 1);
  const auto& bytes = bucket->objects.begin()->second;
  const std::string path = (directory / "events.out.tfevents.1.x").string();
  std::ofstream{path, std::ios::binary}.write(reinterpret_cast<const char*>(bytes.data()),
                                              static_cast<std::streamsize>(bytes.size()));
  std::map<std::string, std::vector<std::int64_t>> steps;
  for (const auto& event : distrib::read_scalars(path)) steps[event.tag].push_back(event.step);
  CHECK(steps["loss"] == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
  CHECK(steps["evaluation/accuracy"] == std::vector<std::int64_t>{5});

  hook.on_start({6, 20, 1, 64, {}});  // another run, another file
  hook.on_end({});
  CHECK(bucket->objects.size() == 2);
  distrib::WriteSummaries closed{"s3://bucket/events"};
  CHECK_THROWS_WITH(closed.on_start({}), ContainsSubstring("distrib::http"));
}

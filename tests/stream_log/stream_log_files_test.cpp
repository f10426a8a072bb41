// SPDX-License-Identifier: Apache-2.0
#include <distrib/stream_log/stream_log_files.hpp>

#include "support/catch.hpp"
#include "support/map_objects.hpp"
#include "support/temp_directory.hpp"

#include <distrib/stream_log/error.hpp>
#include <distrib/stream_log/stream_file.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace {

using distrib::StreamLogFiles;

auto log_before_files() -> distrib::StreamLog { return {2, {0}}; }

auto records_of_file(const std::string& name, std::uint64_t count) -> distrib::StreamRange {
  return {name, 0, count, {}, {1, count}};
}

auto files_of_log(const std::filesystem::path& directory) -> std::vector<std::string> {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator{directory})
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

}  // namespace

TEST_CASE("a log in a directory: what one process has written, another reads") {
  const support::TempDirectory directory;
  const std::string path = (directory / "run/log").string();
  distrib::Error error;
  StreamLogFiles one{path};
  StreamLogFiles other{path};
  CHECK(other.read(error) == nullptr);
  CHECK_FALSE(error);
  const auto add = [](distrib::StreamLog& log) { log.append(records_of_file("a", 6)); };
  const auto written = one.change(log_before_files(), add, error);
  REQUIRE(written);
  CHECK(written->records() == 6);
  const auto read = other.read(error);
  REQUIRE(read);
  CHECK(*read == *written);
  CHECK(other.read(error) == read);  // not parsed again
  // What changes nothing is not written.
  CHECK(other.change(log_before_files(), [](distrib::StreamLog&) {}, error) == read);
  CHECK(files_of_log(path) == std::vector<std::string>{"log-00000000000000000001"});
  CHECK(one.change(log_before_files(), [](distrib::StreamLog& log) { log.let_go(2); }, error)->kept_step() == 2);
  CHECK(other.read(error)->kept_step() == 2);
}

TEST_CASE("a log in a directory: of several changes at once each is made once, in one order") {
  const support::TempDirectory directory;
  constexpr std::uint64_t writers = 4;
  constexpr std::uint64_t changes = 2;  // so few that no number of a version becomes free again
  for (int round = 0; round < 20; ++round) {
    const std::string path = (directory / std::to_string(round)).string();
    std::vector<std::thread> threads;
    for (std::uint64_t writer = 0; writer < writers; ++writer)
      threads.emplace_back([&path, writer] {
        StreamLogFiles files{path};
        distrib::Error error;
        for (std::uint64_t i = 0; i < changes; ++i) {
          const std::string own = std::to_string(writer) + "-" + std::to_string(i);
          const auto add = [&own](distrib::StreamLog& log) { log.append(records_of_file(own, 1)); };
          files.change(log_before_files(), add, error);
        }
      });
    for (std::thread& thread : threads) thread.join();
    distrib::Error error;
    const auto log = StreamLogFiles{path}.read(error);
    REQUIRE(log);
    CHECK(log->records() == writers * changes);
    CHECK(log->sources() == writers * changes);
    std::vector<std::uint64_t> next(writers);
    for (const distrib::StreamItem& item : log->kept_items())
      if (const auto* const range = std::get_if<distrib::StreamRange>(&item)) {
        const std::size_t writer = std::stoul(range->source);
        CHECK(range->source == std::to_string(writer) + "-" + std::to_string(next[writer]++));
      }
    CHECK(files_of_log(path).size() <= writers * changes);  // nothing hidden is left
  }
}

TEST_CASE("a log in a directory or a store: a version that a process made too late counts nowhere") {
  const support::TempDirectory directory;
  const auto bucket = std::make_shared<support::MapObjects>();
  const std::string path = GENERATE(true, false) ? directory.path().string() : std::string{"map://bucket/log"};
  const distrib::OpenObjectStore open = support::map_stores(bucket);
  distrib::Error error;
  StreamLogFiles late{path, open};
  const auto add = [](const std::string& name) {
    return [name](distrib::StreamLog& log) {
      if (log.end_of(name) == nullptr) log.append(records_of_file(name, 1));
    };
  };
  REQUIRE(late.change(log_before_files(), add("first"), error));
  bool is_asleep = true;
  // While it sleeps, others make so many versions that the number of its version is free again.
  const auto log = late.change(
      log_before_files(),
      [&](distrib::StreamLog& next) {
        if (std::exchange(is_asleep, false)) {
          StreamLogFiles awake{path, open};
          distrib::Error failed;
          for (int i = 0; i < 20; ++i) awake.change(log_before_files(), add("b" + std::to_string(i)), failed);
        }
        add("late")(next);
      },
      error);
  REQUIRE(log);
  CHECK(log->records() == 22);
  StreamLogFiles reader{path, open};
  CHECK(reader.read(error)->records() == 22);
}

TEST_CASE("a log in a directory: what is damaged or cannot be written is named") {
  const support::TempDirectory directory;
  const std::string path = directory.path().string();
  distrib::Error error;
  StreamLogFiles files{path};
  REQUIRE(files.change(log_before_files(), [](distrib::StreamLog&) {}, error));
  const std::string newest = path + "/log-00000000000000000002";
  std::ofstream{newest} << "something else";
  CHECK(files.read(error) == nullptr);
  CHECK(error.code == distrib::stream_errc::bad_log);
  CHECK(error.where == newest);
  CHECK(files.change(log_before_files(), [](distrib::StreamLog&) {}, error) == nullptr);
  CHECK(error.code == distrib::stream_errc::bad_log);
  std::ofstream{(directory / "file").string()} << "x";
  StreamLogFiles nowhere{(directory / "file/log").string()};
  CHECK(nowhere.change(log_before_files(), [](distrib::StreamLog&) {}, error) == nullptr);
  CHECK(error);
  CHECK(distrib::detail::stream_log_version("log-00000000000000000042") == 42);
  for (const char* const name : {"log-42", "log-00000000000000000000", "log-0000000000000000004x", "head"})
    CHECK_FALSE(distrib::detail::stream_log_version(name));
}

TEST_CASE("a log in a store: a version whose answer was lost is not made twice") {
  const auto bucket = std::make_shared<support::MapObjects>();
  StreamLogFiles one{"map://bucket/run/log", support::map_stores(bucket)};
  StreamLogFiles other{"map://bucket/run/log", support::map_stores(bucket)};
  const auto add = [](const std::string& name) {
    return [name](distrib::StreamLog& log) {
      if (log.end_of(name) == nullptr) log.append(records_of_file(name, 1));
    };
  };
  distrib::Error error;
  REQUIRE(one.change(log_before_files(), add("a"), error));
  // The store writes the object, and its answer does not arrive: the client asks again, and is refused.
  distrib::StreamLog with_b = *other.read(error);
  with_b.append(records_of_file("b", 1));
  {
    support::MapClient lost{bucket};
    const auto log = std::make_shared<const distrib::StreamLog>(with_b);
    lost.put_if_absent("run/log/log-00000000000000000002", to_bytes(distrib::StreamFile{log->id(), log, true}), error);
  }
  const auto written = one.change(log_before_files(), add("b"), error);
  REQUIRE(written);
  CHECK(written->records() == 2);
  CHECK(bucket->count("run/log/log-") == 2);
  // A store that is away is named, and the log is as it was.
  bucket->fail = [](const std::string&) { return support::MapObjects::away(); };
  CHECK(one.change(log_before_files(), add("c"), error) == nullptr);
  CHECK(error.code == distrib::failure::unavailable);
  bucket->fail = {};
  CHECK(one.change(log_before_files(), add("c"), error)->records() == 3);
  CHECK(other.read(error)->records() == 3);
}

namespace {

// Processes that change one log, each perhaps in the middle of the change of another one.
struct DrawnChanges {
  DrawnChanges(std::uint32_t seed, bool is_in_store) : dice{seed} {
    for (int i = 0; i < 5; ++i) {
      if (is_in_store) processes.emplace_back("map://bucket/log", support::map_stores(bucket));
      else processes.emplace_back(directory.path().string());
    }
    is_busy.resize(processes.size());
  }
  void change(int depth) {
    const std::size_t process = dice() % processes.size();
    if (is_busy[process]) return;
    is_busy[process] = true;
    const std::string own = std::to_string(number++);
    bool is_first = true;
    distrib::Error error;
    const auto log = processes[process].change(
        log_before_files(),
        [&](distrib::StreamLog& next) {
          const std::uint32_t others = std::exchange(is_first, false) && depth < 3 ? dice() % 4 * (dice() % 4) : 0;
          for (std::uint32_t i = 0; i < others; ++i) change(depth + 1);
          if (next.end_of(own) == nullptr) next.append(records_of_file(own, 1));
        },
        error);
    is_busy[process] = false;
    REQUIRE(log);
    std::vector<std::string> names;
    for (const distrib::StreamItem& item : log->kept_items())
      if (const auto* const range = std::get_if<distrib::StreamRange>(&item)) names.push_back(range->source);
    CHECK(std::ranges::count(names, own) == 1);
    REQUIRE(names.size() > told.size());  // what was told before is the beginning of it
    CHECK(std::ranges::equal(told, std::span{names}.first(told.size())));
    told = std::move(names);
  }
  support::TempDirectory directory;
  std::shared_ptr<support::MapObjects> bucket = std::make_shared<support::MapObjects>();
  std::mt19937 dice;
  std::vector<StreamLogFiles> processes;
  std::vector<bool> is_busy;
  std::vector<std::string> told;
  int number = 0;
};

}  // namespace

TEST_CASE("a log in a directory: what was told once is the beginning of all that is told later, for drawn orders") {
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    for (const bool is_in_store : {false, true}) {
      DrawnChanges changes{seed, is_in_store};
      while (changes.number < 30) changes.change(0);
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
// Jobs in one process that train from files that are added while they run.
#include <distrib/data/follow_files.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_model.hpp"
#include "train/table_model.hpp"

#include <distrib/core/error.hpp>
#include <distrib/stream_log/error.hpp>
#include <distrib/stream_log/stream_log_files.hpp>
#include <distrib/train/builder.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace {

using std::chrono::milliseconds;

// Files that wait beside the directory that a job follows.
struct StreamOfFiles {
  explicit StreamOfFiles(bool has_tables = false) {
    std::filesystem::create_directory(directory / "all");
    if (has_tables) table_model::write(directory / "all", 300);
    else line_model::write(directory / "all", 300);
    for (const auto& entry : std::filesystem::directory_iterator{directory / "all"})
      names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
  }
  // Adds file `number` to what a job follows.
  void add(const std::string& job, std::size_t number) const {
    std::filesystem::create_directories(directory / job);
    const std::filesystem::path hidden = directory / job / ("_" + names[number]);
    std::filesystem::copy_file(directory / "all" / names[number], hidden);
    std::filesystem::rename(hidden, directory / job / names[number]);
  }
  [[nodiscard]] auto followed(const std::string& job) const -> distrib::FollowFiles {
    std::filesystem::create_directories(directory / job);
    return {.directory = (directory / job).string(),
            .log = (directory / (job + ".log")).string(),
            .look_every = milliseconds{1},
            .give_up_after = std::chrono::seconds{100},
            .believe_after = milliseconds{0}};
  }
  [[nodiscard]] auto lines(const std::string& job, std::uint32_t workers = 3) const {
    return distrib::train(LineModel{})
        .with_data(followed(job).schema(line_model::schema()).batch(3))
        .with_seed(11)
        .with_local_mode({.workers = workers, .shards = 2});
  }
  [[nodiscard]] auto saved(const std::string& job, std::uint64_t every = 4) const -> distrib::SaveCheckpoint {
    return {.directory = (directory / (job + ".out")).string(), .every_steps = every, .max_to_keep = 2};
  }
  support::TempDirectory directory;
  std::vector<std::string> names;
};

// Asks the run to stop when it waits for records.
struct StopsWhenDry {
  void on_event(const distrib::Event& event) const {
    if (event.kind == distrib::Event::Kind::waiting && event.peer == "data") std::raise(SIGTERM);
  }
};

struct StopsAt {
  distrib::Step step;
  mutable bool is_reached = false;
  void on_step(const distrib::StepDone& event) const { is_reached = is_reached || event.step >= step; }
  auto stop_reason() const -> std::string { return is_reached ? "enough" : ""; }
};

template <class Trainer> auto hash_of(Trainer&& trainer) -> std::string {
  CHECK(trainer.run() == 0);
  return trainer.result().parameters_sha256;
}

}  // namespace

TEST_CASE("a stream in one process: the bits do not depend on when files appear", "[train]") {
  const StreamOfFiles stream;
  for (const std::size_t number : {0U, 1U, 2U}) stream.add("whole", number);
  const std::string expected = hash_of(stream.lines("whole").with_hooks(distrib::StopAtStep{30}).build());

  stream.add("slow", 0);
  std::thread writer{[&stream] {
    for (const std::size_t number : {1U, 2U}) {
      std::this_thread::sleep_for(milliseconds{50});
      stream.add("slow", number);
    }
  }};
  distrib::IoPool pool{2};
  CHECK(hash_of(stream.lines("slow").with_hooks(distrib::StopAtStep{30}).build(pool)) == expected);
  writer.join();
}

TEST_CASE("a stream in one process: asked to stop while it waits, it saves, and continues with the same bits",
          "[train]") {
  const StreamOfFiles stream;
  for (const std::size_t number : {0U, 1U, 2U}) stream.add("whole", number);
  const std::string expected = hash_of(stream.lines("whole").with_hooks(distrib::StopAtStep{30}).build());

  stream.add("stopped", 0);
  const auto build = [&stream] {
    return stream.lines("stopped").with_hooks(distrib::StopAtStep{30}, stream.saved("stopped"), StopsWhenDry{}).build();
  };
  auto first = build();
  CHECK(first.run() == 1);  // after a signal
  CHECK(first.result().steps == 11);  // 100 records
  CHECK_FALSE(first.result().complete);
  stream.add("stopped", 1);
  stream.add("stopped", 2);
  CHECK(hash_of(build()) == expected);
}

TEST_CASE("a stream in one process: a job without a last step; its log stays short", "[train]") {
  const StreamOfFiles stream;
  for (const std::size_t number : {0U, 1U, 2U}) stream.add("job", number);
  auto trainer = stream.lines("job", 1).with_hooks(stream.saved("job"), StopsAt{90}).build();
  CHECK(trainer.run() == 0);
  CHECK(trainer.result().stop_reason == "enough");
  CHECK_FALSE(trainer.result().complete);
  CHECK(trainer.result().steps >= 90);
  distrib::Error error;
  const auto log = distrib::StreamLogFiles{(stream.directory / "job.log").string()}.read(error);
  REQUIRE(log);
  CHECK(log->records() == 300);
  CHECK(log->kept_step() >= 80);
  CHECK(log->kept_items().size() <= 2);

  // Older checkpoints are gone, and so is what they would need.
  std::filesystem::remove_all(stream.directory / "job.log");
  auto again = stream.lines("job", 1).with_hooks(stream.saved("job"), StopsAt{90}).build();
  try {
    static_cast<void>(again.run());
    FAIL("a job continued without its log");
  } catch (const std::system_error& thrown) {
    CHECK(thrown.code() == distrib::stream_errc::log_behind);
  }
}

TEST_CASE("a stream in one process: a model with tables, whose rows are known when the records are", "[train]") {
  const StreamOfFiles stream{true};
  const auto builder = [&stream](const std::string& job) {
    return distrib::train(TableModel{})
        .with_data(stream.followed(job).schema(table_model::schema()).batch(5))
        .with_seed(3)
        .with_hooks(distrib::StopAtStep{20})
        .with_local_mode({.workers = 3, .shards = 2});
  };
  for (const std::size_t number : {0U, 1U, 2U}) stream.add("whole", number);
  const std::string expected = hash_of(builder("whole").build());
  for (const bool has_pool : {false, true}) {
    const std::string job = has_pool ? "pool" : "alone";
    std::thread writer{[&stream, &job] {
      for (const std::size_t number : {0U, 1U, 2U}) {
        std::this_thread::sleep_for(milliseconds{50});
        stream.add(job, number);
      }
    }};
    distrib::IoPool pool{2};
    CHECK(hash_of(has_pool ? builder(job).build(pool) : builder(job).build()) == expected);
    writer.join();
  }
}

TEST_CASE("a stream in one process: what is wrong with a file ends the job, and names it", "[train]") {
  const StreamOfFiles stream;
  stream.add("job", 0);
  auto trainer = stream.lines("job").with_hooks(distrib::StopAtStep{11}, stream.saved("job")).build();
  CHECK(trainer.run() == 0);
  std::filesystem::rename(stream.directory / "job" / stream.names[0], stream.directory / "job/_away");
  stream.add("job", 1);
  auto more = stream.lines("job").with_hooks(distrib::StopAtStep{20}, stream.saved("job")).build();
  try {
    static_cast<void>(more.run());  // step 12 has the last record of the file that is gone
    FAIL("a job continued without its file");
  } catch (const std::system_error& thrown) {
    CHECK(thrown.code() == distrib::stream_errc::source_gone);
    CHECK(std::string{thrown.what()}.find(stream.names[0]) != std::string::npos);
  }
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/spark/spark_write_job.hpp>

#include <distrib/spark/spark_error.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "support/unreadable_directory.hpp"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using distrib::Error;
using distrib::SaveMode;
using distrib::spark_errc;
using distrib::SparkWriteJob;

namespace {

void write_name(const std::filesystem::path& path) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream{path} << path.filename().string();
}

/// Returns all files below a directory, including hidden ones.
auto tree(const std::filesystem::path& directory) -> std::vector<std::string> {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{directory})
    if (!entry.is_directory()) files.push_back(std::filesystem::relative(entry.path(), directory).string());
  std::ranges::sort(files);
  return files;
}

/// Commits a task with one file.
void write_task(const SparkWriteJob& job, const std::string& file) {
  const std::string attempt = job.begin_task(0);
  write_name(attempt + "/" + file);
  job.commit_task(0, attempt);
}

using Files = std::vector<std::string>;

/// What the calls below do in a process that was forked: the system calls that change a file system are counted, and
/// the process ends before one of them.
struct Interruption {
  int calls_left = -1;  // negative: the process goes on
  bool without_flags = false;  // as on a file system that only has rename(2)
  bool without_sync = false;  // so that the test does not wait for the disk
  std::string refused{};  // what cannot be renamed to the place of a table

  void count() {
    if (calls_left >= 0 && calls_left-- == 0) ::_exit(9);
  }
} interruption;

}  // namespace

// These take the place of the functions of the C library in this program.
extern "C" {
auto renameat2(int from_directory, const char* from, int to_directory, const char* to, unsigned flags) noexcept -> int {
  interruption.count();
  if (flags != 0 && interruption.without_flags) {
    errno = EINVAL;
    return -1;
  }
  if (flags == 0 && interruption.refused == from) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_renameat2, from_directory, from, to_directory, to, flags));
}
auto unlinkat(int directory, const char* name, int flags) noexcept -> int {
  interruption.count();
  return static_cast<int>(::syscall(SYS_unlinkat, directory, name, flags));
}
auto writev(int file, const ::iovec* pieces, int count) -> ::ssize_t {
  interruption.count();
  return ::syscall(SYS_writev, file, pieces, count);
}
auto fsync(int file) -> int {
  interruption.count();
  return interruption.without_sync ? 0 : static_cast<int>(::syscall(SYS_fsync, file));
}
}

namespace {

/// Runs `task` in a process of its own that ends before system call `calls`. Returns true if the task ended before
/// that.
template <class Task> auto ends_within(int calls, bool without_flags, Task task) -> bool {
  const ::pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    interruption.calls_left = calls;
    interruption.without_flags = without_flags;
    try {
      task();
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  REQUIRE((WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 9));
  return WEXITSTATUS(status) == 0;
}

/// Writes a table as a job of this name: _SUCCESS and part-NAME.
void write_table(const std::string& path, const std::string& name) {
  const SparkWriteJob job{path, name};
  static_cast<void>(job.start());
  write_task(job, "part-" + name);
  job.commit(1);
}

/// The table of job "old", and job "new", which is to replace it and has committed its only task.
struct Replacement {
  Replacement() {
    write_table(path, "old");
    REQUIRE(job.start());
    write_task(job, "part-new");
  }

  support::TempDirectory directory;
  std::string path = (directory / "t").string();
  SparkWriteJob job{path, "new", SaveMode::overwrite};
};

}  // namespace

TEST_CASE("SparkWriteJob: readers see only complete tables; one of several attempts counts", "[hadoop]") {
  const support::TempDirectory directory;
  const SparkWriteJob job{(directory / "t/").string(), "id"};
  CHECK(job.path() == (directory / "t").string());
  REQUIRE(job.start());
  const std::string first = job.begin_task(0);
  const std::string second = job.begin_task(0);
  const std::string dead = job.begin_task(1);
  CHECK(first != second);
  write_name(first + "/k=1/part-0");
  write_name(second + "/k=1/part-0");
  write_name(second + "/k=1/part-0-c001");
  write_name(dead + "/k=1/part-1-of-the-dead");
  job.commit_task(0, first);
  job.commit_task(0, second);
  CHECK(!std::filesystem::exists(second));

  Error error;
  job.commit(2, error);
  CHECK(error.code == spark_errc::unfinished);
  CHECK(error.where == (directory / "t").string() + ": task 1");
  CHECK(!std::filesystem::exists(directory / "t"));

  const std::string third = job.begin_task(1);
  write_name(third + "/k=2/part-1");
  write_name(third + "/k=2/.part-2.tmp123");
  job.commit_task(1, third);
  job.commit(2);
  CHECK(tree(directory.path()) == Files{"t/_SUCCESS", "t/k=1/part-0", "t/k=2/part-1"});
}

TEST_CASE("SparkWriteJob: an attempt without files counts, if it commits first", "[hadoop]") {
  const support::TempDirectory directory;
  const SparkWriteJob job{(directory / "t").string(), "id"};
  REQUIRE(job.start());
  const std::string empty = job.begin_task(0);
  const std::string full = job.begin_task(0);
  write_name(full + "/part-0");
  job.commit_task(0, empty);
  job.commit_task(0, full);
  CHECK(!std::filesystem::exists(full));
  job.commit(1);
  CHECK(tree(directory.path()) == Files{"t/_SUCCESS"});
}

TEST_CASE("SparkWriteJob: a table in a directory that may be written and not read", "[hadoop]") {
  const support::UnreadableDirectory directory;
  const std::string path = directory.path() + "/t";
  const SparkWriteJob job{path, "id"};
  REQUIRE(job.start());
  write_task(job, "part-0");
  job.commit(1);
  CHECK(tree(path) == Files{"_SUCCESS", "part-0"});
}

TEST_CASE("SparkWriteJob: each save mode, if the path exists", "[hadoop]") {
  const support::TempDirectory directory;
  const std::string path = (directory / "t").string();
  write_name(directory / "t/part-old");
  Error error;

  CHECK(!SparkWriteJob{path, "id"}.start(error));
  CHECK(error.code == spark_errc::already_exists);
  CHECK_THROWS_AS((SparkWriteJob{path, "id"}.start()), std::system_error);
  CHECK(!SparkWriteJob{path, "id", SaveMode::ignore}.start());
  CHECK(tree(directory.path()) == Files{"t/part-old"});

  const SparkWriteJob more{path, "id1", SaveMode::append};
  REQUIRE(more.start());
  write_task(more, "part-new");
  more.commit(1);
  CHECK(tree(directory.path()) == Files{"t/_SUCCESS", "t/part-new", "t/part-old"});

  const SparkWriteJob over{path, "id2", SaveMode::overwrite};
  REQUIRE(over.start());
  write_task(over, "part-only");
  CHECK(std::filesystem::exists(directory / "t/part-old"));
  over.commit(1);
  CHECK(tree(directory.path()) == Files{"t/_SUCCESS", "t/part-only"});

  const SparkWriteJob dropped{path, "id3", SaveMode::overwrite};
  REQUIRE(dropped.start());
  write_task(dropped, "part-none");
  dropped.abort();
  CHECK(tree(directory.path()) == Files{"t/_SUCCESS", "t/part-only"});
}

TEST_CASE("SparkWriteJob: each save mode, if another writer creates the path meanwhile", "[hadoop]") {
  const support::TempDirectory directory;
  const std::string path = (directory / "t").string();
  for (const SaveMode mode : {SaveMode::error_if_exists, SaveMode::ignore, SaveMode::append, SaveMode::overwrite}) {
    const SparkWriteJob job{path, "id", mode};
    REQUIRE(job.start());
    write_task(job, "part-mine");
    write_name(directory / "t/part-theirs");
    Error error;
    job.commit(1, error);
    const bool refused = mode == SaveMode::error_if_exists;
    CHECK((error.code == spark_errc::already_exists) == refused);
    CHECK(static_cast<bool>(error) == refused);
    job.abort();
    CHECK(std::filesystem::exists(directory / "t/part-theirs") == (mode != SaveMode::overwrite));
    CHECK(std::filesystem::exists(directory / "t/part-mine") ==
          (mode >= SaveMode::append && mode <= SaveMode::overwrite));
    std::filesystem::remove_all(directory / "t");
    CHECK(tree(directory.path()).empty());
  }
}

TEST_CASE("SparkWriteJob: commit can be called again after an interruption", "[hadoop]") {
  const support::TempDirectory directory;
  const SparkWriteJob job{(directory / "t").string(), "id"};
  REQUIRE(job.start());
  write_task(job, "k=1/part-0");
  // The state after _SUCCESS was written, before the rest was done.
  std::filesystem::create_directories(directory / ".t.id/k=1");
  std::filesystem::rename(directory / ".t.id/_temporary/task-00000/k=1/part-0", directory / ".t.id/k=1/part-0");
  write_name(directory / ".t.id/_SUCCESS");
  job.commit(1);
  CHECK(tree(directory.path()) == Files{"t/_SUCCESS", "t/k=1/part-0"});
  job.commit(1);
  CHECK(tree(directory.path()) == Files{"t/_SUCCESS", "t/k=1/part-0"});

  const SparkWriteJob half{(directory / "u").string(), "id"};
  REQUIRE(half.start());
  write_task(half, "k=1/part-0");
  std::filesystem::create_directories(directory / ".u.id/k=1");
  std::filesystem::rename(directory / ".u.id/_temporary/task-00000/k=1/part-0", directory / ".u.id/k=1/part-0");
  half.commit(1);
  CHECK(tree(directory / "u") == Files{"_SUCCESS", "k=1/part-0"});
}

TEST_CASE("SparkWriteJob: commit and abort finish what a commit left that was killed", "[hadoop]") {
  const auto interrupt = [](SaveMode mode, bool without_flags, bool has_old, bool then_abort) {
    bool ended = false;
    for (int calls = 0; !ended; ++calls) {
      CAPTURE(static_cast<int>(mode), without_flags, has_old, then_abort, calls);
      const support::TempDirectory directory;
      const std::string path = (directory / "t").string();
      const SparkWriteJob job{path, "new", mode};
      REQUIRE(job.start());
      write_task(job, "part-new");
      if (has_old) write_table(path, "old");
      ended = ends_within(calls, without_flags, [&] {
        Error ignored;
        job.commit(1, ignored);
      });

      const Files before = has_old ? Files{"t/_SUCCESS", "t/part-old"} : Files{};
      Files after{"t/_SUCCESS", "t/part-new"};
      if (has_old && mode == SaveMode::append) after = {"t/_SUCCESS", "t/part-new", "t/part-old"};
      if (has_old && (mode == SaveMode::error_if_exists || mode == SaveMode::ignore)) after = before;

      // Where the two tables cannot be exchanged in one step there is none between the steps.
      const bool is_there = std::filesystem::exists(path);
      if (has_old && !(without_flags && mode == SaveMode::overwrite)) CHECK(is_there);
      Files seen;
      for (const std::string& file : tree(directory.path()))
        if (file.starts_with("t/")) seen.push_back(file);
      if (is_there && mode != SaveMode::append) CHECK((seen == before || seen == after));

      interruption.without_flags = without_flags;
      if (then_abort) {
        job.abort();
        CHECK(!std::filesystem::exists(directory / ".t.new"));
        const Files left = tree(directory.path());
        CHECK((left == before || left == after || (mode == SaveMode::append && left.size() == 3)));
      }
      for (int again = 0; again < 2 && !then_abort; ++again) {
        Error error;
        job.commit(1, error);
        const bool refused = has_old && mode == SaveMode::error_if_exists;
        CHECK(error.code == (refused ? make_error_code(spark_errc::already_exists) : std::error_code{}));
        if (refused) break;
        CHECK(tree(directory.path()) == after);
        CHECK(!std::filesystem::exists(directory / ".t.new"));
      }
      interruption.without_flags = false;
    }
  };
  interruption.without_sync = true;
  for (const SaveMode mode : {SaveMode::error_if_exists, SaveMode::append, SaveMode::overwrite, SaveMode::ignore})
    for (const bool without_flags : {false, true})
      for (const bool has_old : {false, true})
        for (const bool then_abort : {false, true})
          if (has_old || mode == SaveMode::overwrite) interrupt(mode, without_flags, has_old, then_abort);
  interruption.without_sync = false;
}

TEST_CASE("SparkWriteJob: where tables cannot be exchanged in one step, the old one is whole under one of two names",
          "[hadoop]") {
  const Replacement replacement;
  const auto& [directory, path, job] = replacement;
  const std::string aside = (directory / ".t.new.old").string();
  const auto stop_between = [&] {
    interruption.without_sync = true;
    for (int calls = 0; !ends_within(calls, true, [&] { job.commit(1); }) && std::filesystem::exists(path); ++calls) {
    }
    interruption.without_sync = false;
    REQUIRE(!std::filesystem::exists(path));
  };
  stop_between();
  CHECK(tree(aside) == Files{"_SUCCESS", "part-old"});

  // No other job takes the path for free.
  for (const SaveMode mode : {SaveMode::error_if_exists, SaveMode::ignore, SaveMode::append, SaveMode::overwrite}) {
    Error error;
    CHECK(!SparkWriteJob{path, "other", mode}.start(error));
    CHECK(error.code == spark_errc::half_replaced);
    CHECK(error.where == aside);
  }
  for (const char* const other : {"tt", "new", "t.new", ".t"}) {
    const SparkWriteJob unrelated{(directory / other).string(), "other"};
    CHECK(unrelated.start());
    unrelated.abort();
  }

  SECTION("abort brings the old table back") {
    job.abort();
    CHECK(tree(directory.path()) == Files{"t/_SUCCESS", "t/part-old"});
  }
  SECTION("another writer was faster than the repeated commit") {
    write_name(directory / "t/part-theirs");
    interruption.without_flags = true;
    job.commit(1);
    interruption.without_flags = false;
    CHECK(tree(directory.path()) == Files{"t/_SUCCESS", "t/part-new"});
  }
  SECTION("another writer was faster than abort: no table is removed") {
    write_name(directory / "t/part-theirs");
    job.abort();
    CHECK(tree(directory.path()) == Files{".t.new.old/_SUCCESS", ".t.new.old/part-old", "t/part-theirs"});
    std::filesystem::remove_all(directory / "t");
    job.abort();
    CHECK(tree(directory.path()) == Files{"t/_SUCCESS", "t/part-old"});
  }
}

TEST_CASE("SparkWriteJob: a commit that fails brings the old table back", "[hadoop]") {
  const Replacement replacement;
  const auto& [directory, path, job] = replacement;
  interruption.without_flags = true;
  interruption.refused = directory / ".t.new";
  Error error;
  job.commit(1, error);
  interruption.refused.clear();
  CHECK(error.code == std::errc::io_error);
  CHECK(tree(path) == Files{"_SUCCESS", "part-old"});
  job.commit(1);
  interruption.without_flags = false;
  CHECK(tree(directory.path()) == Files{"t/_SUCCESS", "t/part-new"});
}

TEST_CASE("SparkWriteJob: a commit that is repeated late leaves the table of a later job", "[hadoop]") {
  for (const bool killed_early : {false, true}) {
    const Replacement replacement;
    const auto& [directory, path, job] = replacement;
    if (killed_early) {
      // The state after the tables were exchanged, before the old one was removed.
      std::filesystem::rename(path, directory / "old");
      job.commit(1);
      std::filesystem::rename(directory / "old", directory / ".t.new");
    } else {
      job.commit(1);
    }
    const SparkWriteJob later{path, "later", SaveMode::overwrite};
    REQUIRE(later.start());
    write_task(later, "part-later");
    later.commit(1);
    for (const std::size_t tasks : {0U, 1U}) {
      Error error;
      job.commit(tasks, error);
      CHECK(error.code == spark_errc::unfinished);
      CHECK(tree(directory / "t") == Files{"_SUCCESS", "part-later"});
    }
    job.abort();
    CHECK(tree(directory.path()) == Files{"t/_SUCCESS", "t/part-later"});
  }
}

TEST_CASE("SparkWriteJob: an id is for one table", "[hadoop]") {
  const support::TempDirectory directory;
  const std::string path = (directory / "t").string();
  write_table(path, "id");
  for (const SaveMode mode : {SaveMode::append, SaveMode::overwrite}) {
    Error error;
    CHECK(!SparkWriteJob{path, "id", mode}.start(error));
    CHECK(error.code == spark_errc::used_id);
    CHECK(error.where == path + ": id");
    CHECK(tree(directory.path()) == Files{"t/_SUCCESS", "t/part-id"});
  }
}

TEST_CASE("SparkWriteJob: reports failures of the operating system", "[hadoop]") {
  const support::TempDirectory directory;
  write_name(directory / "file");
  Error error;
  CHECK(!SparkWriteJob{(directory / "file/t").string(), "id"}.start(error));
  CHECK(error.code == std::errc::not_a_directory);
  const SparkWriteJob job{(directory / "t").string(), "id"};
  job.commit_task(0, (directory / "nothing").string(), error);
  CHECK(error.code == distrib::failure::not_found);
  CHECK_THROWS_AS(job.commit_task(0, (directory / "nothing").string()), std::system_error);
  CHECK_THROWS_AS(job.commit(1), std::system_error);
}

TEST_CASE("draw_job_id: a UUID, different each time", "[hadoop]") {
  const std::string id = distrib::draw_job_id();
  CHECK(id.size() == 36);
  CHECK(id[14] == '4');
  CHECK(id != distrib::draw_job_id());
}

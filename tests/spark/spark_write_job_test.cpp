// SPDX-License-Identifier: Apache-2.0
#include <distrib/spark/spark_write_job.hpp>

#include <distrib/spark/spark_error.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "support/unreadable_directory.hpp"

#include <algorithm>
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

  const SparkWriteJob half{(directory / "u").string(), "id"};
  REQUIRE(half.start());
  write_task(half, "k=1/part-0");
  std::filesystem::create_directories(directory / ".u.id/k=1");
  std::filesystem::rename(directory / ".u.id/_temporary/task-00000/k=1/part-0", directory / ".u.id/k=1/part-0");
  half.commit(1);
  CHECK(tree(directory / "u") == Files{"_SUCCESS", "k=1/part-0"});
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

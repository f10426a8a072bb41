// SPDX-License-Identifier: Apache-2.0
#include <distrib/spark/spark_directory.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "support/test_dir.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using distrib::Error;
using distrib::list_spark_directory;
using distrib::spark_errc;
using distrib::SparkDirectory;
using distrib::detail::arrange_spark_files;
using distrib::detail::SparkPath;

namespace {

void touch(const std::filesystem::path& path) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream{path};
}

auto arranged(const std::vector<SparkPath>& paths, Error& error) -> SparkDirectory {
  return arrange_spark_files(paths, error);
}

auto columns(const SparkDirectory& table) -> std::string {
  std::string text;
  for (const auto& column : table.partition_columns)
    text += column.name + ":" + to_text(column.type) + (column.nullable ? "? " : " ");
  return text;
}

}  // namespace

TEST_CASE("arrange_spark_files: directories become partition columns", "[hadoop]") {
  Error error;
  const auto table = arranged({{"t", "b=2/k=__HIVE_DEFAULT_PARTITION__/part-1"}, {"t", "b=10/k=x%2Fy/part-0"}}, error);
  REQUIRE(!error);
  CHECK(columns(table) == "b:Integer k:String? ");
  REQUIRE(table.files.size() == 2);
  CHECK(table.files[0].path == "t/b=10/k=x%2Fy/part-0");
  CHECK(table.files[0].partition == std::vector<distrib::SparkPartitionValue>{"10", "x/y"});
  CHECK(table.files[1].partition == std::vector<distrib::SparkPartitionValue>{"2", std::nullopt});

  CHECK(arranged({{"t/part-0", ""}}, error).files.at(0).path == "t/part-0");
}

TEST_CASE("arrange_spark_files: refuses files with different columns", "[hadoop]") {
  Error error;
  for (const auto& paths : std::vector<std::vector<SparkPath>>{{{"t", "a=1/part-0"}, {"t", "part-1"}},
                                                               {{"t", "part-1"}, {"t", "a=1/part-0"}},
                                                               {{"t", "a=1/part-0"}, {"t", "b=1/part-0"}},
                                                               {{"t", "a=1/b=1/part-0"}, {"t", "a=1/part-0"}},
                                                               {{"t", "a=1/part-0"}, {"t", "a=1/b=1/part-0"}},
                                                               {{"t", "sub/part-0"}}}) {
    (void)arranged(paths, error);
    CHECK(error.code == spark_errc::mixed_partitions);
    CHECK(error.where.starts_with("t/"));
  }
  (void)arranged({{"t", "a=1/a=2/part-0"}}, error);
  CHECK(error.code == spark_errc::duplicate_column);
  (void)arranged({}, error);
  CHECK(error.code == spark_errc::no_files);
}

TEST_CASE("list_spark_directory: hidden files, single files, patterns, shards", "[hadoop]") {
  const support::TempDirectory directory;
  for (const char* const name : {"t/part-2", "t/part-0.gz", "t/other", "t/_SUCCESS", "t/.part-0.gz.crc",
                                 "t/_temporary/x", "t/part-1._COPYING_", "t/.hidden/part-9", "u/_c=1/part-0"})
    touch(directory / name);
  const std::string base = directory.path().string();
  const auto table = list_spark_directory(base + "/t");
  CHECK(table.paths() == std::vector<std::string>{base + "/t/other", base + "/t/part-0.gz", base + "/t/part-2"});
  CHECK(table.shard(2, 0).files.size() == 2);
  CHECK(table.shard(2, 1).paths() == std::vector<std::string>{base + "/t/part-0.gz"});
  CHECK(columns(list_spark_directory(base + "/u")) == "_c:Integer ");
  CHECK(list_spark_directory(base + "/t/part-2").files.size() == 1);
  CHECK(list_spark_directory(base + "/t/part-*").files.size() == 2);
  CHECK(list_spark_directory(base + "/?/*").files.size() >= 3);

  Error error;
  (void)list_spark_directory(base + "/u", {.require_success = true}, error);
  CHECK(error.code == spark_errc::unfinished);
  CHECK(error.where == base + "/u");
  CHECK(list_spark_directory(base + "/t", {.require_success = true}).files.size() == 3);

  std::error_code ec;
  (void)list_spark_directory(base + "/nothing", {}, ec);
  CHECK(ec == spark_errc::no_files);
  touch(directory / "t/sub/part-0");
  (void)list_spark_directory(base + "/t", {}, ec);
  CHECK(ec == spark_errc::mixed_partitions);
  CHECK_THROWS_AS(list_spark_directory(base + "/t"), std::system_error);
}

TEST_CASE("list_spark_directory: a directory that Spark wrote", "[hadoop]") {
  const auto table = list_spark_directory(support::test_dir() + "/spark/fixtures/partitioned");
  CHECK(columns(table) == "shard:Integer kind:String? ");
  CHECK(table.files.size() == 7);
}

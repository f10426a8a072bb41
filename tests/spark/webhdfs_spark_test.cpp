// SPDX-License-Identifier: Apache-2.0
#include <distrib/spark/webhdfs_spark.hpp>

#include <distrib/spark/spark_reader.hpp>

#include "spark/canonical_rows.hpp"
#include "support/catch.hpp"
#include "support/fake_hdfs.hpp"
#include "support/test_dir.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using distrib::list_spark_directory;
using distrib::spark_errc;

namespace {

const distrib::WebHdfsOptions small_pieces{.user = "me", .piece_bytes = 1'000};

/// Copies a local directory into HDFS, to /t.
void upload(support::FakeHdfs& hdfs, const std::filesystem::path& from) {
  hdfs.directories.insert("/t");
  for (const auto& entry : std::filesystem::recursive_directory_iterator{from}) {
    const std::string path = "/t/" + std::filesystem::relative(entry.path(), from).string();
    std::ifstream file{entry.path(), std::ios::binary};
    if (entry.is_directory()) hdfs.directories.insert(path);
    else hdfs.files[path] = {std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
  }
}

auto rows_of(const distrib::SparkDirectory& table, const distrib::SparkReadOptions& options)
    -> std::vector<std::string> {
  std::vector<std::string> lines;
  for (const auto& row : distrib::SparkReader{table, canonical::partitioned, options})
    lines.push_back(canonical::line(canonical::partitioned, row));
  std::ranges::sort(lines);
  return lines;
}

}  // namespace

TEST_CASE("list_spark_directory: a table in HDFS", "[hadoop]") {
  const std::string here = support::test_dir() + "/spark/fixtures/partitioned";
  support::FakeHdfs hdfs;
  upload(hdfs, here);
  distrib::SparkReadOptions options;
  options.open = distrib::open_webhdfs(small_pieces);
  const auto table = list_spark_directory(hdfs.file("/t/"), small_pieces, {.require_success = true});
  CHECK(table.files.size() == 7);
  CHECK(table.partition_columns.size() == 2);
  CHECK(rows_of(table, options) == rows_of(list_spark_directory(here), {}));

  const std::string file = table.files.front().path;
  CHECK(list_spark_directory(file, small_pieces, {.require_success = true}).paths() == std::vector<std::string>{file});

  distrib::Error error;
  hdfs.files.erase("/t/_SUCCESS");
  (void)list_spark_directory(hdfs.file("/t"), small_pieces, {.require_success = true}, error);
  CHECK(error.code == spark_errc::unfinished);
  hdfs.directories.insert("/t/sub");
  (void)list_spark_directory(hdfs.file("/t"), small_pieces, {}, error);
  CHECK(error.code == spark_errc::mixed_partitions);
  CHECK(error.where == hdfs.file("/t/sub"));
  hdfs.directories.insert("/empty");
  (void)list_spark_directory(hdfs.file("/empty"), small_pieces, {}, error);
  CHECK(error.code == spark_errc::no_files);
  (void)list_spark_directory(hdfs.file("/nothing"), small_pieces, {}, error);
  CHECK(error.code == distrib::failure::not_found);
  CHECK_THROWS_AS(list_spark_directory("hdfs:", small_pieces, {}), std::system_error);
}

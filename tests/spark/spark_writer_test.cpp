// SPDX-License-Identifier: Apache-2.0
#include <distrib/spark/spark_writer.hpp>

#include <distrib/spark/spark_reader.hpp>

#include "spark/canonical_rows.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "support/test_dir.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

using distrib::Compression;
using distrib::list_spark_directory;
using distrib::SaveMode;
using distrib::spark_column;
using distrib::spark_errc;
using distrib::spark_schema;
using distrib::SparkReader;
using distrib::SparkRules;
using distrib::SparkWriteOptions;
using distrib::SparkWriter;

namespace {

template <class Schema> auto lines_of(const std::string& path, const Schema& schema) -> std::vector<std::string> {
  std::vector<std::string> lines;
  for (const auto& row : SparkReader{list_spark_directory(path), schema}) lines.push_back(canonical::line(schema, row));
  std::ranges::sort(lines);
  return lines;
}

auto names_in(const std::filesystem::path& directory) -> std::vector<std::string> {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator{directory})
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

auto row(std::int64_t id, std::int32_t shard, std::optional<std::string> kind) -> canonical::Partitioned {
  return {id, "row", shard, std::move(kind)};
}

}  // namespace

TEST_CASE("SparkWriter: the written rows are read again, with any compression", "[hadoop]") {
  const support::TempDirectory directory;
  const std::string fixture = support::test_dir() + "/spark/fixtures/example";
  for (const auto compression : {Compression::none, Compression::gzip, Compression::zlib}) {
    const std::string path = (directory / ("t" + std::to_string(static_cast<int>(compression)))).string();
    SparkWriter writer{path, canonical::everything, {.compression = compression}};
    for (const auto& one : SparkReader{list_spark_directory(fixture), canonical::everything}) writer.write(one);
    CHECK(!std::filesystem::exists(path));
    writer.commit();
    writer.commit();
    CHECK(writer.rows() == 24);
    CHECK(lines_of(path, canonical::everything) == lines_of(fixture, canonical::everything));
    const auto names = names_in(path);
    REQUIRE(names.size() == 2);
    CHECK(names[0] == "_SUCCESS");
    CHECK(names[1].starts_with("part-00000-"));
    const char* const endings[] = {"-c000.tfrecord", "-c000.tfrecord.gz", "-c000.tfrecord.deflate"};
    CHECK(names[1].ends_with(endings[static_cast<int>(compression)]));
    std::error_code ec;
    writer.write({}, ec);
    CHECK(ec == spark_errc::closed);
  }
  CHECK(names_in(directory.path()).size() == 3);
}

TEST_CASE("SparkWriter: SequenceExamples", "[hadoop]") {
  const support::TempDirectory directory;
  const std::string path = (directory / "t").string();
  SparkWriter writer{path, canonical::sequence, {.record_type = distrib::SparkRecordType::sequence_example}};
  writer.write({.id = 1, .s = "a", .af = {{1.5F}}, .xs = {{{1, 2}, {}}}, .fs = {{}}, .ts = {{{"x"}}}});
  writer.write({.id = 2, .s = {}, .af = {}, .xs = {}, .fs = {}, .ts = {}});
  writer.commit();
  std::string text;
  for (const auto& one : SparkReader{list_spark_directory(path),
                                     canonical::sequence,
                                     {.record_type = distrib::SparkRecordType::sequence_example}})
    text += canonical::line(canonical::sequence, one);
  CHECK(text == R"({"af":["1.5"],"fs":[],"id":1,"s":"a","ts":[["x"]],"xs":[[1,2],[]]})"
                R"({"af":null,"fs":null,"id":2,"s":null,"ts":null,"xs":null})");
}

TEST_CASE("SparkWriter: partitions", "[hadoop]") {
  const support::TempDirectory directory;
  const std::string path = (directory / "t").string();
  SparkWriteOptions options{.partition_by = {"shard", "kind"}, .open_files = 1};
  SparkWriter writer{path, canonical::partitioned, options};
  for (const auto& one : {row(1, 0, "a b/é=1"), row(2, -1, std::nullopt), row(3, 0, "a b/é=1")}) writer.write(one);
  writer.commit();
  CHECK(names_in(path) == std::vector<std::string>{"_SUCCESS", "shard=-1", "shard=0"});
  CHECK(names_in(path + "/shard=-1") == std::vector<std::string>{"kind=__HIVE_DEFAULT_PARTITION__"});
  const auto files = names_in(path + "/shard=0/kind=a b%2Fé%3D1");
  REQUIRE(files.size() == 2);  // with one open file at a time, the first file was closed in between
  CHECK(files[0].ends_with(".c000.tfrecord"));
  CHECK(files[1].ends_with(".c001.tfrecord"));
  CHECK(lines_of(path, canonical::partitioned) ==
        std::vector<std::string>{R"({"id":1,"kind":"a b/é=1","s":"row","shard":0})",
                                 R"({"id":2,"kind":null,"s":"row","shard":-1})",
                                 R"({"id":3,"kind":"a b/é=1","s":"row","shard":0})"});

  std::error_code ec;
  for (const char* const text : {"", "__HIVE_DEFAULT_PARTITION__"}) {
    SparkWriter checked{path + "2", canonical::partitioned, options};
    checked.write(row(1, 0, text), ec);
    CHECK(ec == spark_errc::bad_partition_value);
    CHECK(checked.error().where == path + "2: row 0, column \"kind\"");
  }
  options.rules = SparkRules::like_connector;
  SparkWriter like{path + "2", canonical::partitioned, options};
  like.write(row(1, 0, ""));
  like.commit();
  CHECK(lines_of(path + "2", canonical::partitioned) ==
        std::vector<std::string>{R"({"id":1,"kind":null,"s":"row","shard":0})"});
}

TEST_CASE("SparkWriter: refuses wrong partition columns and null values in them", "[hadoop]") {
  const support::TempDirectory directory;
  const std::string path = (directory / "t").string();
  const auto code = [&](std::vector<std::string> names) {
    std::error_code ec;
    SparkWriteOptions options;
    options.partition_by = std::move(names);
    SparkWriter writer{path, canonical::everything, options, ec};
    CHECK(writer.error().code == ec);
    return ec;
  };
  CHECK(code({"no such"}) == spark_errc::unknown_column);
  CHECK(code({"id", "id"}) == spark_errc::duplicate_column);
  for (const char* const name : {"f", "d", "dec", "b", "ai", "ab"}) CHECK(code({name}) == spark_errc::unsupported_type);
  CHECK(!code({"id", "i", "s"}));

  struct Strict {
    std::optional<std::int32_t> k;
    bool flag = true;
  };
  constexpr auto strict =
      spark_schema<Strict>(spark_column("k", &Strict::k).not_null(), spark_column("flag", &Strict::flag));
  SparkWriter writer{path, strict, {.partition_by = {"flag", "k"}}};
  writer.write({.k = 1});
  std::error_code ec;
  writer.write({}, ec);
  CHECK(ec == spark_errc::null_value);
  CHECK_THROWS_AS(writer.write({.k = 1}), std::system_error);  // the first failure is permanent
  CHECK_THROWS_AS(writer.commit(), std::system_error);
  CHECK(names_in(directory.path()).size() <= 1);
}

TEST_CASE("SparkWriter: save modes, and a writer that is destroyed without a commit", "[hadoop]") {
  const support::TempDirectory directory;
  const std::string path = (directory / "t").string();
  const auto write = [&](SaveMode mode, std::int64_t id) {
    SparkWriter writer{path, canonical::partitioned, {.mode = mode}};
    writer.write(row(id, 0, {}));
    writer.commit();
    return writer.ignored();
  };
  const auto ids = [&] {
    std::vector<std::int64_t> found;
    for (const auto& one : SparkReader{list_spark_directory(path), canonical::partitioned}) found.push_back(one.id);
    std::ranges::sort(found);
    return found;
  };
  CHECK(!write(SaveMode::ignore, 1));
  CHECK_THROWS_AS(write(SaveMode::error_if_exists, 2), std::system_error);
  CHECK(write(SaveMode::ignore, 3));
  CHECK(ids() == std::vector<std::int64_t>{1});
  CHECK(!write(SaveMode::append, 4));
  CHECK(ids() == std::vector<std::int64_t>{1, 4});
  CHECK(!write(SaveMode::overwrite, 5));
  CHECK(ids() == std::vector<std::int64_t>{5});
  {
    SparkWriter writer{path, canonical::partitioned, {.mode = SaveMode::overwrite}};
    writer.write(row(6, 0, {}));
  }
  CHECK(ids() == std::vector<std::int64_t>{5});
  CHECK(names_in(directory.path()) == std::vector<std::string>{"t"});
}

TEST_CASE("SparkWriter: a limit of rows per file, and a table without rows", "[hadoop]") {
  const support::TempDirectory directory;
  const std::string path = (directory / "t").string();
  SparkWriter writer{path, canonical::partitioned, {.rows_per_file = 2}};
  for (std::int64_t id = 0; id < 5; ++id) writer.write(row(id, 0, {}));
  writer.commit();
  CHECK(names_in(path).size() == 4);
  CHECK(lines_of(path, canonical::partitioned).size() == 5);

  SparkWriter{path + "0", canonical::partitioned}.commit();
  CHECK(names_in(path + "0").size() == 2);
  CHECK(lines_of(path + "0", canonical::partitioned).empty());
}

TEST_CASE("SparkWriter: tasks of one job", "[hadoop]") {
  const support::TempDirectory directory;
  const std::string path = (directory / "t").string();
  const distrib::SparkWriteJob job{path, distrib::draw_job_id()};
  REQUIRE(job.start());
  for (const std::size_t task : {1U, 0U}) {
    SparkWriter writer{job, task, canonical::partitioned, {.partition_by = {"shard"}}};
    writer.write(row(static_cast<std::int64_t>(task), 7, "x"));
    if (task == 0) SparkWriter{job, task, canonical::partitioned, {.partition_by = {"shard"}}}.write(row(9, 7, "dead"));
    writer.commit();
  }
  CHECK(!std::filesystem::exists(path));
  job.commit(2);
  CHECK(lines_of(path, canonical::partitioned).size() == 2);
  CHECK(names_in(path + "/shard=7").at(1) == distrib::detail::spark_file_name(1, job.id(), 0, Compression::none, true));
}

TEST_CASE("SparkWriter: a row that does not fit, and an existing path", "[hadoop]") {
  const support::TempDirectory directory;
  const std::string path = (directory / "t").string();
  std::error_code ec;
  SparkWriter writer{path, canonical::sequence};
  writer.write({.id = 1, .s = {}, .af = {}, .xs = {{{1}}}, .fs = {}, .ts = {}}, ec);
  CHECK(ec == spark_errc::unsupported_type);
  CHECK(writer.error().where.starts_with(path + ": row 0, column \"xs\""));
  std::ignore = std::filesystem::create_directory(path);
  CHECK_THROWS_AS((SparkWriter{path, canonical::sequence}), std::system_error);
  SparkWriter refused{path, canonical::sequence, {}, ec};
  CHECK(ec == spark_errc::already_exists);
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/spark/spark_reader.hpp>

#include <distrib/example/example_builder.hpp>
#include <distrib/record/any_byte_source.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/spark/spark_infer_schema.hpp>

#include "spark/canonical_rows.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "support/test_dir.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

using distrib::list_spark_directory;
using distrib::record_errc;
using distrib::spark_errc;
using distrib::SparkReader;

namespace {

auto fixture(const std::string& name) -> std::string { return support::test_dir() + "/spark/fixtures/" + name; }

auto expected(const std::string& name) -> std::vector<std::string> {
  std::ifstream file{fixture(name) + ".expected.jsonl"};
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

template <class Schema> auto rows_of(const std::string& name, const Schema& schema) -> std::vector<std::string> {
  std::vector<std::string> lines;
  for (const auto& row : SparkReader{list_spark_directory(fixture(name)), schema})
    lines.push_back(canonical::line(schema, row));
  std::ranges::sort(lines);
  return lines;
}

void write_row(const std::filesystem::path& path, std::int64_t id) {
  std::filesystem::create_directories(path.parent_path());
  distrib::RecordWriter writer{path.string()};
  writer.append(distrib::ExampleBuilder{}.set("id", id).set("shard", 77).build());
}

}  // namespace

TEST_CASE("SparkReader: reads the rows that Spark wrote", "[hadoop]") {
  for (const char* const name : {"example", "example_gzip"}) {
    auto lines = expected(name);
    REQUIRE(lines.size() == 24);
    std::ranges::sort(lines);
    CHECK(rows_of(name, canonical::everything) == lines);
  }
  auto lines = expected("partitioned");
  std::ranges::sort(lines);
  CHECK(rows_of("partitioned", canonical::partitioned) == lines);
}

TEST_CASE("SparkReader: a partition column is used instead of a feature with its name", "[hadoop]") {
  const support::TempDirectory directory;
  write_row(directory / "shard=3/part-0", 1);
  SparkReader reader{list_spark_directory(directory.path().string()), canonical::partitioned};
  const auto row = reader.try_next();
  REQUIRE(row);
  CHECK((row->shard == 3 && row->id == 1 && !row->s));
  CHECK(!reader.try_next());
  CHECK(!reader.error());
  CHECK(reader.rows() == 1);
}

TEST_CASE("SparkReader: failures name file, record and column, and are permanent", "[hadoop]") {
  const support::TempDirectory directory;
  const auto error_of = [&](const std::string& below) {
    SparkReader reader{list_spark_directory((directory / below).string()), canonical::partitioned};
    while (reader.try_next()) {
    }
    CHECK(!reader.try_next());
    return reader.error();
  };
  write_row(directory / "a/part-0", 1);
  std::filesystem::resize_file(directory / "a/part-0", 30);
  CHECK(error_of("a").code == record_errc::truncated_payload);

  write_row(directory / "b/shard=x/part-0", 1);
  const auto bad = error_of("b");
  CHECK(bad.code == spark_errc::bad_partition_value);
  CHECK(bad.where.ends_with("part-0: partition column \"shard\", \"x\""));

  write_row(directory / "c/shard=__HIVE_DEFAULT_PARTITION__/part-0", 1);
  CHECK(error_of("c").code == spark_errc::null_value);

  distrib::RecordWriter writer{(directory / "part-1").string()};
  writer.append(distrib::ExampleBuilder{}.set("id", 1).set("shard", 1).build());
  writer.append(distrib::ExampleBuilder{}.set("id", 1.5F).build());
  writer.close();
  SparkReader reader{list_spark_directory((directory / "part-1").string()), canonical::partitioned};
  CHECK(reader.try_next());
  CHECK(!reader.try_next());
  CHECK(reader.error().code == spark_errc::wrong_kind);
  CHECK(reader.error().where.find("part-1: record 1 at offset ") != std::string::npos);
  CHECK(reader.error().where.ends_with("column \"id\""));
  CHECK_THROWS_AS(
      [&] {
        for (const auto& row :
             SparkReader{list_spark_directory((directory / "part-1").string()), canonical::partitioned})
          (void)row;
      }(),
      std::system_error);

  struct Lists {
    std::vector<float> shard;
  };
  constexpr auto lists = distrib::spark_schema<Lists>(distrib::spark_column("shard", &Lists::shard));
  write_row(directory / "d/shard=1/part-0", 1);
  SparkReader list{list_spark_directory((directory / "d").string()), lists};
  CHECK(!list.try_next());
  CHECK(list.error().code == spark_errc::bad_partition_value);
}

namespace {

/// The bytes of a local file, a few at a time.
struct SlowFile {
  std::ifstream file;
  auto read(std::span<std::byte> to, distrib::Error&) -> std::size_t {
    file.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(std::min<std::size_t>(to.size(), 7)));
    return static_cast<std::size_t>(file.gcount());
  }
};

}  // namespace

TEST_CASE("SparkReader: reads remote files", "[hadoop]") {
  distrib::Error error;
  std::vector<distrib::detail::SparkPath> paths;
  for (const std::string& path : list_spark_directory(fixture("partitioned")).paths())
    paths.push_back({"far", path.substr(fixture("partitioned/").size())});
  std::vector<std::string> lines;
  distrib::SparkReadOptions options;
  options.open = [](const std::string& path) {
    return distrib::AnyByteSource{SlowFile{std::ifstream{fixture("partitioned") + path.substr(3), std::ios::binary}}};
  };
  for (const auto& row :
       SparkReader{distrib::detail::arrange_spark_files(paths, error), canonical::partitioned, options})
    lines.push_back(canonical::line(canonical::partitioned, row));
  std::ranges::sort(lines);
  CHECK(lines == rows_of("partitioned", canonical::partitioned));
}

TEST_CASE("SparkReader: failures name a remote file without its secrets", "[hadoop]") {
  const auto error_of = [](const std::string& root, const std::string& below, std::int64_t id) {
    distrib::Error error;
    const std::vector<distrib::detail::SparkPath> paths{{root, below}};
    auto table = distrib::detail::arrange_spark_files(paths, error);
    if (error) return error;
    const support::TempDirectory directory;
    write_row(directory / "part", id);
    if (id == 0) std::filesystem::resize_file(directory / "part", 30);
    distrib::SparkReadOptions options;
    options.open = [&](const std::string& path) {
      CHECK(path == root + "/" + below);
      return distrib::AnyByteSource{SlowFile{std::ifstream{directory / "part", std::ios::binary}}};
    };
    SparkReader reader{table, canonical::partitioned, options};
    while (reader.try_next()) {
    }
    return reader.error();
  };
  const std::string root = "https://me:SECRET@h/t";
  CHECK(error_of(root, "part-0?sig=SECRET", 0).where == "https://h/t/part-0: record 0 at offset 0");
  CHECK_THAT(error_of(root, "shard=x/part-0?sig=SECRET", 1).where,
             ContainsSubstring("https://h/t/shard=x/part-0: partition column"));
  CHECK(error_of(root, "other/part-0?sig=SECRET", 1).where == "https://h/t/other/part-0");
}

TEST_CASE("SparkReader: a file that was removed; and columns inferred from files of Spark", "[hadoop]") {
  const support::TempDirectory directory;
  write_row(directory / "part-0", 1);
  auto table = list_spark_directory(directory.path().string());
  std::filesystem::remove(directory / "part-0");
  SparkReader reader{table, canonical::partitioned};
  CHECK(!reader.try_next());
  CHECK(reader.error().code == distrib::failure::not_found);

  distrib::SparkSchemaInference inference;
  for (const std::string& path : list_spark_directory(fixture("example")).paths())
    for (const auto& record : distrib::RecordReader{path}) {
      distrib::Error error;
      inference.add(record.bytes, error);
      REQUIRE(!error);
    }
  std::string text;
  for (const auto& column : inference.columns()) text += column.name + ":" + to_text(column.type) + " ";
  CHECK(inference.records() == 24);
  CHECK(text ==
        "ab:Array<String> ad:Array<Float> af:Array<Float> ai:Array<Long> al:Array<Long> asx:Array<String> "
        "b:String d:Float dec:Float f:Float i:Long id:Long s:String ");
}

// SPDX-License-Identifier: Apache-2.0
// A table as Spark writes it: rows from a struct, a directory for each day; then the table is read with its columns.
#include <distrib/record/record_reader.hpp>
#include <distrib/spark.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace {

struct Click {
  std::int64_t user = 0;
  std::optional<std::string> ad;
  std::vector<float> scores;
  std::int32_t day = 0;
};

constexpr auto clicks = distrib::spark_schema<Click>(
    distrib::spark_column("user", &Click::user), distrib::spark_column("ad", &Click::ad),
    distrib::spark_column("scores", &Click::scores), distrib::spark_column("day", &Click::day));

void write(const std::string& path) {
  distrib::SparkWriter writer{path, clicks, {.mode = distrib::SaveMode::overwrite, .partition_by = {"day"}}};
  writer.write({.user = 7, .ad = "a/b", .scores = {0.5F, 2}, .day = 20261126});
  writer.write({.user = 8, .ad = {}, .scores = {}, .day = 20261127});
  writer.commit();  // now the directory exists, with _SUCCESS in it
}

void read(const std::string& path) {
  for (const Click& click : distrib::SparkReader{distrib::list_spark_directory(path), clicks})
    std::printf("day %d: user %lld, ad %s, %zu scores\n", click.day, static_cast<long long>(click.user),
                click.ad.value_or("null").c_str(), click.scores.size());
}

// Prints what is in a table of an unknown program.
void look(const std::string& path) {
  const auto table = distrib::list_spark_directory(path, {.require_success = true});
  distrib::SparkSchemaInference inference;
  distrib::Error error;
  for (const std::string& file : table.paths())
    for (const distrib::Record& record : distrib::RecordReader{file}) {
      inference.add(record.bytes, error);
      throw_if(error);
    }
  for (const auto& column : inference.columns())
    std::printf("%s: %s%s\n", column.name.c_str(), to_text(column.type).c_str(), column.nullable ? " or null" : "");
  for (const auto& column : table.partition_columns)
    std::printf("%s: %s, in the names of directories\n", column.name.c_str(), to_text(column.type).c_str());
}

// Lets several processes write one table; each is a task of a job.
void write_together(const std::string& path) {
  const distrib::SparkWriteJob job{path, distrib::draw_job_id()};
  if (!job.start()) return;  // the coordinator; it passes path and id to the others
  for (const std::size_t task : {0U, 1U}) {
    distrib::SparkWriter writer{job, task, clicks, {.compression = distrib::Compression::gzip}};
    writer.write({.user = static_cast<std::int64_t>(task), .ad = {}, .scores = {}, .day = 1});
    writer.commit();  // if there are several attempts at a task, the first one counts
  }
  job.commit(2);
  std::printf("together: %zu files\n", distrib::list_spark_directory(path).files.size());
}

}  // namespace

auto main() -> int try {
  write("24_spark.out/clicks");
  read("24_spark.out/clicks");
  look("24_spark.out/clicks");
  write_together("24_spark.out/together");
  std::filesystem::remove_all("24_spark.out");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}

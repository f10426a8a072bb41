// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/tfrecord_output.hpp>

#include <distrib/record/record_reader.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

using distrib::as_bytes;
using distrib::hadoop_errc;
using distrib::hadoop::JobConf;
using distrib::hadoop::TaskContext;
using distrib::hadoop::TFRecordOutput;

namespace {

auto files_of(const std::filesystem::path& directory) -> std::vector<std::string> {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator{directory}) names.push_back(entry.path().filename());
  return names;
}

auto refused(const JobConf& conf) -> std::error_code {
  TaskContext context{conf};
  TFRecordOutput output;
  try {
    output.open(context);
  } catch (const std::system_error& failure) {
    return failure.code();
  }
  return {};
}

}  // namespace

TEST_CASE("part_name: the names that Hadoop gives to parts", "[hadoop][tfrecord_output]") {
  CHECK(distrib::hadoop::part_name(true, 0) == "part-m-00000");
  CHECK(distrib::hadoop::part_name(false, 12'345) == "part-r-12345");
  CHECK(distrib::hadoop::part_name(false, 123'456) == "part-r-123456");
}

TEST_CASE("TFRecordOutput: writes keys as records into the directory of the attempt, completely or not at all",
          "[hadoop][tfrecord_output]") {
  const support::TempDirectory directory;
  struct Row {
    const char* codec;
    const char* name;
    distrib::Compression compression;
  };
  const Row rows[] = {
      {nullptr, "part-r-00003", distrib::Compression::none},
      {"", "part-r-00003.gz", distrib::Compression::gzip},
      {"org.apache.hadoop.io.compress.GzipCodec", "part-r-00003.gz", distrib::Compression::gzip},
      {"org.apache.hadoop.io.compress.DefaultCodec", "part-r-00003.deflate", distrib::Compression::zlib},
  };
  for (const Row& row : rows) {
    const std::string attempt = directory / (std::string{"_temporary/0/attempt_"} + row.name);
    JobConf conf{{{"mapreduce.task.output.dir", "file:" + attempt},
                  {"mapreduce.task.partition", "3"},
                  {"mapreduce.task.ismap", "false"}}};
    if (row.codec != nullptr) conf.set("mapreduce.output.fileoutputformat.compress", "true");
    if (row.codec != nullptr && *row.codec != 0)
      conf.set("mapreduce.output.fileoutputformat.compress.codec", row.codec);
    std::filesystem::remove_all(attempt);
    TaskContext context{conf};
    {
      TFRecordOutput lost;
      lost.open(context);
      lost.write(as_bytes("lost"), {});
    }
    CHECK(files_of(attempt).empty());
    TFRecordOutput output;
    output.open(context);
    output.write(as_bytes("one"), as_bytes("dropped"));
    output.write({}, {});
    CHECK(!std::filesystem::exists(attempt + "/" + row.name));
    output.close();
    CHECK(files_of(attempt) == std::vector<std::string>{row.name});
    std::vector<std::string> records;
    distrib::RecordReader reader{attempt + "/" + row.name, {.compression = row.compression}};
    for (const distrib::Record& record : reader) records.emplace_back(distrib::as_text(record.bytes));
    CHECK(records == std::vector<std::string>{"one", ""});
  }
}

TEST_CASE("TFRecordOutput: fails if a setting of the job is missing or wrong", "[hadoop][tfrecord_output]") {
  const support::TempDirectory directory;
  const std::string here = "file:" + directory.path().string();
  CHECK(refused(JobConf{}) == hadoop_errc::bad_setting);
  CHECK(refused(JobConf{{{"mapreduce.task.output.dir", here}}}) == hadoop_errc::bad_setting);  // no partition number
  CHECK(refused(JobConf{{{"mapreduce.task.output.dir", "hdfs://h/a"}, {"mapreduce.task.partition", "0"}}}) ==
        hadoop_errc::unsupported_path);
  CHECK(refused(JobConf{{{"mapreduce.task.output.dir", here},
                         {"mapreduce.task.partition", "0"},
                         {"mapreduce.output.fileoutputformat.compress", "true"},
                         {"mapreduce.output.fileoutputformat.compress.codec", "org.x.BZip2Codec"}}}) ==
        hadoop_errc::bad_setting);
}

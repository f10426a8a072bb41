// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/tfrecord_input.hpp>

#include <distrib/record/record_writer.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <vector>

using distrib::as_text;
using distrib::Compression;
using distrib::hadoop_errc;
using distrib::hadoop::FileSplit;
using distrib::hadoop::JobConf;
using distrib::hadoop::KeyValue;
using distrib::hadoop::TaskContext;
using distrib::hadoop::TFRecordInput;
using Records = std::vector<std::string>;

namespace {

/// The records that the map of one split gets.
auto read_split(const std::string& path, std::uint64_t start, std::uint64_t length, const JobConf& conf = {})
    -> Records {
  TaskContext context{conf};
  TFRecordInput input;
  input.open(FileSplit{"file:" + path, start, length}.encode(), context);
  Records records;
  float before = 0;
  bool in_order = true;
  while (const std::optional<KeyValue> pair = input.next()) {
    records.emplace_back(as_text(pair->key));
    const float progress = input.progress();
    in_order = in_order && pair->value.empty() && progress >= before && progress <= 1;
    before = progress;
  }
  CHECK(in_order);
  return records;
}

/// Writes records. Some of them contain TFRecords themselves, which makes it hard to find where a split begins.
auto write_records(const std::string& path, Compression compression = Compression::none) -> Records {
  std::mt19937 chance{7};  // NOLINT(cert-msc51-cpp): the same each time
  Records records;
  distrib::RecordWriter writer{path, {.compression = compression}};
  for (int i = 0; i < 400; ++i) {
    std::string text(chance() % 300, '\0');
    for (char& letter : text) letter = static_cast<char>(chance());
    if (i % 10 == 3) {
      text.clear();
      for (int k = 0; k < 5; ++k) {
        const std::string inner = "inner " + std::to_string(i * k);
        const auto header = distrib::encode_record_header(inner.size());
        const auto footer = distrib::encode_record_footer(distrib::as_bytes(inner));
        text += std::string{as_text(header)} + inner + std::string{as_text(footer)};
      }
    }
    writer.append(distrib::as_bytes(text));
    records.push_back(text);
  }
  writer.close();
  return records;
}

}  // namespace

TEST_CASE("TFRecordInput: each record is read by exactly one split, for any borders", "[hadoop][tfrecord_input]") {
  const support::TempDirectory directory;
  const std::string path = directory / "train.tfrecord";
  const Records records = write_records(path);
  const std::uint64_t size = std::filesystem::file_size(path);
  CHECK(read_split(path, 0, size) == records);
  for (const std::uint64_t length : {size - 1, size / 2, size / 3 + 1, std::uint64_t{10'000}, std::uint64_t{777}}) {
    Records found;
    for (std::uint64_t start = 0; start < size; start += length)
      for (std::string& record : read_split(path, start, length)) found.push_back(std::move(record));
    CHECK(found == records);
  }
  // Borders at every byte around the first records.
  for (std::uint64_t border = 0; border < 700; ++border) {
    Records found = read_split(path, 0, border);
    for (std::string& record : read_split(path, border, size - border)) found.push_back(std::move(record));
    CHECK(found.size() == records.size());
  }
  CHECK(read_split(path, size, 100).empty());
  CHECK(read_split(path, 0, size + 100) == records);
}

TEST_CASE("TFRecordInput: a compressed file belongs to its first split", "[hadoop][tfrecord_input]") {
  const support::TempDirectory directory;
  for (const Compression compression : {Compression::gzip, Compression::zlib}) {
    const std::string path = directory / "train.tfrecord.gz";
    const Records records = write_records(path, compression);
    const std::uint64_t size = std::filesystem::file_size(path);
    CHECK(read_split(path, 0, size) == records);
    CHECK(read_split(path, 0, size / 2) == records);
    CHECK(read_split(path, size / 2, size - size / 2).empty());
  }
}

TEST_CASE("TFRecordInput: reports damage with its place, unless checksums are off", "[hadoop][tfrecord_input]") {
  const support::TempDirectory directory;
  const std::string path = directory / "train.tfrecord";
  {
    distrib::RecordWriter writer{path};
    for (int i = 0; i < 10; ++i) writer.append(distrib::as_bytes("record " + std::to_string(i)));
  }
  const std::uint64_t size = std::filesystem::file_size(path);
  std::fstream file{path, std::ios::binary | std::ios::in | std::ios::out};
  file.seekp(24 * 4 + 13);  // in the payload of the fifth record
  file.put('X');
  file.close();
  try {
    read_split(path, 0, size);
    FAIL("damage was not noticed");
  } catch (const std::system_error& failure) {
    CHECK(failure.code() == distrib::record_errc::corrupt_payload);
    CHECK_THAT(failure.what(), ContainsSubstring("train.tfrecord: record 4 at offset 96"));
  }
  const JobConf unchecked{{{"tensorflow.read.crc32check", "false"}}};
  CHECK(read_split(path, 0, size, unchecked).size() == 10);
  CHECK_THROWS_AS(read_split(path, 30, size, unchecked), std::system_error);  // a part of a file is always verified
  CHECK_THROWS_AS(read_split(directory / "none", 0, 1), std::system_error);
  TaskContext context;
  TFRecordInput input;
  CHECK_THROWS_AS(input.open(FileSplit{"hdfs://h/a", 0, 1}.encode(), context), std::system_error);
  CHECK_THROWS_AS(input.open({}, context), std::system_error);
  CHECK(!input.next());
  CHECK(input.progress() == 0);
}

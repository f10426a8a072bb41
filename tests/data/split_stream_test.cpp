// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/split_stream.hpp>

#include <distrib/data/tfrecords.hpp>
#include <distrib/record/record_writer.hpp>

#include "data/files.hpp"
#include "data/numbers.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <filesystem>
#include <string>
#include <vector>

using distrib::data_errc;
using distrib::Error;
using distrib::tfrecords;
using numbers::contents;

namespace {

using Texts = std::vector<std::string>;

auto text(const distrib::Record& record) -> std::string { return std::string{distrib::as_text(record.bytes)}; }

void write_texts(const std::string& path, const Texts& records, distrib::Compression compression) {
  distrib::RecordWriter writer{path, {.compression = compression}};
  for (const std::string& record : records) writer.append(distrib::as_bytes(record));
  writer.close();
}

}  // namespace

TEST_CASE("SplitStream: every record once, also with fewer files than workers", "[data]") {
  const support::TempDirectory directory;
  Texts records;
  for (std::size_t i = 0; i < 200; ++i) records.push_back(std::string(i * 7 % 90, 'x') + std::to_string(i));
  write_texts(directory / "plain", records, distrib::Compression::none);
  write_texts(directory / "zipped", Texts(records.begin(), records.begin() + 50), distrib::Compression::gzip);
  write_texts(directory / "empty", {}, distrib::Compression::none);
  const auto files = tfrecords(directory / "plain", directory / "zipped", directory / "empty");
  Texts expected = contents(files.stream().map(text));
  std::sort(expected.begin(), expected.end());
  for (const std::int64_t workers : {1, 2, 3, 8, 64, 500}) {
    CAPTURE(workers);
    Texts together;
    for (std::int64_t i = 0; i < workers; ++i)
      for (const std::string& record : contents(files.split_stream(workers, i).map(text))) together.push_back(record);
    std::sort(together.begin(), together.end());
    CHECK(together == expected);
  }
  CHECK(contents(tfrecords(directory / "plain").split_stream(2, 0).map(text)).front() == "0");
  CHECK(contents(tfrecords(directory / "plain").split_stream(2, 0).repeat(3).map(text)).size() ==
        3 * contents(tfrecords(directory / "plain").split_stream(2, 0).map(text)).size());
}

TEST_CASE("SplitStream: damage is reported in the share where it lies", "[data]") {
  const support::TempDirectory directory;
  files::write_items(directory / "a", 0, 100);
  const auto size = std::filesystem::file_size(directory / "a");
  files::damage(directory / "a", size / 100 * 70 + 20);
  Error error;
  std::size_t failures = 0;
  std::size_t found = 0;
  for (const std::int64_t index : {0, 1, 2, 3}) {
    auto stream = tfrecords(directory / "a").split_stream(4, index);
    while (true) {
      const auto record = stream.next(error);
      if (error) {
        ++failures;
        CHECK(index == 2);
        CHECK_THAT(error.where, ContainsSubstring("record 70 at offset " + std::to_string(size / 100 * 70)));
      }
      if (!record && !error) break;
      if (record) ++found;
    }
  }
  CHECK(failures == 1);
  CHECK(found == 95);  // the rest of its share is skipped
}

TEST_CASE("SplitStream: refuses shares that do not exist, and missing files", "[data]") {
  const support::TempDirectory directory;
  files::write_items(directory / "a", 0, 3);
  Error error;
  for (const auto& [count, index] : {std::pair{0, 0}, std::pair{2, 2}, std::pair{2, -1}}) {
    auto stream = tfrecords(directory / "a").split_stream(count, index);
    CHECK(!stream.next(error));
    CHECK(error.code == data_errc::bad_shard);
  }
  auto nothing = tfrecords(directory / "b").split_stream(2, 0);
  CHECK(!nothing.next(error));
  CHECK(error.code == data_errc::no_files);
}

TEST_CASE("SplitStream: damage of a header is reported in its share; later shares have no records", "[data]") {
  const support::TempDirectory directory;
  files::write_items(directory / "a", 0, 100);
  const auto size = std::filesystem::file_size(directory / "a");
  for (const std::size_t record : {70U, 3U, 99U}) {
    CAPTURE(record);
    const auto at = size / 100 * record + 2;
    files::damage(directory / "a", at);
    std::size_t failures = 0;
    std::size_t found = 0;
    for (const std::int64_t index : {0, 1, 2, 3}) {
      auto stream = tfrecords(directory / "a").split_stream(4, index);
      while (true) {
        Error error;
        const auto one = stream.next(error);
        if (error) {
          ++failures;
          CHECK(static_cast<std::size_t>(index) == record / 25);
          CHECK(error.code == distrib::record_errc::corrupt_length);
        }
        if (!one && !error) break;
        if (one) ++found;
      }
    }
    CHECK(failures == 1);
    CHECK(found == record);
    files::damage(directory / "a", at);  // undo the damage
  }
}

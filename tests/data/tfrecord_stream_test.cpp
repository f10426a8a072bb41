// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/tfrecord_stream.hpp>

#include <distrib/data/order/elements.hpp>
#include <distrib/data/tfrecords.hpp>
#include <distrib/record/record_writer.hpp>

#include "data/numbers.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <filesystem>
#include <fstream>

using distrib::data_errc;
using distrib::Error;
using distrib::tfrecords;
using numbers::contents;

namespace {

/// Files of records that contain their number, counted across all files.
struct Files {
  support::TempDirectory directory;
  std::vector<std::uint64_t> lengths;

  explicit Files(std::vector<std::uint64_t> sizes, distrib::Compression compression = distrib::Compression::none)
      : lengths{std::move(sizes)} {
    std::uint64_t number = 0;
    for (std::size_t f = 0; f < lengths.size(); ++f) {
      distrib::RecordWriter writer{directory / ("part-" + std::to_string(f)), {.compression = compression}};
      for (std::uint64_t i = 0; i < lengths[f]; ++i) writer.append(distrib::as_bytes(std::to_string(number++)));
      writer.close();
    }
  }
  auto pattern() const -> std::string { return directory / "part-*"; }
};

auto number(const distrib::Record& record) -> std::uint64_t {
  return std::stoull(std::string{distrib::as_text(record.bytes)});
}

}  // namespace

TEST_CASE("TfRecordStream: files one after the other or in turn, in the order that an index gives", "[data]") {
  for (const auto compression : {distrib::Compression::none, distrib::Compression::gzip, distrib::Compression::zlib}) {
    const Files files{{4, 1, 0, 7, 2}, compression};
    CHECK(contents(tfrecords(files.pattern()).stream().map(number)) == numbers::all(distrib::elements(14)));
    for (const std::int64_t cycle : {1, 2, 3, 9})
      for (const std::int64_t block : {1, 2, 5}) {
        CAPTURE(cycle, block);
        CHECK(contents(tfrecords(files.pattern()).stream(cycle, block).map(number)) ==
              numbers::all(distrib::elements(files.lengths).interleave(cycle, block)));
      }
  }
}

TEST_CASE("TfRecordStream: records keep their bytes in a shuffle window and in a cache", "[data]") {
  const Files files{{4, 9}, distrib::Compression::gzip};
  auto sorted = contents(tfrecords(files.pattern()).stream().window_shuffle(5, 1).cache(10000).repeat(2).map(number));
  REQUIRE(sorted.size() == 26);
  CHECK(std::equal(sorted.begin(), sorted.begin() + 13, sorted.begin() + 13));
  std::sort(sorted.begin(), sorted.end());
  for (std::uint64_t i = 0; i < 26; ++i) CHECK(sorted[i] == i / 2);
}

TEST_CASE("TfRecordStream: continues with the next file after damage, as TensorFlow does", "[data]") {
  const Files files{{3, 3}};
  {
    std::fstream file{files.directory / "part-0", std::ios::binary | std::ios::in | std::ios::out};
    file.seekp(17 + 12);  // the payload of record 1
    file.put('x');
  }
  auto stream = tfrecords(files.pattern()).stream().map(number);
  Error error;
  CHECK(stream.next(error) == 0);
  CHECK(!stream.next(error));
  CHECK(error.code == distrib::record_errc::corrupt_payload);
  CHECK_THAT(error.where, ContainsSubstring("part-0: record 1 at offset 17"));
  CHECK(stream.next(error) == 3);
  std::vector<Error> report;
  CHECK(contents(tfrecords(files.pattern()).stream().ignore_errors(1, &report).map(number)) ==
        numbers::Numbers{0, 3, 4, 5});
  CHECK(report.size() == 1);
}

TEST_CASE("TfRecordStream: files that were found before finding them failed do not count", "[data]") {
  const Files files{{2, 3}};
  struct Finder {
    using Reader = distrib::RecordReader;
    std::vector<std::string> paths;
    std::shared_ptr<int> calls = std::make_shared<int>(0);
    auto find(Error& error) const -> std::vector<std::string> {
      if ((*calls)++ != 0) return paths;
      error = {std::make_error_code(std::errc::connection_reset), "the second directory"};
      return {paths.front()};
    }
    auto operator()(const std::string& path, std::error_code& ec) const -> std::unique_ptr<Reader> {
      return std::make_unique<Reader>(path, distrib::RecordReaderOptions{}, ec);
    }
  };
  distrib::TfRecordStream<Finder> stream{{}, 1, 1, {{files.directory / "part-0", files.directory / "part-1"}}};
  Error error;
  stream.rewind(0, error);
  CHECK(error.where == "the second directory");
  error = {};
  CHECK(!stream.next(error));
  CHECK(!error);
  stream.rewind(0, error);
  int records = 0;
  while (stream.next(error)) ++records;
  CHECK(!error);
  CHECK(records == 5);
}

TEST_CASE("TfRecordStream: missing files, wrong arguments, and a file that is removed meanwhile", "[data]") {
  const Files files{{3, 3}};
  Error error;
  auto nothing = tfrecords(files.directory / "other-*").stream();
  CHECK(!nothing.next(error));
  CHECK(error.code == data_errc::no_files);
  auto no_turns = tfrecords(files.pattern()).stream(0);
  CHECK(!no_turns.next(error));
  CHECK(error.code == data_errc::bad_interleave);

  // After a rewind that failed there are no records.
  for (const auto& [cycle, block] : {std::pair{0, 1}, std::pair{1, 0}, std::pair{-1, 1}}) {
    distrib::TfRecordStream<> unturned{{files.pattern()}, cycle, block};
    Error refused;
    unturned.rewind(0, refused);
    CHECK(refused.code == data_errc::bad_interleave);
    Error none;
    CHECK(!unturned.next(none));
    CHECK(!none);
  }

  // A file that was removed before its turn came.
  auto gone = tfrecords(files.pattern()).stream().map(number);
  CHECK(gone.next(error) == 0);
  std::filesystem::remove(files.directory / "part-1");
  CHECK(gone.next(error) == 1);
  CHECK(gone.next(error) == 2);
  CHECK(!gone.next(error));
  CHECK(error.code == distrib::failure::not_found);
  CHECK(!gone.next(error));
  CHECK(!error);
}

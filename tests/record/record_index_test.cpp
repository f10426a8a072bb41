// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/record_index.hpp>

#include <distrib/record/record_reader.hpp>

#include "record/files.hpp"
#include "record/large_file.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <limits>
#include <thread>

using distrib::record_errc;
using distrib::RecordIndex;

TEST_CASE("RecordIndex: returns the records that a reader finds, in any order", "[record][record_index]") {
  for (const char* name : {"example.tfrecord", "lines-0.tfrecord", "empty.tfrecord"}) {
    CAPTURE(name);
    const RecordIndex index{support::fixture(name)};
    std::size_t count = 0;
    for (const distrib::Record& record : distrib::RecordReader{support::fixture(name)}) {
      CHECK(index.offset(count) == record.offset);
      CHECK(index.length(count) == record.bytes.size());
      const distrib::Record same = index.at(count);
      CHECK(same.number == count);
      CHECK(same.offset == record.offset);
      CHECK(distrib::as_text(same.bytes) == distrib::as_text(record.bytes));
      ++count;
    }
    CHECK(index.size() == count);
    CHECK(index.offset(count) == std::filesystem::file_size(support::fixture(name)));
  }
}

TEST_CASE("RecordIndex: a record of more than 2 GiB", "[record][record_index]") {
  const support::TempDirectory directory;
  support::write_large_file(directory / "large");
  const RecordIndex index{directory / "large"};
  REQUIRE(index.size() == 3);
  CHECK(index.length(1) == support::large_record_bytes);
  CHECK(distrib::as_text(index.at(2).bytes) == "last");
}

TEST_CASE("RecordIndex: a payload is verified when it is read", "[record][record_index]") {
  const RecordIndex index{support::fixture("bad_data_crc.tfrecord")};
  REQUIRE(index.size() == 5);
  for (const std::size_t i : {4U, 3U, 1U, 0U}) CHECK_NOTHROW(index.at(i));
  CHECK_THROWS_WITH(index.at(2), ContainsSubstring("record 2 at offset 33: the payload does not match its checksum"));
  std::error_code ec;
  CHECK(index.at(2, ec).bytes.empty());
  CHECK(ec == record_errc::corrupt_payload);
  CHECK(index.at(3, ec).bytes.size() == 5120);
  CHECK_FALSE(ec);
  CHECK(index.at(5, ec).bytes.empty());
  CHECK(ec == record_errc::no_such_record);
  CHECK_THROWS_WITH(index.at(std::numeric_limits<std::size_t>::max()), ContainsSubstring("no record of this number"));
}

TEST_CASE("RecordIndex: a header is verified again when its record is read", "[record][record_index]") {
  const support::TempDirectory directory;
  support::write_file(directory / "file", support::framed("hello") + support::framed(""));
  std::error_code ec;
  const auto index_of = [&](std::vector<std::uint64_t> offsets) {
    return RecordIndex::of_offsets("file", distrib::MappedFile{directory / "file"}, std::move(offsets));
  };
  REQUIRE(index_of({0, 21, 37}));
  CHECK(index_of({0, 21, 37})->length(0) == 5);
  const std::optional<RecordIndex> wrong = index_of({0, 20, 37});
  REQUIRE(wrong);
  CHECK(wrong->at(0, ec).bytes.empty());
  CHECK(ec == record_errc::corrupt_length);
  CHECK_THROWS_WITH(wrong->at(1), Equals("file: record 1 at offset 20: the length does not match its checksum: "
                                         "the file is damaged, or not a TFRecord file"));
  for (const auto& offsets : std::vector<std::vector<std::uint64_t>>{
           {}, {0}, {37}, {1, 37}, {0, 21}, {0, 22, 37}, {0, 15, 37}, {0, 21, 21, 37}, {0, 37, 21, 37}, {0, ~0ULL, 37}})
    CHECK_FALSE(index_of(offsets));
}

TEST_CASE("RecordIndex: prefetching changes nothing", "[record][record_index]") {
  const RecordIndex index{support::fixture("lines-0.tfrecord")};
  for (std::size_t i = 0; i < index.size(); ++i) {
    index.prefetch_offset(i);
    index.prefetch(i);
  }
  CHECK(index.at(index.size() - 1).number == index.size() - 1);
  distrib::Error error{record_errc::closed, "before"};
  CHECK(RecordIndex(support::fixture("lines-0.tfrecord"), error).size() == index.size());
  CHECK_FALSE(error);
  CHECK(RecordIndex(support::fixture("truncated_payload.tfrecord"), error).size() == 0);
  CHECK(error.code == record_errc::truncated_payload);
  CHECK_THAT(error.where, ContainsSubstring("record 4 at offset 5196"));
}

TEST_CASE("RecordIndex: files that cannot be indexed", "[record][record_index]") {
  const support::TempDirectory directory;
  std::error_code ec;
  CHECK(RecordIndex(directory / "missing", ec).size() == 0);
  CHECK(ec == std::errc::no_such_file_or_directory);
  CHECK(RecordIndex(directory.path(), ec).size() == 0);
  CHECK(ec == record_errc::not_regular);
  for (const char* name : {"example.tfrecord.gz", "example.tfrecord.zlib"}) {
    CHECK(RecordIndex(support::fixture(name), ec).size() == 0);
    CHECK(ec == record_errc::compressed);
  }
  CHECK_THROWS_WITH(RecordIndex{support::fixture("truncated_payload.tfrecord")},
                    ContainsSubstring("record 4 at offset 5196: the file ends inside the payload of a record"));
}

TEST_CASE("RecordIndex: a file cut at every byte, and every flipped bit of a header", "[record][record_index]") {
  const support::TempDirectory directory;
  const std::string bytes = support::framed("hello") + support::framed("world!");
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    CAPTURE(cut);
    support::write_file(directory / "file", bytes.substr(0, cut));
    std::error_code ec;
    const RecordIndex index{directory / "file", ec};
    const bool border = cut == 0 || cut == 21 || cut == bytes.size();
    CHECK(static_cast<bool>(ec) == !border);
    CHECK(index.size() == (!border || cut == 0 ? 0U : cut == 21 ? 1U : 2U));
    if (!border)
      CHECK(ec == ((cut < 21 ? cut : cut - 21) < 12 ? record_errc::truncated_header : record_errc::truncated_payload));
  }
  for (std::size_t bit = 0; bit < 12 * 8; ++bit) {
    std::string flipped = bytes;
    flipped[21 + bit / 8] = static_cast<char>(flipped[21 + bit / 8] ^ (1 << (bit % 8)));
    support::write_file(directory / "file", flipped);
    CHECK_THROWS_WITH(RecordIndex{directory / "file"}, ContainsSubstring("record 1 at offset 21: the length does not"));
  }
}

TEST_CASE("RecordIndex: a wrong length with a valid checksum", "[record][record_index]") {
  const support::TempDirectory directory;
  for (const std::uint64_t length :
       {std::uint64_t{1}, std::uint64_t{1} << 40, std::uint64_t{1} << 63,
        std::numeric_limits<std::uint64_t>::max() - 15, std::numeric_limits<std::uint64_t>::max()}) {
    support::write_file(directory / "file", support::framed("a") + support::header_of(length) + "1234");
    std::error_code ec;
    CHECK(RecordIndex(directory / "file", ec).size() == 0);
    CHECK(ec == record_errc::truncated_payload);
  }
}

TEST_CASE("RecordIndex: a move keeps the records; threads share an index", "[record][record_index]") {
  RecordIndex first{support::fixture("lines-0.tfrecord")};
  const distrib::Record record = first.at(50);
  const RecordIndex index{std::move(first)};
  CHECK(record.bytes.data() == index.at(50).bytes.data());
  std::size_t sums[2] = {0, 0};
  const auto sum = [&index](std::size_t& total) {
    for (std::size_t i = 0; i < index.size(); ++i) total += index.at(i).bytes.size();
  };
  std::thread other{[&] { sum(sums[1]); }};
  sum(sums[0]);
  other.join();
  CHECK(sums[0] == 4064);
  CHECK(sums[1] == 4064);
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/parallel_record_reader.hpp>

#include <distrib/record/record_writer.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <fstream>
#include <ranges>
#include <string>
#include <vector>

using distrib::Compression;
using distrib::IoPool;
using distrib::ParallelRecordReader;
using distrib::Record;
using distrib::record_errc;
using distrib::RecordReader;

namespace {

static_assert(std::ranges::input_range<ParallelRecordReader>);

auto payload(int i) -> std::string {
  return std::string(static_cast<std::size_t>(i * 31 % 900), 'x') + std::to_string(i);
}

void write_payloads(const std::filesystem::path& path, int records, std::uint64_t member_bytes = 5000,
                    Compression compression = Compression::gzip) {
  distrib::RecordWriter writer{path, {.compression = compression, .member_bytes = member_bytes}};
  for (int i = 0; i < records; ++i) writer.append(distrib::as_bytes(payload(i)));
  writer.close();
}

auto bytes_of(const std::filesystem::path& path) -> std::string {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
}

void store(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream{path, std::ios::binary | std::ios::trunc} << bytes;
}

struct Reading {
  std::vector<std::string> records;  // "number offset payload"
  distrib::Error error;
};

template <class Reader>
auto read(Reader& reader) -> Reading {
  Reading reading;
  while (const auto record = reader.try_next())
    reading.records.push_back(std::to_string(record->number) + ' ' + std::to_string(record->offset) + ' ' +
                              std::string{distrib::as_text(record->bytes)});
  CHECK_FALSE(reader.try_next());
  reading.error = reader.error();
  return reading;
}

/// Reads with both readers, checks that they agree, and returns what they read.
auto read_both(IoPool& pool, const std::filesystem::path& path, bool parallel,
               const distrib::ParallelReadOptions& options = {}) -> Reading {
  std::error_code ec;
  ParallelRecordReader ahead{pool, path, options, ec};
  CHECK(ahead.parallel() == parallel);
  const Reading reading = read(ahead);
  RecordReader stream{path, options.reader, ec};
  const Reading expected = read(stream);
  CHECK((reading.records == expected.records));
  CHECK(reading.error.code == expected.error.code);
  CHECK(reading.error.where == expected.error.where);
  return reading;
}

auto frame_of(std::string_view text) -> std::string {
  const auto header = distrib::encode_record_header(text.size());
  const auto footer = distrib::encode_record_footer(distrib::as_bytes(text));
  return std::string{distrib::as_text(header)} + std::string{text} + std::string{distrib::as_text(footer)};
}

/// Returns a gzip member of this content, with a header as `RecordWriter` writes it.
auto announced_member(const std::string& content) -> std::string {
  distrib::Deflater deflater{Compression::gzip};
  std::string member(4000, '\0');
  distrib::ByteView in = distrib::as_bytes(content);
  const std::span<std::byte> room = std::as_writable_bytes(std::span{member});
  const std::size_t size =
      distrib::detail::gzip_extra_bytes +
      deflater.deflate(in, room.subspan(distrib::detail::gzip_extra_bytes), distrib::DeflateOptions::Flush::finish);
  distrib::detail::announce_gzip_member(room.first(size), content.size(), 1);
  return member.substr(0, size);
}

}  // namespace

TEST_CASE("ParallelRecordReader: has the records of RecordReader, in order", "[data][parallel_record_reader]") {
  const support::TempDirectory directory;
  write_payloads(directory / "file", 2000);
  for (const std::size_t threads : {1U, 2U, 5U}) {
    IoPool pool{threads};
    CHECK(read_both(pool, directory / "file", true).records.size() == 2000);
    // With one slot, and with a few.
    CHECK(read_both(pool, directory / "file", true, {.max_bytes_ahead = 6100}).records.size() == 2000);
    CHECK(read_both(pool, directory / "file", true, {.max_bytes_ahead = 20'000}).records.size() == 2000);
  }
}

TEST_CASE("ParallelRecordReader: a range", "[data][parallel_record_reader]") {
  const support::TempDirectory directory;
  write_payloads(directory / "file", 100);
  IoPool pool{2};
  int records = 0;
  for (const Record& record : ParallelRecordReader{pool, directory / "file"})
    CHECK(distrib::as_text(record.bytes) == payload(records++));
  CHECK(records == 100);
}

TEST_CASE("ParallelRecordReader: reads other files as one stream", "[data][parallel_record_reader]") {
  const support::TempDirectory directory;
  IoPool pool{2};
  write_payloads(directory / "plain", 100, 0, Compression::none);
  write_payloads(directory / "zlib", 100, 0, Compression::zlib);
  write_payloads(directory / "one-stream", 100, 0);
  write_payloads(directory / "one-member", 100, 1 << 20);
  write_payloads(directory / "none", 0);
  for (const char* name : {"plain", "zlib", "one-stream", "one-member"})
    CHECK(read_both(pool, directory / name, false).records.size() == 100);
  CHECK(read_both(pool, directory / "none", false).records.empty());
  write_payloads(directory / "ours", 100);
  store(directory / "mixed", bytes_of(directory / "ours") + bytes_of(directory / "one-stream"));
  CHECK(read_both(pool, directory / "mixed", false).records.size() == 200);
  // Members larger than the allowed bytes ahead, and options that only one stream supports.
  CHECK(read_both(pool, directory / "ours", false, {.max_bytes_ahead = 4000}).records.size() == 100);
  for (const distrib::RecordReaderOptions& reader :
       {distrib::RecordReaderOptions{.access = distrib::RecordReaderOptions::FileAccess::buffered},
        distrib::RecordReaderOptions{.checksums = distrib::RecordReaderOptions::Checksums::ignore_like_hadoop},
        distrib::RecordReaderOptions{.damage = {.action = distrib::DamagePolicy::OnDamage::salvage}},
        distrib::RecordReaderOptions{.compression = Compression::zlib}})
    read_both(pool, directory / "ours", false, {.reader = reader});
}

TEST_CASE("ParallelRecordReader: finds damage where RecordReader finds it", "[data][parallel_record_reader]") {
  const support::TempDirectory directory;
  IoPool pool{2};
  write_payloads(directory / "file", 30, 2000);
  const std::string good = bytes_of(directory / "file");
  std::vector<std::uint64_t> begins;
  distrib::GzipMembers members{distrib::as_bytes(good)};
  while (const auto member = members.try_next()) begins.push_back(member->offset);
  REQUIRE(begins.size() > 3);
  for (std::size_t at = begins[1] + distrib::gzip_member_header_bytes; at < begins[2]; ++at) {
    CAPTURE(at);
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x24);
    store(directory / "bad", bad);
    const Reading reading = read_both(pool, directory / "bad", true);
    // The padding bits in the last byte of the deflate data have no meaning.
    CHECK((reading.error.code == distrib::failure::corrupt || reading.records.size() == 30));
  }
  for (std::size_t cut = begins[1]; cut < begins[2]; ++cut) {
    CAPTURE(cut);
    store(directory / "bad", good.substr(0, cut));
    CHECK(static_cast<bool>(read_both(pool, directory / "bad", false).error) == (cut != begins[1]));
  }
  // A header with a wrong size: the size is checked against the inflated bytes.
  for (const int change : {-1, 1}) {
    std::string bad = good;
    bad[begins[1] + 24] = static_cast<char>(bad[begins[1] + 24] + change);
    store(directory / "bad", bad);
    ParallelRecordReader reader{pool, directory / "bad"};
    CHECK(reader.parallel());
    CHECK(read(reader).error.code == record_errc::corrupt_compression);
  }
}

TEST_CASE("ParallelRecordReader: finds damaged records in sound compression", "[data][parallel_record_reader]") {
  const support::TempDirectory directory;
  IoPool pool{1};
  struct Row {
    std::string last;
    record_errc expected;
  };
  std::string bad_length = frame_of("damaged");
  bad_length[3] = 1;
  std::string bad_payload = frame_of("damaged");
  bad_payload[15] = 'X';
  const Row rows[] = {{bad_length, record_errc::corrupt_length},
                      {bad_payload, record_errc::corrupt_payload},
                      {frame_of(std::string(2000, 'x')), record_errc::too_large},
                      {frame_of("cut").substr(0, 11), record_errc::truncated_header},
                      {frame_of("cut").substr(0, 16), record_errc::truncated_payload}};
  for (const Row& row : rows) {
    store(directory / "file",
          announced_member(frame_of("one") + frame_of("two")) + announced_member(frame_of("three") + row.last));
    const Reading reading = read_both(pool, directory / "file", true, {.reader = {.max_record_bytes = 1000}});
    CHECK(reading.records.size() == 3);
    CHECK(reading.error.code == row.expected);
    CHECK_THAT(reading.error.where, ContainsSubstring("record 3 at offset 59 of the inflated bytes"));
  }
}

TEST_CASE("ParallelRecordReader: a file that ends inside a record's header ends as the options say",
          "[data][parallel_record_reader]") {
  using TruncatedHeader = distrib::RecordReaderOptions::TruncatedHeader;
  const support::TempDirectory directory;
  IoPool pool{1};
  for (std::size_t stray = 0; stray <= 13; ++stray) {
    CAPTURE(stray);
    store(directory / "file", announced_member(frame_of("one") + frame_of("two")) +
                                  announced_member(frame_of("three") + frame_of("cut").substr(0, stray)));
    const auto error = [&](TruncatedHeader how) {
      const Reading reading = read_both(pool, directory / "file", true, {.reader = {.truncated_header = how}});
      CHECK(reading.records.size() == 3);
      return reading.error.code;
    };
    const std::error_code strict = error(TruncatedHeader::report);
    CHECK(static_cast<bool>(strict) == (stray != 0));
    CHECK(error(TruncatedHeader::end_like_tensorflow) == (stray < 12 ? std::error_code{} : strict));
    CHECK(error(TruncatedHeader::end_like_hadoop) == (stray < 8 ? std::error_code{} : strict));
    // Only the end of the file: behind the first member there is more.
    store(directory / "file", announced_member(frame_of("one") + frame_of("two") + frame_of("cut").substr(0, stray)) +
                                  announced_member(frame_of("three")));
    ParallelRecordReader middle{
        pool, directory / "file", {.reader = {.truncated_header = TruncatedHeader::end_like_tensorflow}}};
    CHECK(read(middle).error.code == strict);
  }
}

TEST_CASE("ParallelRecordReader: destroyed half-way, moved, on a busy or a stopped pool",
          "[data][parallel_record_reader]") {
  const support::TempDirectory directory;
  write_payloads(directory / "file", 500);
  {
    IoPool pool{2};
    ParallelRecordReader first{pool, directory / "file"};
    CHECK(first.try_next());
    ParallelRecordReader second{std::move(first)};
    CHECK(second.try_next()->number == 1);
    ParallelRecordReader third{pool, directory / "file"};
    third = std::move(second);
    CHECK(third.try_next()->number == 2);
  }
  IoPool stopped{1};
  stopped.stop();
  CHECK(read_both(stopped, directory / "file", true).records.size() == 500);
  IoPool own{1};
  std::size_t records = 0;
  asio::post(own.executor(), [&] { records = read_both(own, directory / "file", true).records.size(); });
  own.join();
  CHECK(records == 500);
}

TEST_CASE("ParallelRecordReader: a file that cannot be opened", "[data][parallel_record_reader]") {
  const support::TempDirectory directory;
  IoPool pool{1};
  CHECK_THROWS_WITH(ParallelRecordReader(pool, directory / "missing"),
                    ContainsSubstring("missing: No such file or directory"));
  std::error_code ec;
  ParallelRecordReader reader{pool, directory / "missing", {}, ec};
  CHECK(ec == std::errc::no_such_file_or_directory);
  CHECK_FALSE(reader.try_next());
}

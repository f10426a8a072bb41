// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/record_reader.hpp>

#include <distrib/core/sha256.hpp>
#include <distrib/record/frame.hpp>
#include <distrib/record/record_writer.hpp>

#include "record/files.hpp"
#include "record/large_file.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <limits>
#include <ranges>
#include <string>
#include <vector>

using FileAccess = distrib::RecordReaderOptions::FileAccess;
using distrib::Record;
using distrib::record_errc;
using distrib::RecordReader;
using distrib::RecordReaderOptions;
using TruncatedHeader = distrib::RecordReaderOptions::TruncatedHeader;

namespace {

static_assert(std::ranges::input_range<RecordReader>);

struct Reading {
  std::vector<std::string> payloads;
  distrib::Error error;
};

auto read(const std::filesystem::path& path, const RecordReaderOptions& options = {}) -> Reading {
  Reading reading;
  std::error_code ec;
  RecordReader reader{path, options, ec};
  while (const auto record = reader.try_next()) {
    CHECK(record->number == reading.payloads.size());
    reading.payloads.emplace_back(distrib::as_text(record->bytes));
  }
  CHECK_FALSE(reader.try_next());  // the end is final
  CHECK(reader.number() == reading.payloads.size());
  reading.error = reader.error();
  return reading;
}

/// Reads the file mapped and in pieces, and checks that both find the same.
auto read_both(const std::filesystem::path& path, RecordReaderOptions options = {}) -> Reading {
  const Reading mapped = read(path, options);
  options.access = FileAccess::buffered;
  const Reading buffered = read(path, options);
  CHECK(mapped.payloads == buffered.payloads);
  CHECK(mapped.error.code == buffered.error.code);
  CHECK(mapped.error.where == buffered.error.where);
  return mapped;
}

auto sha256_of(const std::vector<std::string>& payloads) -> std::string {
  distrib::Sha256 hash;
  for (const std::string& payload : payloads) hash.update(distrib::as_bytes(payload));
  return distrib::to_hex(hash.finish());
}

/// Writes `content` to a pipe; `path()` names the end to read. Small contents only: nothing reads them meanwhile.
class Pipe {
 public:
  explicit Pipe(std::string_view content) {
    REQUIRE(::pipe(ends_.data()) == 0);
    REQUIRE(::write(ends_[1], content.data(), content.size()) == static_cast<ssize_t>(content.size()));
    ::close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  ~Pipe() { ::close(ends_[0]); }
  [[nodiscard]] auto path() const -> std::string { return "/dev/fd/" + std::to_string(ends_[0]); }

 private:
  std::array<int, 2> ends_{};
};

const std::string three = support::framed("") + support::framed("hello") + support::framed(std::string(30, 'x'));

}  // namespace

TEST_CASE("RecordReader: files of TensorFlow and Hadoop", "[record][record_reader]") {
  struct Row {
    const char* file;
    std::vector<std::size_t> sizes;  // empty: not looked at
    std::size_t records;
    const char* sha256;  // of all payloads
  };
  const std::vector<std::size_t> example{323, 75, 54, 1027, 2};
  const char* const example_hash = "a86a384a89311936cfb9b96326b8015424342372c233dff4894a9aec2f5f39f9";
  const char* const raw_hash = "41caaae5427f39f3336e87a303388b48ce4b0dd0129dcfa2a312c2f2a34158d7";
  const char* const empty_hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  const char* const odd_hash = "8cdbf743d8e18597fc4a387d4d7b9f669e0652b7837d2637ffff397d44afcc70";
  const Row rows[] = {
      {"example.tfrecord", example, 5, example_hash},
      {"example.tfrecord.gz", example, 5, example_hash},
      {"example.tfrecord.zlib", example, 5, example_hash},
      {"raw.tfrecord.gz", {0, 1, 11, 5120, 4096}, 5, raw_hash},
      {"empty.tfrecord", {}, 0, empty_hash},
      {"empty.tfrecord.gz", {}, 0, empty_hash},
      {"lines-0.tfrecord", {}, 100, "b73b31792bcce983b991bd1e47707ad53ee1c9d75c6ce24068357a5b918fb6b4"},
      {"odd.tfrecord.gz", {}, 14, odd_hash},
      {"odd.tfrecord.deflate", {}, 14, odd_hash},
  };
  for (const Row& row : rows) {
    CAPTURE(row.file);
    const Reading reading = read_both(support::fixture(row.file));
    CHECK_FALSE(reading.error);
    CHECK(reading.payloads.size() == row.records);
    CHECK(sha256_of(reading.payloads) == row.sha256);
    for (std::size_t i = 0; i < row.sizes.size() && i < reading.payloads.size(); ++i)
      CHECK(reading.payloads[i].size() == row.sizes[i]);
  }
}

TEST_CASE("RecordReader: damaged files of TensorFlow", "[record][record_reader]") {
  const Reading flipped = read_both(support::fixture("bad_data_crc.tfrecord"));
  CHECK(flipped.payloads.size() == 2);
  CHECK(flipped.error.code == record_errc::corrupt_payload);
  CHECK_THAT(flipped.error.where, ContainsSubstring("bad_data_crc.tfrecord: record 2 at offset 33"));

  const Reading cut = read_both(support::fixture("truncated_payload.tfrecord"));
  CHECK(cut.payloads.size() == 4);
  CHECK(cut.error.code == record_errc::truncated_payload);
  CHECK_THAT(cut.error.where, ContainsSubstring("truncated_payload.tfrecord: record 4 at offset 5196"));
}

TEST_CASE("RecordReader: range and try_next report the same failure", "[record][record_reader]") {
  RecordReader reader{support::fixture("bad_data_crc.tfrecord")};
  std::size_t records = 0;
  std::string text;
  try {
    for (const Record& record : reader) records += record.number == records ? 1 : 0;
  } catch (const std::system_error& error) {
    text = error.what();
    CHECK(error.code() == distrib::failure::corrupt);
  }
  CHECK(records == 2);
  CHECK(text == reader.error().where + ": " + reader.error().code.message());
  CHECK(reader.offset() == 33);
  CHECK_THROWS_AS(reader.begin(), std::system_error);  // the first failure is final
}

TEST_CASE("RecordReader: a range of records that point into the mapping", "[record][record_reader]") {
  const support::TempDirectory directory;
  support::write_file(directory / "file", three);
  RecordReader first{directory / "file"};
  const auto empty = first.try_next();
  const auto hello = first.try_next();
  RecordReader second{std::move(first)};
  std::uint64_t sum = 0;
  for (const std::uint64_t size : second | std::views::transform([](const Record& r) { return r.bytes.size(); }))
    sum += size;
  CHECK(sum == 30);
  CHECK(empty->bytes.empty());
  CHECK(distrib::as_text(hello->bytes) == "hello");  // still valid after the move and at the end
  CHECK(hello->offset == 16);
  CHECK(hello->number == 1);
  CHECK(hello->bytes.data() == empty->bytes.data() + 4 + 12);  // not copied
}

TEST_CASE("RecordReader: reads bytes that the caller keeps in memory", "[record][record_reader]") {
  const std::string cut = three.substr(0, three.size() - 1);
  RecordReader reader{distrib::as_bytes(cut), "memory"};
  CHECK(reader.try_next()->bytes.empty());
  CHECK(distrib::as_text(reader.try_next()->bytes) == "hello");
  CHECK_FALSE(reader.try_next());
  CHECK(reader.error().code == record_errc::truncated_payload);
  CHECK(reader.error().where == "memory: record 2 at offset 37");
  const std::string compressed = support::read_file(support::fixture("example.tfrecord.gz"));
  RecordReader plain_only{distrib::as_bytes(compressed), "memory"};
  CHECK_FALSE(plain_only.try_next());
  CHECK(plain_only.error().code == record_errc::corrupt_length);
}

TEST_CASE("RecordReader: files that cannot be opened", "[record][record_reader]") {
  const support::TempDirectory directory;
  CHECK_THROWS_WITH(RecordReader{directory / "missing"}, ContainsSubstring("missing: No such file or directory"));
  for (const auto access : {FileAccess::automatic, FileAccess::mapped, FileAccess::buffered}) {
    std::error_code ec;
    RecordReader missing{directory / "missing", {.access = access}, ec};
    CHECK(ec == std::errc::no_such_file_or_directory);
    CHECK(missing.error().code == ec);
    CHECK_FALSE(missing.try_next());
    const Reading reading = read(directory.path(), {.access = access});
    CHECK(reading.error.code == std::errc::is_a_directory);
  }
}

TEST_CASE("RecordReader: a file cut at every byte", "[record][record_reader]") {
  const support::TempDirectory directory;
  const std::size_t ends[] = {0, 16, 37, 83};
  REQUIRE(three.size() == ends[3]);
  for (std::size_t cut = 0; cut <= three.size(); ++cut) {
    CAPTURE(cut);
    support::write_file(directory / "file", three.substr(0, cut));
    std::size_t whole = 0;
    while (whole < 3 && ends[whole + 1] <= cut) ++whole;
    const std::size_t left = cut - ends[whole];
    const std::error_code expected = left == 0   ? std::error_code{}
                                     : left < 12 ? make_error_code(record_errc::truncated_header)
                                                 : make_error_code(record_errc::truncated_payload);
    const Reading strict = read_both(directory / "file");
    CHECK(strict.payloads.size() == whole);
    CHECK(strict.error.code == expected);
    const Reading tensorflow =
        read_both(directory / "file", {.truncated_header = TruncatedHeader::end_like_tensorflow});
    CHECK(tensorflow.payloads.size() == whole);
    CHECK(tensorflow.error.code == (left < 12 ? std::error_code{} : expected));
    const Reading hadoop = read_both(directory / "file", {.truncated_header = TruncatedHeader::end_like_hadoop});
    CHECK(hadoop.payloads.size() == whole);
    CHECK(hadoop.error.code == (left < 8 ? std::error_code{} : expected));
  }
}

TEST_CASE("RecordReader: checksums are ignored as in Hadoop", "[record][record_reader]") {
  const support::TempDirectory directory;
  RecordReaderOptions options;
  options.checksums = distrib::RecordReaderOptions::Checksums::ignore_like_hadoop;
  options.truncated_header = TruncatedHeader::end_like_hadoop;
  const std::string file = support::framed("hello") + support::framed("world");
  for (std::size_t cut = 0; cut <= file.size(); ++cut) {
    CAPTURE(cut);
    support::write_file(directory / "file", file.substr(0, cut));
    const Reading reading = read_both(directory / "file", options);
    const std::size_t left = cut % 21;
    CHECK(reading.payloads.size() == cut / 21 + (left >= 17 ? 1 : 0));  // the last checksum may be cut
    CHECK(reading.error.code == (left < 8 || left >= 17 ? std::error_code{} : record_errc::truncated_payload));
  }
  for (std::size_t at = 8; at < file.size(); at = at == 11 ? 17 : at == 20 ? 29 : at == 32 ? 38 : at + 1) {
    std::string bytes = file;
    bytes[at] = 'x';  // in a checksum
    support::write_file(directory / "file", bytes);
    CHECK((read_both(directory / "file", options).payloads == std::vector<std::string>{"hello", "world"}));
  }
  support::write_file(directory / "file", support::framed("").substr(0, 8));  // only a length of 0
  CHECK((read_both(directory / "file", options).payloads == std::vector<std::string>{""}));
  for (const std::uint64_t length :
       {std::uint64_t{1} << 31, std::uint64_t{1} << 63, std::numeric_limits<std::uint64_t>::max()}) {
    support::write_file(directory / "file", support::header_of(length));
    CHECK(read_both(directory / "file", options).error.code == record_errc::truncated_payload);
  }
  for (const char* name : {"example.tfrecord", "example.tfrecord.gz", "lines-0.tfrecord"})
    CHECK((read_both(support::fixture(name), options).payloads == read_both(support::fixture(name)).payloads));
}

TEST_CASE("RecordReader: the compression that the options ask for", "[record][record_reader]") {
  using distrib::Compression;
  struct Row {
    const char* file;
    Compression wanted;
    std::error_code error;
  };
  const Row rows[] = {
      {"example.tfrecord", Compression::none, {}},
      {"example.tfrecord", Compression::gzip, record_errc::corrupt_compression},
      {"example.tfrecord", Compression::zlib, record_errc::corrupt_compression},
      {"example.tfrecord.gz", Compression::none, record_errc::corrupt_length},
      {"example.tfrecord.gz", Compression::gzip, {}},
      {"example.tfrecord.gz", Compression::zlib, record_errc::corrupt_compression},
      {"example.tfrecord.zlib", Compression::none, record_errc::corrupt_length},
      {"example.tfrecord.zlib", Compression::gzip, record_errc::corrupt_compression},
      {"example.tfrecord.zlib", Compression::zlib, {}},
      {"empty.tfrecord", Compression::gzip, {}},
      {"empty.tfrecord", Compression::none, {}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.file, static_cast<int>(row.wanted));
    RecordReaderOptions options;
    options.compression = row.wanted;
    const Reading mapped = read(support::fixture(row.file), options);
    options.access = FileAccess::buffered;
    const Reading buffered = read(support::fixture(row.file), options);
    CHECK(mapped.error.code == row.error);
    CHECK(buffered.error.code == row.error);
    CHECK(mapped.payloads == buffered.payloads);
    if (row.error) CHECK_THAT(mapped.error.where, ContainsSubstring("record 0 at offset 0"));
  }
}

TEST_CASE("RecordReader: a file is read as plain if asked for, even if it looks compressed",
          "[record][record_reader]") {
  const support::TempDirectory directory;
  std::ofstream{directory / "short", std::ios::binary} << "\x08\x99";  // a valid header of zlib
  RecordReaderOptions options;
  for (const FileAccess access : {FileAccess::automatic, FileAccess::buffered}) {
    options.access = access;
    options.compression = distrib::Compression::none;
    CHECK(read(directory / "short", options).error.code == record_errc::truncated_header);
    options.compression.reset();
    CHECK(read(directory / "short", options).error.code == record_errc::truncated_compression);
  }
}

TEST_CASE("RecordReader: returns all of many small records before a damaged one", "[record][record_reader]") {
  const support::TempDirectory directory;
  std::string bytes;
  std::vector<std::string> expected;
  for (std::size_t i = 0; i < 3000; ++i) {
    expected.push_back(support::noise(i * 7 % 400));
    bytes += support::framed(expected.back());
  }
  support::write_file(directory / "file", bytes);
  CHECK((read_both(directory / "file").payloads == expected));
  for (const std::size_t at : {bytes.size() - 1, bytes.size() / 2, bytes.size() / 3, std::size_t{70'000}}) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    support::write_file(directory / "file", damaged);
    const Reading reading = read_both(directory / "file");
    CHECK(reading.error);
    std::size_t end = 0;
    for (const std::string& payload : reading.payloads) end += payload.size() + distrib::record_frame_bytes;
    CHECK(end <= at);
    CHECK(end + 400 + distrib::record_frame_bytes > at);  // up to the record that is damaged
    CHECK(std::equal(reading.payloads.begin(), reading.payloads.end(), expected.begin()));
  }
}

TEST_CASE("RecordReader: every flipped bit is detected", "[record][record_reader]") {
  const support::TempDirectory directory;
  std::string bytes = three;
  const std::size_t ends[] = {0, 16, 37, 83};
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    CAPTURE(bit);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    support::write_file(directory / "file", bytes);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    std::size_t hit = 0;
    while (ends[hit + 1] <= bit / 8) ++hit;
    const Reading reading = read_both(directory / "file");
    CHECK(reading.payloads.size() == hit);
    const bool in_header = bit / 8 - ends[hit] < distrib::record_header_bytes;
    CHECK(reading.error.code == (in_header ? record_errc::corrupt_length : record_errc::corrupt_payload));
  }
}

TEST_CASE("RecordReader: a compressed file cut or flipped anywhere ends in an error", "[record][record_reader]") {
  const support::TempDirectory directory;
  for (const char* name : {"example.tfrecord.gz", "example.tfrecord.zlib"}) {
    CAPTURE(name);
    const std::string good = support::read_file(support::fixture(name));
    const Reading expected = read(support::fixture(name));
    for (std::size_t cut = 1; cut < good.size(); ++cut) {
      CAPTURE(cut);
      support::write_file(directory / "file", good.substr(0, cut));
      const Reading strict = read(directory / "file");
      CHECK(strict.error.code == (cut == 1 ? record_errc::truncated_header : record_errc::truncated_compression));
      const Reading lenient = read(directory / "file", {.truncated_header = TruncatedHeader::end_like_tensorflow});
      CHECK(lenient.payloads == strict.payloads);
      if (strict.payloads.size() == 5) CHECK_FALSE(lenient.error);
    }
    std::string bytes = good;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      CAPTURE(at);
      bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
      support::write_file(directory / "file", bytes);
      bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
      const Reading reading = read(directory / "file");
      REQUIRE(reading.payloads.size() <= expected.payloads.size());
      for (std::size_t i = 0; i < reading.payloads.size(); ++i) CHECK(reading.payloads[i] == expected.payloads[i]);
      // Bytes without effect: gzip's time, level and system; bits after the end of the deflated data.
      const bool gzip = std::string_view{name}.ends_with(".gz");
      const bool idle = (gzip && at >= 4 && at < 10) || at + 1 + (gzip ? 8 : 4) == bytes.size();
      CHECK(static_cast<bool>(reading.error) == !idle);
    }
  }
}

TEST_CASE("RecordReader: a failure in a compressed file names the inflated offset", "[record][record_reader]") {
  const support::TempDirectory directory;
  const std::string good = support::read_file(support::fixture("example.tfrecord.gz"));
  support::write_file(directory / "file", good.substr(0, good.size() - 4));
  const Reading reading = read(directory / "file");
  CHECK(reading.payloads.size() == 5);
  CHECK(reading.error.code == record_errc::truncated_compression);
  CHECK_THAT(reading.error.where, ContainsSubstring("file: record 5 at offset 1561 of the inflated bytes"));
  support::write_file(directory / "file", good + "rubbish");
  CHECK(read(directory / "file").error.code == record_errc::corrupt_compression);
}

TEST_CASE("RecordReader: concatenated gzip files and concatenated plain files", "[record][record_reader]") {
  const support::TempDirectory directory;
  for (const char* name : {"example.tfrecord", "example.tfrecord.gz", "raw.tfrecord.gz", "empty.tfrecord.gz"}) {
    const std::string once = support::read_file(support::fixture(name));
    support::write_file(directory / "file", once + once);
    const Reading single = read(support::fixture(name));
    const Reading twice = read_both(directory / "file");
    CHECK_FALSE(twice.error);
    REQUIRE(twice.payloads.size() == 2 * single.payloads.size());
    for (std::size_t i = 0; i < twice.payloads.size(); ++i)
      CHECK(twice.payloads[i] == single.payloads[i % single.payloads.size()]);
  }
}

TEST_CASE("RecordReader: a wrong length with a valid checksum", "[record][record_reader]") {
  const support::TempDirectory directory;
  const std::uint64_t lengths[] = {1,
                                   1 << 20,
                                   (std::uint64_t{1} << 31) - 1,
                                   std::uint64_t{1} << 31,
                                   std::uint64_t{1} << 63,
                                   std::numeric_limits<std::uint64_t>::max() - 3,
                                   std::numeric_limits<std::uint64_t>::max()};
  for (const std::uint64_t length : lengths) {
    CAPTURE(length);
    support::write_file(directory / "file", support::framed("a") + support::header_of(length) + "1234");
    const Reading reading = read_both(directory / "file");
    CHECK(reading.payloads.size() == 1);
    CHECK(reading.error.code == record_errc::truncated_payload);
    for (const std::uint64_t limit : {std::uint64_t{9}, std::numeric_limits<std::uint64_t>::max()})
      CHECK(read_both(directory / "file", {.max_record_bytes = limit}).error.code == record_errc::truncated_payload);
  }
}

TEST_CASE("RecordReader: longer records than max_record_bytes are refused", "[record][record_reader]") {
  const support::TempDirectory directory;
  support::write_file(directory / "file", three);
  CHECK_FALSE(read_both(directory / "file", {.max_record_bytes = 30}).error);
  const Reading reading = read_both(directory / "file", {.max_record_bytes = 29});
  CHECK(reading.error.code == record_errc::too_large);
  CHECK(reading.error.code == distrib::failure::exhausted);
  CHECK(reading.error.code != distrib::failure::corrupt);
  CHECK(reading.payloads.size() == 2);
  CHECK(reading.error.where == (directory / "file").string() + ": record 2 at offset 37: 30 bytes, the limit is 29");
  CHECK_THAT(reading.error.code.message(), ContainsSubstring("max_record_bytes"));
  CHECK(read_both(directory / "file",
                  {.checksums = RecordReaderOptions::Checksums::ignore_like_hadoop, .max_record_bytes = 29})
            .error.where == reading.error.where);

  distrib::RecordWriter writer{directory / "file.gz", {.compression = distrib::Compression::gzip}};
  for (const std::size_t size : {0U, 5U, 30U}) writer.append(distrib::as_bytes(std::string(size, 'x')));
  writer.close();
  CHECK_THAT(read_both(directory / "file.gz", {.max_record_bytes = 29}).error.where,
             ContainsSubstring("record 2 at offset 37 of the inflated bytes: 30 bytes, the limit is 29"));
}

TEST_CASE("RecordReader: a record of more than 2 GiB", "[record][record_reader]") {
  const support::LargeFile file;
  RecordReader reader{file.bytes(), "large", {.damage = {.action = distrib::DamagePolicy::OnDamage::salvage}}};
  CHECK(distrib::as_text(reader.try_next()->bytes) == "first");
  const auto record = reader.try_next();
  REQUIRE(record);
  CHECK(record->bytes.size() == support::large_record_bytes);
  CHECK(record->bytes.data() == file.bytes().data() + support::before_large_record().size());  // not copied
  CHECK(distrib::as_text(reader.try_next()->bytes) == "last");
  CHECK_FALSE(reader.try_next());
  CHECK_FALSE(reader.error());
  CHECK(reader.damage().empty());

  RecordReader limited{file.bytes(), "large", {.max_record_bytes = support::large_record_bytes - 1}};
  CHECK(limited.try_next());
  CHECK_FALSE(limited.try_next());
  CHECK(limited.error().code == record_errc::too_large);
  CHECK(limited.error().where == "large: record 1 at offset 21: 2147483658 bytes, the limit is 2147483657");
}

TEST_CASE("RecordReader: records larger than the buffer, through the buffer", "[record][record_reader]") {
  const support::TempDirectory directory;
  std::string bytes;
  std::vector<std::string> expected;
  for (const std::size_t size : {100U, 300'000U, 5U, 262'144U, 262'128U, 1'000'000U, 0U, 700'000U}) {
    expected.push_back(support::noise(size));
    bytes += support::framed(expected.back());
  }
  support::write_file(directory / "file", bytes);
  const Reading reading = read_both(directory / "file");
  CHECK_FALSE(reading.error);
  CHECK((reading.payloads == expected));
}

TEST_CASE("RecordReader: pipes, plain and compressed", "[record][record_reader]") {
  for (const char* name : {"example.tfrecord", "example.tfrecord.gz", "example.tfrecord.zlib", "empty.tfrecord"}) {
    CAPTURE(name);
    const Pipe pipe{support::read_file(support::fixture(name))};
    const Reading reading = read(pipe.path());
    CHECK_FALSE(reading.error);
    CHECK((reading.payloads == read(support::fixture(name)).payloads));
  }
  const Pipe cut{three.substr(0, three.size() - 1)};
  const Reading reading = read(cut.path());
  CHECK(reading.payloads.size() == 2);
  CHECK(reading.error.code == record_errc::truncated_payload);
}

TEST_CASE("RecordReader: the policy decides what damage does, and damage() lists what was lost",
          "[record][record_reader]") {
  using distrib::Damage;
  using OnDamage = distrib::DamagePolicy::OnDamage;
  const support::TempDirectory directory;
  const std::string file = support::framed("zero") + support::framed("one") + support::framed("two") +
                           support::framed("three");  // at 0, 20, 39, 58; ends at 79
  struct Row {
    const char* what;
    std::vector<std::size_t> flipped;
    OnDamage action;
    distrib::DamagePolicy limits;
    std::vector<std::string> payloads;
    std::vector<Damage> damage;
    std::error_code error;
  };
  const auto payload = make_error_code(record_errc::corrupt_payload);
  const auto length = make_error_code(record_errc::corrupt_length);
  const auto too_much = make_error_code(record_errc::too_much_damage);
  const Row rows[] = {
      {"a damaged payload stops the reader", {32}, OnDamage::stop, {}, {"zero"}, {}, payload},
      {"a damaged payload is skipped", {32}, OnDamage::skip, {}, {"zero", "two", "three"}, {{20, 19, 1, payload}}, {}},
      {"the damaged last payload is skipped",
       {70},
       OnDamage::skip,
       {},
       {"zero", "one", "two"},
       {{58, 21, 3, payload}},
       {}},
      {"it is not skipped if the next header is damaged too", {32, 39}, OnDamage::skip, {}, {"zero"}, {}, payload},
      {"a damaged header stops the reader", {20}, OnDamage::skip, {}, {"zero"}, {}, length},
      {"a damaged header is salvaged",
       {20},
       OnDamage::salvage,
       {},
       {"zero", "two", "three"},
       {{20, 19, 1, length}},
       {}},
      {"a damaged payload and the next header are one range",
       {32, 39},
       OnDamage::salvage,
       {},
       {"zero", "three"},
       {{20, 38, 1, payload}},
       {}},
      {"two ranges", {12, 51}, OnDamage::skip, {}, {"one", "three"}, {{0, 20, 0, payload}, {39, 19, 2, payload}}, {}},
      {"as many ranges as allowed",
       {12, 51},
       OnDamage::skip,
       {.max_ranges = 2},
       {"one", "three"},
       {{0, 20, 0, payload}, {39, 19, 2, payload}},
       {}},
      {"more ranges than allowed",
       {12, 51},
       OnDamage::skip,
       {.max_ranges = 1},
       {"one"},
       {{0, 20, 0, payload}, {39, 19, 2, payload}},
       too_much},
      {"as many bytes as allowed",
       {12, 51},
       OnDamage::skip,
       {.max_bytes = 39},
       {"one", "three"},
       {{0, 20, 0, payload}, {39, 19, 2, payload}},
       {}},
      {"more bytes than allowed",
       {12, 51},
       OnDamage::skip,
       {.max_bytes = 38},
       {"one"},
       {{0, 20, 0, payload}, {39, 19, 2, payload}},
       too_much},
  };
  for (const Row& row : rows) {
    std::string bytes = file;
    for (const std::size_t at : row.flipped) bytes[at] = static_cast<char>(bytes[at] ^ 1);
    support::write_file(directory / "file", bytes);
    for (const FileAccess access : {FileAccess::mapped, FileAccess::buffered}) {
      CAPTURE(row.what, static_cast<int>(access));
      RecordReaderOptions options{.access = access, .damage = row.limits};
      options.damage.action = row.action;
      RecordReader reader{directory / "file", options};
      std::vector<std::string> payloads;
      while (const auto record = reader.try_next()) payloads.emplace_back(distrib::as_text(record->bytes));
      CHECK(payloads == row.payloads);
      CHECK((reader.damage() == row.damage));
      CHECK(reader.error().code == row.error);
      CHECK(reader.number() == payloads.size() + row.damage.size() - (row.error == too_much ? 1 : 0));
    }
  }
}

TEST_CASE("RecordReader: a record found after damage is suspect unless headers lead from it to the end",
          "[record][record_reader]") {
  const support::TempDirectory directory;
  std::string bytes = support::framed("zero") + support::framed("one") + support::framed("two");
  bytes[20] = static_cast<char>(bytes[20] ^ 1);
  for (const bool whole : {true, false}) {
    support::write_file(directory / "file", whole ? bytes : bytes + "tail");
    RecordReader reader{directory / "file", {.damage = {.action = distrib::DamagePolicy::OnDamage::salvage}}};
    CHECK_FALSE(reader.try_next()->suspect);
    const auto two = reader.try_next();
    REQUIRE(two);
    CHECK(two->number == 2);
    CHECK(two->offset == 39);
    CHECK(two->suspect == !whole);
    CHECK_FALSE(reader.try_next());
    CHECK_FALSE(reader.error());
    CHECK(reader.damage().size() == (whole ? 1 : 2));
  }
}

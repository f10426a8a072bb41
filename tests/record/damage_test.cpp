// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/damage.hpp>
#include <distrib/record/gzip_members.hpp>

#include <distrib/record/frame.hpp>
#include <distrib/record/record_reader.hpp>
#include <distrib/record/record_writer.hpp>

#include "record/files.hpp"
#include "record/random_files.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

using distrib::Damage;
using FileAccess = distrib::RecordReaderOptions::FileAccess;
using OnDamage = distrib::DamagePolicy::OnDamage;
using distrib::record_errc;
using distrib::RecordReader;
using distrib::RecordReaderOptions;

namespace {

struct Found {
  std::string payload;
  std::uint64_t offset = 0;
  std::uint64_t number = 0;
  bool suspect = false;
  auto operator==(const Found&) const -> bool = default;
};

struct Findings {
  std::vector<Found> records;
  std::vector<Damage> damage;
  std::error_code error;
  auto operator==(const Findings&) const -> bool = default;
};

auto read_damaged(RecordReader& reader) -> Findings {
  Findings reading;
  while (const auto record = reader.try_next()) {
    reading.records.push_back(
        {std::string{distrib::as_text(record->bytes)}, record->offset, record->number, record->suspect});
    if (reading.records.size() > 100'000) FAIL("no end");
  }
  CHECK_FALSE(reader.try_next());
  reading.damage = reader.damage();
  reading.error = reader.error().code;
  return reading;
}

auto read_damaged(const std::string& path, const RecordReaderOptions& options) -> Findings {
  std::error_code ec;
  RecordReader reader{path, options, ec};
  REQUIRE_FALSE(ec);
  return read_damaged(reader);
}

/// The rules in their simplest form, without regard to speed.
class Oracle {
 public:
  Oracle(std::string_view file, OnDamage action) : file_{file}, action_{action} {}

  auto read() -> Findings {
    while (at_ != file_.size()) {
      const auto size = frame(at_);
      const std::error_code code = wrong(at_);
      if (!code) {
        result_.records.push_back({std::string{file_.substr(at_ + 12, *size - 16)}, at_, number_++, suspect_});
        at_ += *size;
      } else if (action_ != OnDamage::stop && code == record_errc::corrupt_payload && ends_right(at_ + *size)) {
        lose(at_ + *size, code);
      } else if (action_ == OnDamage::salvage) {
        std::size_t next = at_ + 1;
        while (next < file_.size() && wrong(next)) ++next;
        suspect_ = !leads_to_end(next);
        lose(next, code);
      } else {
        result_.error = code;
        break;
      }
    }
    return result_;
  }

 private:
  /// Returns the bytes of the frame that begins at `at` if its header is valid. Minus 16 it is the length, also if the
  /// sum overflowed.
  auto frame(std::size_t at) const -> std::optional<std::size_t> {
    if (file_.size() - at < 12) return std::nullopt;
    const auto head = distrib::as_bytes(file_.substr(at, 12));
    const auto length = distrib::parse_record_header(head.first<12>());
    return length ? std::optional<std::size_t>{*length + 16} : std::nullopt;
  }

  auto wrong(std::size_t at) const -> std::error_code {
    const std::size_t left = file_.size() - at;
    const auto size = frame(at);
    if (left < 12) return record_errc::truncated_header;
    if (!size) return record_errc::corrupt_length;
    if (left < 16 || *size - 16 > left - 16) return record_errc::truncated_payload;
    if (support::framed(file_.substr(at + 12, *size - 16)) != file_.substr(at, *size))
      return record_errc::corrupt_payload;
    return {};
  }

  auto ends_right(std::size_t at) const -> bool { return file_.size() - at < 12 || frame(at); }

  auto leads_to_end(std::size_t at) const -> bool {
    while (at < file_.size()) {
      const auto size = frame(at);
      if (!size || file_.size() - at < 16 || *size - 16 > file_.size() - at - 16) return false;
      at += *size;
    }
    return at == file_.size();
  }

  void lose(std::size_t to, std::error_code code) {
    result_.damage.push_back({at_, to - at_, number_++, code});
    at_ = to;
  }

  std::string_view file_;
  OnDamage action_;
  Findings result_;
  std::size_t at_ = 0;
  std::uint64_t number_ = 0;
  bool suspect_ = false;
};

constexpr OnDamage actions[] = {OnDamage::stop, OnDamage::skip, OnDamage::salvage};

/// Reads `bytes` in every way, and checks that each finds what the rules say.
class Comparison {
 public:
  void operator()(const std::string& bytes) const {
    support::write_file(directory_ / "file", bytes);
    for (const OnDamage action : actions) {
      const Findings expected = Oracle{bytes, action}.read();
      for (const FileAccess access : {FileAccess::mapped, FileAccess::buffered}) {
        const Findings reading = read_damaged(directory_ / "file", {.access = access, .damage = {.action = action}});
        if (reading == expected) continue;
        CAPTURE(static_cast<int>(action), static_cast<int>(access));
        CHECK(reading.records.size() == expected.records.size());
        CHECK(reading.damage.size() == expected.damage.size());
        CHECK(reading.error == expected.error);
        CHECK((reading == expected));
      }
    }
  }

 private:
  support::TempDirectory directory_;
};

/// Five records: an empty one, "hello", one that holds two others, an empty one, and one of 30 bytes.
auto small_file() -> std::string {
  return support::framed("") + support::framed("hello") +
         support::framed(support::framed("inner") + support::framed(std::string(20, 'i'))) + support::framed("") +
         support::framed(std::string(30, 'x'));
}

/// `bytes` as one gzip member or zlib stream.
auto compressed(distrib::Compression compression, std::string_view bytes) -> std::string {
  distrib::Deflater deflater{compression};
  std::string text(bytes.size() + 1000, '\0');
  distrib::ByteView in = distrib::as_bytes(bytes);
  text.resize(deflater.deflate(in, std::as_writable_bytes(std::span{text}), distrib::DeflateOptions::Flush::finish));
  return text;
}

}  // namespace

TEST_CASE("DamagePolicy: a small file cut at every byte, under each policy", "[record][damage]") {
  const Comparison compare;
  const std::string file = small_file();
  for (std::size_t cut = 0; cut <= file.size(); ++cut) {
    CAPTURE(cut);
    compare(file.substr(0, cut));
  }
}

TEST_CASE("DamagePolicy: a small file with bits flipped in every byte, under each policy", "[record][damage]") {
  const Comparison compare;
  std::string file = small_file();
  for (std::size_t at = 0; at < file.size(); ++at)
    for (const int bits : {0x01, 0x80, 0xFF}) {
      CAPTURE(at, bits);
      file[at] = static_cast<char>(file[at] ^ bits);
      compare(file);
      file[at] = static_cast<char>(file[at] ^ bits);
    }
}

TEST_CASE("DamagePolicy: missing bytes and additional bytes at every position", "[record][damage]") {
  const Comparison compare;
  const std::string file = small_file();
  for (std::size_t at = 0; at < file.size(); at += 3) {
    CAPTURE(at);
    compare(file.substr(0, at) + file.substr(std::min(file.size(), at + 5)));
    compare(file.substr(0, at) + "too many" + file.substr(at));
    compare(file.substr(0, at) + small_file());  // one writer ended early, and another continued after its bytes
  }
}

TEST_CASE("DamagePolicy: tails of 1 to 39 bytes of zeros or noise, and files of nothing else", "[record][damage]") {
  const Comparison compare;
  for (std::size_t size = 1; size < 40; ++size) {
    CAPTURE(size);
    compare(small_file() + std::string(size, '\0'));
    compare(std::string(size, '\0'));
    compare(support::noise(size));
    compare(small_file() + support::noise(size) + small_file());
  }
}

TEST_CASE("DamagePolicy: wrong lengths with valid checksums", "[record][damage]") {
  const Comparison compare;
  for (const std::uint64_t length :
       {std::uint64_t{200}, std::uint64_t{1} << 30, std::uint64_t{1} << 31, std::uint64_t{1} << 62,
        std::uint64_t{1} << 63, std::numeric_limits<std::uint64_t>::max() - 15,
        std::numeric_limits<std::uint64_t>::max()}) {
    CAPTURE(length);
    compare(support::framed("before") + support::header_of(length) + small_file());
    compare(support::header_of(length));
  }
}

TEST_CASE("DamagePolicy: random damage of files, ordinary and nested", "[record][damage]") {
  const Comparison compare;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    std::mt19937 random{seed};
    std::string file =
        seed % 2 == 0 ? support::ordinary_file(seed, 60, 200).bytes : support::nested_file(seed, 6).bytes;
    for (std::size_t hit = 0; hit < 1 + seed % 5; ++hit) file[random() % file.size()] = static_cast<char>(random());
    compare(file);
    compare(file + file);
  }
}

TEST_CASE("DamagePolicy: max_ranges and max_bytes", "[record][damage]") {
  const support::TempDirectory directory;
  std::string file;
  for (int i = 0; i < 6; ++i) {
    file += support::framed("record");
    if (i % 2 == 1) file[file.size() - 1] = static_cast<char>(file[file.size() - 1] ^ 1);
  }
  support::write_file(directory / "file", file);
  for (const OnDamage action : {OnDamage::skip, OnDamage::salvage}) {
    const Findings all =
        read_damaged(directory / "file", {.damage = {.action = action, .max_ranges = 3, .max_bytes = 66}});
    CHECK_FALSE(all.error);
    CHECK(all.records.size() == 3);
    CHECK(all.damage[1] == Damage{66, 22, 3, record_errc::corrupt_payload});

    for (const auto& policy : {distrib::DamagePolicy{action, 2}, distrib::DamagePolicy{action, 9, 65}}) {
      RecordReader reader{directory / "file", {.damage = policy}};
      const Findings some = read_damaged(reader);
      CHECK(some.error == record_errc::too_much_damage);
      CHECK(some.error == distrib::failure::corrupt);
      CHECK(some.records.size() == 3);
      CHECK(some.damage.size() == 3);  // with the range that exceeded the limit
      CHECK_THAT(reader.error().where, ContainsSubstring("file: record 5 at offset 110"));
    }
  }
}

TEST_CASE("DamagePolicy: the list of damage can be read between records", "[record][damage]") {
  const support::TempDirectory directory;
  std::string file = support::framed("a") + support::framed("b") + support::framed("c");
  file[17 + 12] = 'B';
  support::write_file(directory / "file", file);
  RecordReader reader{directory / "file", {.damage = {.action = OnDamage::skip}}};
  CHECK(distrib::as_text(reader.try_next()->bytes) == "a");
  CHECK(reader.damage().empty());
  CHECK(distrib::as_text(reader.try_next()->bytes) == "c");
  REQUIRE(reader.damage().size() == 1);
  CHECK(reader.damage()[0] == Damage{17, 17, 1, record_errc::corrupt_payload});
  CHECK(reader.number() == 3);
}

TEST_CASE("DamagePolicy: a limit of the reader is not damage", "[record][damage]") {
  const support::TempDirectory directory;
  const std::string good = support::framed("a") + support::framed("bb") + support::framed("c");
  std::string behind_damage = support::framed("damaged") + good;
  behind_damage[3] = 1;
  for (const OnDamage action : actions)
    for (const FileAccess access : {FileAccess::mapped, FileAccess::buffered}) {
      support::write_file(directory / "file", good);
      const Findings found =
          read_damaged(directory / "file", {.access = access, .damage = {.action = action}, .max_record_bytes = 1});
      CHECK(found.error == record_errc::too_large);
      CHECK(found.records.size() == 1);
      CHECK(found.damage.empty());
      // A wrong length is damage all the same.
      const std::string lie = support::framed("a") + support::header_of(900) + support::framed("b");
      support::write_file(directory / "file", lie);
      const RecordReaderOptions options{.access = access, .damage = {.action = action}, .max_record_bytes = 20};
      CHECK((read_damaged(directory / "file", options) == Oracle{lie, action}.read()));
    }
  support::write_file(directory / "file", behind_damage);
  const Findings salvaged =
      read_damaged(directory / "file", {.damage = {.action = OnDamage::salvage}, .max_record_bytes = 1});
  CHECK(salvaged.error == record_errc::too_large);
  CHECK(salvaged.records.size() == 1);
  CHECK(salvaged.damage == std::vector{Damage{0, 23, 0, record_errc::corrupt_length}});
}

TEST_CASE("DamagePolicy: damage in a named pipe", "[record][damage]") {
  const support::TempDirectory directory;
  REQUIRE(::mkfifo((directory / "pipe").c_str(), 0600) == 0);
  std::signal(SIGPIPE, SIG_IGN);  // the writer is not killed if the reader stops
  std::string file = support::ordinary_file(5, 3000, 300).bytes;
  for (const std::size_t at : {file.size() / 5, file.size() / 2, file.size() - 2})
    for (std::size_t i = 0; i < 20 && at + i < file.size(); ++i) file[at + i] = 'x';
  for (const OnDamage action : actions) {
    const Findings expected = Oracle{file, action}.read();
    std::thread writer{[&] {
      const int fd = ::open((directory / "pipe").c_str(), O_WRONLY | O_CLOEXEC);
      std::size_t written = 0;
      while (written < file.size()) {
        const ssize_t count = ::write(fd, file.data() + written, std::min<std::size_t>(file.size() - written, 1000));
        if (count <= 0) break;  // the reader stopped
        written += static_cast<std::size_t>(count);
      }
      ::close(fd);
    }};
    const Findings reading = read_damaged(directory / "pipe", {.damage = {.action = action}});
    writer.join();
    CHECK((reading == expected));
  }
}

TEST_CASE("DamagePolicy: damage inside compressed files", "[record][damage]") {
  const support::TempDirectory directory;
  std::string plain = small_file();
  plain[16 + 12] = 'H';  // in the payload "hello"
  support::write_file(directory / "damaged", plain);
  for (const auto compression : {distrib::Compression::gzip, distrib::Compression::zlib}) {
    support::write_file(directory / "file", compressed(compression, plain));
    const Findings skipped = read_damaged(directory / "file", {.damage = {.action = OnDamage::skip}});
    CHECK((skipped == Oracle{plain, OnDamage::skip}.read()));
    CHECK(read_damaged(directory / "file", {}).error == record_errc::corrupt_payload);
    const std::string whole = support::read_file(directory / "file");
    support::write_file(directory / "file", whole.substr(0, whole.size() - 12));
    const Findings cut = read_damaged(directory / "file", {.damage = {.action = OnDamage::salvage}});
    CHECK_FALSE(cut.error);
    CHECK(cut.damage.back().code == record_errc::truncated_compression);
    CHECK(read_damaged(directory / "file", {.damage = {.action = OnDamage::skip}}).error ==
          record_errc::truncated_compression);
  }
  plain[0] = 1;  // in a header: everything after it in the compressed data is lost
  support::write_file(directory / "file", compressed(distrib::Compression::gzip, plain));
  const Findings lost = read_damaged(directory / "file", {.damage = {.action = OnDamage::salvage}});
  CHECK_FALSE(lost.error);
  CHECK(lost.records.empty());
  CHECK(lost.damage == std::vector{Damage{0, plain.size(), 0, record_errc::corrupt_length}});
}

TEST_CASE("DamagePolicy: damaged members of a gzip file are skipped", "[record][damage]") {
  const support::TempDirectory directory;
  std::vector<std::string> payloads;
  {
    distrib::RecordWriter writer{directory / "file", {.compression = distrib::Compression::gzip, .member_bytes = 4096}};
    for (std::uint32_t i = 0; i < 400; ++i) {
      payloads.push_back(std::to_string(i) + support::noise(100));
      writer.append(distrib::as_bytes(payloads.back()));
    }
    writer.close();
  }
  const std::string good = support::read_file(directory / "file");
  std::mt19937 random{7};
  for (int round = 0; round < 100; ++round) {
    std::string bytes = good;
    const std::size_t at = random() % bytes.size();
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (round % 8)));
    support::write_file(directory / "file", bytes);
    CAPTURE(round, at);
    const Findings reading = read_damaged(directory / "file", {.damage = {.action = OnDamage::salvage}});
    CHECK_FALSE(reading.error);
    CHECK(reading.records.size() + 90 > payloads.size());  // at most two members of about 40 records are lost
    CHECK(reading.damage.size() <= 90);
    std::size_t next = 0;  // in order, and none twice
    for (const Found& record : reading.records) {
      CHECK_FALSE(record.suspect);
      while (next < payloads.size() && payloads[next] != record.payload) ++next;
      REQUIRE(next++ < payloads.size());
    }
  }
}

TEST_CASE("DamagePolicy: a damaged member of a gzip file is skipped without checksums of records too",
          "[record][damage]") {
  const support::TempDirectory directory;
  {
    distrib::RecordWriter writer{directory / "file", {.compression = distrib::Compression::gzip, .member_bytes = 500}};
    for (int i = 0; i < 15; ++i) writer.append(distrib::as_bytes(std::to_string(i % 10) + std::string(99, 'x')));
    writer.close();
  }
  std::string bytes = support::read_file(directory / "file");
  const std::size_t second =
      distrib::gzip_member_header_bytes + distrib::find_gzip_member(distrib::as_bytes(bytes).subspan(1)) + 1;
  bytes[second] = '\xff';  // the first byte of the second member's deflate stream
  support::write_file(directory / "file", bytes);
  const Findings reading =
      read_damaged(directory / "file", {.checksums = distrib::RecordReaderOptions::Checksums::ignore_like_hadoop,
                                        .damage = {.action = OnDamage::salvage}});
  CHECK_FALSE(reading.error);
  REQUIRE(reading.records.size() == 10);  // of three members of 5
  CHECK(reading.records[4].payload[0] == '4');
  CHECK(reading.records[5].payload[0] == '0');
}

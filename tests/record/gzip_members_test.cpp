// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/gzip_members.hpp>

#include <distrib/record/detail/record_stream.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/record/zlib.hpp>

#include "record/deflating.hpp"
#include "record/files.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using distrib::as_bytes;
using distrib::Compression;
using distrib::GzipMember;
using distrib::GzipMembers;
using distrib::record_errc;

namespace {

/// The bytes of a file of `records` records of 100 bytes, in members of at least 500.
auto written(int records) -> std::string {
  const support::TempDirectory directory;
  distrib::RecordWriter writer{directory / "file", {.compression = Compression::gzip, .member_bytes = 500}};
  for (int i = 0; i < records; ++i) writer.append(as_bytes(std::string(100, static_cast<char>('a' + i % 26))));
  writer.close();
  return support::read_file(directory / "file");
}

auto walk(const std::string& bytes, bool& complete) -> std::vector<GzipMember> {
  GzipMembers members{as_bytes(bytes)};
  std::vector<GzipMember> found;
  while (const auto member = members.try_next()) found.push_back(*member);
  complete = members.complete();
  return found;
}

using Stream = distrib::detail::RecordStream<distrib::Inflater>;

/// Returns the rest of a stream, up to its end or the next failure.
auto drain(Stream& stream) -> std::string {
  std::string text;
  distrib::ByteView window;
  while (stream.fill(window, 1)) {
    text += distrib::as_text(window);
    window = {};
  }
  return text;
}

void put(std::string& bytes, std::size_t at, std::uint64_t value) {
  distrib::store_le(reinterpret_cast<std::byte*>(bytes.data() + at), value);
}

}  // namespace

TEST_CASE("GzipMembers: where each member begins, and what is in it", "[record][gzip_members]") {
  const std::string bytes = written(23);
  bool complete = false;
  const std::vector<GzipMember> members = walk(bytes, complete);
  CHECK(complete);
  REQUIRE(members.size() == 5);  // of 5, 5, 5, 5 and 3 records
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    CAPTURE(i);
    CHECK(members[i].offset == offset);
    CHECK(members[i].records == (i < 4 ? 5 : 3));
    CHECK(members[i].first_record == 5 * i);
    CHECK(members[i].inflated_size == 116 * members[i].records);
    CHECK(members[i].inflated_offset == 116 * members[i].first_record);
    const auto one = bytes.substr(offset, members[i].size);
    const auto inflated = support::inflated<distrib::Inflater>(Compression::gzip, one);
    CHECK_FALSE(inflated.ec);
    CHECK(inflated.complete);
    CHECK(inflated.text.size() == members[i].inflated_size);
    offset += members[i].size;
  }
  CHECK(offset == bytes.size());
}

TEST_CASE("GzipMembers: the members of files that were concatenated", "[record][gzip_members]") {
  bool complete = false;
  CHECK(walk(written(7) + written(0) + written(6), complete).size() == 2 + 1 + 2);
  CHECK(complete);
  GzipMembers members{{}};
  CHECK_FALSE(members.try_next());
  CHECK_FALSE(members.complete());
}

TEST_CASE("GzipMembers: files of other programs are not complete", "[record][gzip_members]") {
  bool complete = true;
  for (const char* name : {"example.tfrecord", "example.tfrecord.gz", "example.tfrecord.zlib", "empty.tfrecord.gz"}) {
    CHECK(walk(support::read_file(support::fixture(name)), complete).empty());
    CHECK_FALSE(complete);
  }
  CHECK(walk(written(7) + support::read_file(support::fixture("example.tfrecord.gz")), complete).size() == 2);
  CHECK_FALSE(complete);
}

TEST_CASE("GzipMembers: in a file cut anywhere the chain is incomplete, except between members",
          "[record][gzip_members]") {
  const std::string bytes = written(12);
  bool complete = false;
  const std::vector<GzipMember> whole = walk(bytes, complete);
  REQUIRE(whole.size() == 3);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    CAPTURE(cut);
    const std::vector<GzipMember> members = walk(bytes.substr(0, cut), complete);
    std::size_t expected = 0;
    while (whole[expected].offset + whole[expected].size <= cut) ++expected;
    CHECK(members.size() == expected);
    CHECK(complete == (cut != 0 && cut == whole[expected].offset));
  }
}

TEST_CASE("GzipMembers: impossible announcements are refused", "[record][gzip_members]") {
  const std::string good = written(5);
  REQUIRE(distrib::parse_gzip_member(as_bytes(good)));
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  struct Row {
    std::size_t at;
    std::uint64_t value;
  };
  const Row rows[] = {{16, 0}, {16, 48}, {24, most}, {24, 1'000'000}, {24, 0}, {32, 6000}, {32, most}};
  for (const Row& row : rows) {
    CAPTURE(row.at, row.value);
    std::string bad = good;
    put(bad, row.at, row.value);
    CHECK_FALSE(distrib::parse_gzip_member(as_bytes(bad)));
  }
  for (const std::uint64_t size : {good.size() + 1, std::size_t{most}}) {  // beyond the file
    std::string bad = good;
    put(bad, 16, size);
    bool complete = true;
    CHECK(walk(bad, complete).empty());
    CHECK_FALSE(complete);
  }
  for (std::size_t at = 0; at < distrib::gzip_member_header_bytes; ++at)
    if (at < 4 || at == 10 || (at >= 12 && at < 16)) {
      CAPTURE(at);
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 0x10);
      CHECK_FALSE(distrib::parse_gzip_member(as_bytes(bad)));
    }
}

TEST_CASE("find_gzip_member: the next member, wherever it begins", "[record][gzip_members]") {
  const std::string member = written(3);
  for (const std::size_t before : {0U, 1U, 39U, 40U, 1000U}) {
    CAPTURE(before);
    CHECK(distrib::find_gzip_member(as_bytes(std::string(before, '\x1f') + member)) == before);
    CHECK(distrib::find_gzip_member(as_bytes(support::noise(before) + member)) == before);
  }
  const std::string none = std::string(100, '\x1f') + support::noise(10'000) + member.substr(0, 39);
  CHECK(distrib::find_gzip_member(as_bytes(none)) == none.size());
  CHECK(distrib::find_gzip_member({}) == 0);
}

TEST_CASE("RecordStream: damage in one member loses only that member", "[record][gzip_members]") {
  const support::TempDirectory directory;
  const std::string good = written(15);
  bool complete = false;
  const std::vector<GzipMember> members = walk(good, complete);
  REQUIRE(members.size() == 3);
  const std::string whole = support::inflated<distrib::Inflater>(Compression::gzip, good).text;
  const GzipMember& hit = members[1];
  for (std::uint64_t at = hit.offset; at < hit.offset + hit.size; ++at) {
    CAPTURE(at);
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x15);
    support::write_file(directory / "file", bad);
    std::error_code ec;
    Stream stream{directory / "file", false, ec};
    const std::string before = drain(stream);
    CHECK((before.substr(0, hit.inflated_offset) == whole.substr(0, hit.inflated_offset)));
    if (!stream.error()) {  // bytes that do not affect the data: the compression level, the announced sizes
      CHECK((before == whole));
      continue;
    }
    CHECK(stream.error() == distrib::failure::corrupt);
    // with a damaged header the later member may not be found
    if (at - hit.offset < distrib::gzip_member_header_bytes && !stream.resume()) continue;
    if (at - hit.offset >= distrib::gzip_member_header_bytes) REQUIRE(stream.resume());
    CHECK((drain(stream) == whole.substr(members[2].inflated_offset)));
    CHECK_FALSE(stream.error());
    CHECK_FALSE(stream.resume());
  }
}

TEST_CASE("RecordStream: a member that announces a wrong size uses up nothing of the next", "[record][gzip_members]") {
  const support::TempDirectory directory;
  const std::string good = written(10);
  std::string bad = good;
  put(bad, 16, distrib::parse_gzip_member(as_bytes(good))->size - 1);
  support::write_file(directory / "file", bad);
  std::error_code ec;
  Stream stream{directory / "file", false, ec};
  drain(stream);
  CHECK(stream.error() == record_errc::corrupt_compression);
  CHECK(stream.resume());
  CHECK(drain(stream).size() == 5 * 116);
}

TEST_CASE("RecordStream: resume finds no member to continue with", "[record][gzip_members]") {
  const support::TempDirectory directory;
  for (const char* name : {"example.tfrecord.gz", "example.tfrecord.zlib", "example.tfrecord"}) {
    std::string bytes = support::read_file(support::fixture(name));
    bytes[bytes.size() - 9] = static_cast<char>(bytes[bytes.size() - 9] ^ 0x55);
    support::write_file(directory / "file", bytes);
    std::error_code ec;
    Stream stream{directory / "file", false, ec};
    drain(stream);
    CHECK_FALSE(stream.resume());
    CHECK(drain(stream).empty());
  }
}

TEST_CASE("RecordStream: memory grows with what is asked for, not with what is announced", "[record][gzip_members]") {
  const support::TempDirectory directory;
  const std::string zeros(20 << 20, '\0');
  support::write_file(directory / "file", support::deflated<distrib::Deflater>(Compression::gzip, zeros));
  std::error_code ec;
  Stream stream{directory / "file", false, ec};
  distrib::ByteView window;
  for (const std::size_t wanted : {1U, 12U, 100'000U, 300'000U, 1'000'000U}) {
    REQUIRE(stream.fill(window, wanted));
    CHECK(window.size() <= 2 * std::max(wanted, Stream::piece_bytes));
  }
}

TEST_CASE("RecordStream: members cut at every byte", "[record][gzip_members]") {
  const support::TempDirectory directory;
  const std::string good = written(15);
  bool complete = false;
  const std::vector<GzipMember> members = walk(good, complete);
  const std::string whole = support::inflated<distrib::Inflater>(Compression::gzip, good).text;
  for (std::size_t cut = 2; cut < good.size(); ++cut) {
    CAPTURE(cut);
    support::write_file(directory / "file", good.substr(0, cut));
    std::error_code ec;
    Stream stream{directory / "file", false, ec};
    const std::string text = drain(stream);
    CHECK((whole.substr(0, text.size()) == text));
    // nothing shows that there were more members
    const bool at_border = cut == members[1].offset || cut == members[2].offset;
    CHECK(stream.error() == (at_border ? std::error_code{} : make_error_code(record_errc::truncated_compression)));
    if (at_border) CHECK(text.size() == (cut == members[1].offset ? members[1] : members[2]).inflated_offset);
  }
}

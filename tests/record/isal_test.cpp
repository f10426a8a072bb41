// SPDX-License-Identifier: Apache-2.0
#if __has_include(<isa-l/igzip_lib.h>)
#include <distrib/record/isal.hpp>

#include <distrib/record/codec.hpp>
#include <distrib/record/gzip_members.hpp>
#include <distrib/record/record_reader.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/record/zlib.hpp>

#include "record/deflating.hpp"
#include "record/files.hpp"
#include "record/payloads.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

using distrib::Deflater;
using distrib::Inflater;
using distrib::IsalDeflater;
using distrib::IsalInflater;
using support::payloads_of;

static_assert(distrib::Inflates<IsalInflater>);
static_assert(distrib::Deflates<IsalDeflater>);

TEST_CASE("IsalDeflater and IsalInflater", "[record][isal]") { support::check_all<IsalDeflater, IsalInflater>(); }
TEST_CASE("IsalInflater inflates what zlib's Deflater makes", "[record][isal]") {
  support::check_all<Deflater, IsalInflater>();
}
TEST_CASE("zlib's Inflater inflates what IsalDeflater makes", "[record][isal]") {
  support::check_all<IsalDeflater, Inflater>();
}

TEST_CASE("BasicRecordReader<IsalInflater>: files of TensorFlow and Hadoop", "[record][isal]") {
  for (const char* name : {"example.tfrecord.gz", "example.tfrecord.zlib", "raw.tfrecord.gz", "empty.tfrecord.gz",
                           "odd.tfrecord.gz", "odd.tfrecord.deflate", "example.tfrecord"}) {
    CAPTURE(name);
    const auto path = support::fixture(name);
    CHECK(payloads_of<distrib::BasicRecordReader<IsalInflater>>(path) == payloads_of(path));
  }
}

TEST_CASE("BasicRecordReader<IsalInflater>: goes on at the next member behind any flipped bit", "[record][isal]") {
  const support::TempDirectory directory;
  std::vector<std::string> payloads;
  for (std::size_t i = 0; i < 12; ++i) payloads.push_back(support::noise(60 + i) + std::string(60, 'x'));
  {
    distrib::RecordWriter writer{directory / "file", {.compression = distrib::Compression::gzip, .member_bytes = 500}};
    for (const std::string& one : payloads) writer.append(distrib::as_bytes(one));
    writer.close();
  }
  std::string bytes = support::read_file(directory / "file");
  const auto next = [&bytes](std::size_t at) {
    return at + 1 + distrib::find_gzip_member(distrib::as_bytes(bytes).subspan(at + 1));
  };
  const std::size_t second = next(0);
  const std::size_t third = next(second);
  REQUIRE(third < bytes.size());
  for (std::size_t bit = 8 * (second + distrib::gzip_member_header_bytes); bit < 8 * third; ++bit) {
    CAPTURE(bit - 8 * second);
    const auto flip = [&] { bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8))); };
    flip();
    support::write_file(directory / "file", bytes);
    flip();
    const std::vector<std::string> read = payloads_of<distrib::BasicRecordReader<IsalInflater>>(
        directory / "file", {.damage = {.action = distrib::DamagePolicy::OnDamage::salvage}});
    REQUIRE(read.size() >= 8);
    REQUIRE(std::equal(read.begin(), read.begin() + 4, payloads.begin()));
    REQUIRE(std::equal(read.end() - 4, read.end(), payloads.end() - 4));
  }
}

TEST_CASE("BasicRecordWriter<IsalDeflater>: writes members that every reader accepts", "[record][isal]") {
  const support::TempDirectory directory;
  std::vector<std::string> payloads;
  for (int i = 0; i < 300; ++i) payloads.push_back(support::noise(static_cast<std::size_t>(i * 11)) + "text text text");
  for (const distrib::Compression compression : {distrib::Compression::gzip, distrib::Compression::zlib}) {
    distrib::BasicRecordWriter<IsalDeflater> writer{directory / "file",
                                                    {.compression = compression, .member_bytes = 50'000}};
    for (const std::string& one : payloads) writer.append(distrib::as_bytes(one));
    writer.flush();
    writer.close();
    CHECK((payloads_of(directory / "file") == payloads));
    CHECK((payloads_of<distrib::BasicRecordReader<IsalInflater>>(directory / "file") == payloads));
  }
  distrib::BasicRecordWriter<IsalDeflater> writer{directory / "file",
                                                  {.compression = distrib::Compression::gzip, .member_bytes = 50'000}};
  for (const std::string& one : payloads) writer.append(distrib::as_bytes(one));
  writer.close();
  const std::string bytes = support::read_file(directory / "file");
  distrib::GzipMembers members{distrib::as_bytes(bytes)};
  while (members.try_next()) {
  }
  CHECK(members.complete());
  CHECK(members.records() == 300);
}
#else
#include "record/payloads.hpp"
#include "support/catch.hpp"

TEST_CASE("ISA-L is not installed: nothing to test", "[record][isal]") { SUCCEED(); }
#endif

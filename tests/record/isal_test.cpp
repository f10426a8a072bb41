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

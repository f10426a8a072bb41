// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/file_split.hpp>

#include "support/catch.hpp"

#include <string>
#include <system_error>

using distrib::as_bytes;
using distrib::Error;
using distrib::hadoop_errc;
using distrib::hadoop::Bytes;
using distrib::hadoop::FileSplit;

TEST_CASE("FileSplit: as Hadoop serialises it", "[hadoop][file_split]") {
  // Recorded: hadoop/pipes/map_own_reader.downlink.
  using namespace std::string_literals;
  const std::string recorded = "+hdfs://localhost:19000/tfr/lines-0.tfrecord\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x16\x20"s;
  const FileSplit split = FileSplit::parse(as_bytes(recorded));
  CHECK(split == FileSplit{"hdfs://localhost:19000/tfr/lines-0.tfrecord", 0, 5664});
  CHECK(distrib::as_text(split.encode()) == recorded);
  const FileSplit other{"file:/a b/ü", 1ULL << 40, (1ULL << 62) + 5};
  CHECK(FileSplit::parse(other.encode()) == other);
}

TEST_CASE("FileSplit: refuses other bytes", "[hadoop][file_split]") {
  const Bytes good = FileSplit{"file:/a", 1, 2}.encode();
  for (std::size_t size = 0; size < good.size(); ++size) {
    Error error;
    CHECK(FileSplit::parse(distrib::ByteView{good}.first(size), error) == FileSplit{});
    CHECK(error.code == hadoop_errc::bad_split);
  }
  Bytes longer = good;
  longer.push_back({});
  CHECK_THROWS_AS(FileSplit::parse(longer), std::system_error);
  CHECK_THROWS_AS(FileSplit::parse(FileSplit{"", 1, 2}.encode()), std::system_error);
  CHECK_THROWS_AS(FileSplit::parse(FileSplit{"a", 1ULL << 63, 2}.encode()), std::system_error);
}

TEST_CASE("local_path: returns the paths of local files, refuses other names", "[hadoop][file_split]") {
  CHECK(distrib::hadoop::detail::local_path("file:/a/b c") == "/a/b c");
  CHECK(distrib::hadoop::detail::local_path("file:///a/b") == "/a/b");
  CHECK(distrib::hadoop::detail::local_path("/a/b") == "/a/b");
  for (const char* other : {"hdfs://h:1/a", "s3a://bucket/a", "file:a", "file://host/a", "a", ""}) {
    Error error;
    CHECK(distrib::hadoop::detail::local_path(other, error).empty());
    CHECK(error.code == hadoop_errc::unsupported_path);
  }
  CHECK_THROWS_AS(distrib::hadoop::detail::local_path("hdfs:/a"), std::system_error);
  Error error;
  CHECK(distrib::hadoop::detail::local_path("s3a://KEY:SECRET@bucket/a", error).empty());
  CHECK(error.where == "s3a://bucket/a");
}

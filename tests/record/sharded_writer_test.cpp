// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/sharded_writer.hpp>

#include <distrib/record/codec.hpp>
#include <distrib/record/record_reader.hpp>

#include "record/files.hpp"
#include "record/payloads.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <fcntl.h>
#include <stdio.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

using distrib::as_bytes;
using distrib::record_errc;
using distrib::ShardedRecordWriter;
using support::payloads_of;

namespace {

auto names_in(const std::filesystem::path& directory) -> std::set<std::string> {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator{directory}) names.insert(entry.path().filename());
  return names;
}

std::string refused_name;  // no file can get this name by `rename`

}  // namespace

// Takes the place of the function of the C library in this program.
extern "C" auto rename(const char* from, const char* to) noexcept -> int {
  if (refused_name == to) {
    errno = EIO;
    return -1;
  }
  return ::renameat(AT_FDCWD, from, AT_FDCWD, to);
}

TEST_CASE("shard_name: the usual names of shards", "[record][sharded_writer]") {
  CHECK(distrib::shard_name("train", 0, 10) == "train-00000-of-00010");
  CHECK(distrib::shard_name("/d/train.tfrecord", 12345, 99999) == "/d/train.tfrecord-12345-of-99999");
  CHECK(distrib::shard_name("", 3, 123456) == "-00003-of-123456");
}

TEST_CASE("ShardedRecordWriter: writes in turn, and to the shard that the caller names", "[record][sharded_writer]") {
  const support::TempDirectory directory;
  ShardedRecordWriter writer{directory / "train", 3};
  CHECK(writer.shards() == 3);
  for (const char* text : {"0", "1", "2", "3"}) writer.append(as_bytes(text));
  writer.append_to(2, as_bytes("told"));
  writer.append(as_bytes("4"));
  CHECK(writer.records() == 6);
  for (const std::string& name : names_in(directory.path())) CHECK(name.starts_with("."));  // none is visible yet
  writer.close();
  CHECK_NOTHROW(writer.close());
  CHECK(names_in(directory.path()) ==
        std::set<std::string>{"train-00000-of-00003", "train-00001-of-00003", "train-00002-of-00003"});
  CHECK(payloads_of(directory / "train-00000-of-00003") == std::vector<std::string>{"0", "3"});
  CHECK(payloads_of(directory / "train-00001-of-00003") == std::vector<std::string>{"1", "4"});
  CHECK(payloads_of(directory / "train-00002-of-00003") == std::vector<std::string>{"2", "told"});
  std::error_code ec;
  writer.append(as_bytes("late"), ec);
  CHECK(ec == record_errc::closed);
}

TEST_CASE("ShardedRecordWriter: options hold for every shard", "[record][sharded_writer]") {
  const support::TempDirectory directory;
  ShardedRecordWriter writer{directory / "train", 2, {.compression = distrib::Compression::gzip}};
  writer.append(as_bytes("one"));
  writer.close();
  CHECK(payloads_of(directory / "train-00000-of-00002") == std::vector<std::string>{"one"});
  CHECK(payloads_of(directory / "train-00001-of-00002").empty());  // a shard without records has a file too
  const std::string bytes = support::read_file(directory / "train-00001-of-00002");
  CHECK(distrib::detect_compression(as_bytes(bytes)) == distrib::Compression::gzip);
}

TEST_CASE("ShardedRecordWriter: without close() it leaves no files", "[record][sharded_writer]") {
  const support::TempDirectory directory;
  {
    ShardedRecordWriter first{directory / "train", 3};
    first.append(as_bytes("one"));
    ShardedRecordWriter second{std::move(first)};
    second.append(as_bytes("two"));
  }
  CHECK(names_in(directory.path()).empty());
}

TEST_CASE("ShardedRecordWriter: if one shard cannot be finished, none appears", "[record][sharded_writer]") {
  const support::TempDirectory directory;
  std::filesystem::create_directory(directory / "train-00001-of-00003");  // no file can be renamed to this name
  ShardedRecordWriter writer{directory / "train", 3, {.index = GENERATE(false, true)}};
  for (int i = 0; i < 3; ++i) writer.append(as_bytes("x"));
  CHECK_THROWS_WITH(writer.close(), ContainsSubstring("train-00001-of-00003"));
  CHECK(writer.error().code == std::errc::is_a_directory);
  {
    const ShardedRecordWriter gone{std::move(writer)};
  }
  CHECK(names_in(directory.path()) == std::set<std::string>{"train-00001-of-00003"});
}

TEST_CASE("ShardedRecordWriter: a shard that cannot be named leaves the file of before", "[record][sharded_writer]") {
  const support::TempDirectory directory;
  support::write_file(directory / "train-00001-of-00002", "of before");
  ShardedRecordWriter writer{directory / "train", 2};
  refused_name = directory / "train-00001-of-00002";
  CHECK_THROWS_WITH(writer.close(), ContainsSubstring(refused_name));
  refused_name.clear();
  CHECK(names_in(directory.path()) == std::set<std::string>{"train-00001-of-00002"});
  CHECK(support::read_file(directory / "train-00001-of-00002") == "of before");
}

TEST_CASE("ShardedRecordWriter: refuses 0 shards, a missing directory and an unknown shard",
          "[record][sharded_writer]") {
  const support::TempDirectory directory;
  CHECK_THROWS_WITH(ShardedRecordWriter(directory / "train", 0), ContainsSubstring("train: 0 shards"));
  CHECK_THROWS_WITH(ShardedRecordWriter(directory / "missing/train", 2), ContainsSubstring("No such file"));
  std::error_code ec;
  ShardedRecordWriter none{directory / "train", 0, {}, ec};
  CHECK(ec == record_errc::no_such_shard);
  none.append(as_bytes("x"), ec);
  CHECK(ec == record_errc::no_such_shard);
  ShardedRecordWriter writer{directory / "train", 2};
  CHECK_THROWS_WITH(writer.append_to(2, as_bytes("x")), ContainsSubstring("train: shard 2"));
  writer.close(ec);  // the first failure is final, so no file appears
  CHECK(ec == record_errc::no_such_shard);
}

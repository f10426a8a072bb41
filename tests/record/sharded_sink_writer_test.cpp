// SPDX-License-Identifier: Apache-2.0
#include <distrib/record/sharded_sink_writer.hpp>

#include "support/catch.hpp"

#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

using distrib::as_bytes;
using distrib::Error;
using distrib::record_errc;
using distrib::ShardPlace;

namespace {

struct ShardFiles {
  std::map<std::string, std::string> closed;
  std::vector<std::string> indexed;
  std::string cannot_open, cannot_close, cannot_index;
};

struct ShardSink {
  std::shared_ptr<ShardFiles> files;
  std::string name;
  std::string bytes = {};
  void write(distrib::ByteView more, Error& error) {
    error = {};
    bytes += distrib::as_text(more);
  }
  void close(Error& error) {
    error = {};
    if (name == files->cannot_close) error = {std::make_error_code(std::errc::no_space_on_device), name};
    else files->closed[name] = bytes;
  }
};

auto place_of(const std::shared_ptr<ShardFiles>& files) -> ShardPlace<ShardSink> {
  return {.open =
              [files](const std::string& name, Error& error) {
                error = {};
                if (name == files->cannot_open) error = {std::make_error_code(std::errc::permission_denied), name};
                return ShardSink{files, name};
              },
          .remove =
              [files](const std::string& name, Error& error) {
                error = {};
                files->closed.erase(name);
              },
          .write_index =
              [files](const distrib::SinkRecordWriter<ShardSink>& shard, Error& error) {
                error = {};
                if (shard.name() == files->cannot_index)
                  error = {std::make_error_code(std::errc::io_error), shard.name()};
                else files->indexed.push_back(shard.name() + ' ' + std::to_string(shard.offsets().back()));
              }};
}

using SinkWriter = distrib::ShardedSinkWriter<ShardSink>;

}  // namespace

TEST_CASE("ShardedSinkWriter: records in turn, files and then indexes at close", "[record]") {
  const auto files = std::make_shared<ShardFiles>();
  SinkWriter writer{"x://d/f", 2, place_of(files), {.index = true}};
  for (const char* const record : {"a", "bb", "ccc"}) writer.append(as_bytes(std::string_view{record}));
  Error error;
  writer.append_to(1, as_bytes(std::string_view{"dddd"}), error);
  CHECK_FALSE(error);
  CHECK(files->closed.empty());
  writer.close();
  writer.close();
  CHECK(writer.records() == 4);
  CHECK(writer.shards() == 2);
  REQUIRE(files->closed.size() == 2);
  CHECK(files->closed["x://d/f-00000-of-00002"].size() == 2 * 16 + 4);
  CHECK(files->closed["x://d/f-00001-of-00002"].size() == 2 * 16 + 6);
  CHECK(files->indexed == std::vector<std::string>{"x://d/f-00000-of-00002 36", "x://d/f-00001-of-00002 38"});
  writer.append({}, error);
  CHECK(error.code == record_errc::closed);

  SinkWriter plain{"g", 1, {.open = place_of(files).open}};
  plain.close();
  CHECK(files->closed.contains("g-00000-of-00001"));
  CHECK(files->indexed.size() == 2);
}

TEST_CASE("ShardedSinkWriter: all files or none", "[record]") {
  const auto files = std::make_shared<ShardFiles>();
  files->cannot_close = "f-00002-of-00003";
  SinkWriter writer{"f", 3, place_of(files)};
  Error error;
  writer.close(error);
  CHECK(error.code == std::errc::no_space_on_device);
  CHECK_THAT(error.where, ContainsSubstring("f-00002-of-00003"));
  CHECK(files->closed.empty());
  writer.append({}, error);
  CHECK(error.code == std::errc::no_space_on_device);

  files->cannot_index = "f-00001-of-00002";  // the files stay
  SinkWriter indexed{"f", 2, place_of(files), {.index = true}};
  indexed.close(error);
  CHECK(error.code == std::errc::io_error);
  CHECK(files->closed.size() == 2);

  SinkWriter two{"f", 2, place_of(files)};
  two.append_to(2, {}, error);
  CHECK(error.code == record_errc::no_such_shard);
  CHECK(two.error().where == "f-00000-of-00002: shard 2");
  CHECK_THROWS_AS((SinkWriter{"f", 0, place_of(files)}), std::system_error);
  files->cannot_open = "f-00001-of-00002";
  CHECK_THROWS_AS((SinkWriter{"f", 2, place_of(files)}), std::system_error);
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/cut/object_checkpoints.hpp>

#include <distrib/checkpoint/error.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/ps/cut/cut_object.hpp>
#include <distrib/record/error.hpp>

#include "ps/cut/object_parts.hpp"
#include "support/catch.hpp"
#include "support/map_objects.hpp"
#include "support/temp_directory.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

using namespace distrib;

namespace {

const CutObjectNames names_of_run{"run"};

// Adds the checkpoint of a step, of two shards.
void add_checkpoint(support::MapObjects& bucket, Step step) {
  std::vector<CheckpointCut> cuts;
  std::vector<BundleIndex> parts;
  Error error;
  for (std::uint32_t shard = 0; shard < 2; ++shard) {
    auto object = object_parts::object(shard, 2, 100 + shard, static_cast<std::int64_t>(step));
    const CutTail tail = parse_cut_footer(object, object.size(), error);
    cuts.push_back({{step, shard, 2, {1, 5}, 1}, object.size(), tail.table_crc});
    parts.push_back(parse_cut_table(object, tail, shard, 2, error));
    bucket.objects[names_of_run.cut(cuts.back().key)] = std::move(object);
  }
  auto index = encode_checkpoint_index(cuts, parts, error);
  throw_if(error);
  const std::string name = names_of_run.checkpoint({step, checkpoint_hash(index)});
  bucket.objects[name] = std::move(index);
}

}  // namespace

TEST_CASE("ObjectCheckpoints: whole checkpoints are listed and read; others are passed over", "[ps]") {
  const auto bucket = std::make_shared<support::MapObjects>();
  const OpenObjectStore open = support::map_stores(bucket);
  Error error;
  CHECK(newest_prefix("map://bucket/run", open, error).empty());
  CHECK_FALSE(error);
  for (const Step step : {5U, 10U, 20U}) add_checkpoint(*bucket, step);
  bucket->objects.erase(names_of_run.cut({20, 1, 2, {1, 5}, 1}));
  bucket->objects[names_of_run.checkpoint({30, 1})] = {std::byte{1}};
  CHECK(newest_prefix("map://bucket/run", open, error) == "map://bucket/run/model.ckpt-10");

  ObjectDirectory directory = open_directory("map://bucket/run", open, error);
  CHECK(ObjectCheckpoints{directory}.list(error).size() == 2);
  for (const char* const prefix : {"map://bucket/run/model.ckpt-10", "map://bucket/run/model.ckpt-10.0123.index"}) {
    const auto reader = open_checkpoint(prefix, open, error);
    REQUIRE(reader);
    CHECK(reader->prefix() == "map://bucket/run/model.ckpt-10");
    std::vector<std::int64_t> values(2);
    reader->read("v", Slice::whole({2}), std::as_writable_bytes(std::span{values}));
    CHECK(values == std::vector<std::int64_t>{100, 101});
    reader->verify();
  }
  CHECK_FALSE(open_checkpoint("map://bucket/run/model.ckpt-20", open, error));
  CHECK(error.code == checkpoint_errc::no_such_checkpoint);
  CHECK_FALSE(open_checkpoint("map://bucket/run/best", open, error));
  CHECK(error.code == checkpoint_errc::no_such_checkpoint);

  bucket->objects[names_of_run.cut({10, 1, 2, {1, 5}, 1})].front() ^= std::byte{1};
  const auto damaged = open_checkpoint("map://bucket/run/model.ckpt-10", open, error);
  REQUIRE(damaged);
  damaged->verify(error);
  CHECK(error.code == checkpoint_errc::corrupt_data);
  CHECK(error.where.find("run/cuts/") != std::string::npos);

  bucket->fail = [](const std::string&) { return support::MapObjects::away(); };
  CHECK(newest_prefix("map://bucket/run", open, error).empty());
  CHECK(error.code == failure::unavailable);
}

TEST_CASE("open_checkpoint, newest_prefix: paths are paths; a URL needs something that opens it", "[ps]") {
  const support::TempDirectory folder;
  Error error;
  CHECK(newest_prefix(folder.path().string(), {}, error).empty());
  CHECK_FALSE(error);
  CHECK_FALSE(open_checkpoint((folder.path() / "model.ckpt-1").string(), {}, error));
  CHECK(error.code == checkpoint_errc::no_such_checkpoint);
  CHECK_FALSE(open_checkpoint("s3://bucket/model.ckpt-1", {}, error));
  CHECK(error.code == distrib::record_errc::no_object_store);
}

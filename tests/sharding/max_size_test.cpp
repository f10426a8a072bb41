// SPDX-License-Identifier: Apache-2.0
#include <distrib/sharding/max_size.hpp>

#include <distrib/sharding/error.hpp>

#include "support/catch.hpp"

using distrib::DType;
using distrib::MaxSizePartitioner;
using distrib::Partition;
using distrib::Shape;
static_assert(distrib::Partitioner<MaxSizePartitioner>);

TEST_CASE("MaxSizePartitioner: as few parts as possible within the size", "[sharding]") {
  struct Case {
    MaxSizePartitioner partitioner;
    Shape shape;
    DType dtype;
    Partition partition;
  };
  const Case cases[] = {
      {{.max_shard_bytes = 4}, {6, 1}, DType::float32, {0, 6}},
      {{.max_shard_bytes = 4, .max_shards = 2}, {6, 1}, DType::float32, {0, 2}},
      {{.max_shard_bytes = 1024}, {6, 1}, DType::float32, {0, 1}},
      {{.max_shard_bytes = 8}, {6, 1}, DType::float32, {0, 3}},
      {{.max_shard_bytes = 11}, {7}, DType::float32, {0, 4}},  // two rows per part, and one row in the last
      {{.max_shard_bytes = 1}, {3, 1 << 20}, DType::float32, {0, 3}},  // each row alone is too large
      {{.max_shard_bytes = 64, .axis = 1}, {4, 16}, DType::float32, {1, 4}},
      {{.max_shard_bytes = 64, .axis = 1}, {4, 16}, DType::float64, {1, 8}},
      {{.max_shard_bytes = 32}, {7}, DType::string, {0, 4}},
      {{.max_shard_bytes = 32, .bytes_per_string = 33}, {7}, DType::string, {0, 7}},
      {{.max_shard_bytes = 4, .max_shards = 9}, {6, 1}, DType::float32, {0, 6}},
      {{.max_shard_bytes = 1}, {0, 4}, DType::float32, {0, 1}},
      {{.max_shard_bytes = 1}, {4, 0}, DType::float32, {0, 1}},
      {{}, {16 << 20, 2}, DType::float32, {0, 2}},
      {{.max_shard_bytes = std::int64_t{1} << 62}, {4, std::int64_t{1} << 60}, DType::float64, {0, 4}},  // over 2^63
  };
  for (const Case& c : cases) {
    CAPTURE(to_string(c.shape), c.partitioner.max_shard_bytes);
    CHECK(c.partitioner.partition(c.shape, c.dtype) == c.partition);
  }
}

TEST_CASE("MaxSizePartitioner: errors name the member", "[sharding]") {
  struct Case {
    MaxSizePartitioner partitioner;
    std::error_code code;
    std::string text;
  };
  const Case cases[] = {
      {{.max_shard_bytes = 0}, distrib::sharding_errc::not_positive, "MaxSizePartitioner::max_shard_bytes: must be"},
      {{.max_shards = -1}, distrib::sharding_errc::not_positive, "MaxSizePartitioner::max_shards: must be"},
      {{.bytes_per_string = 0}, distrib::sharding_errc::not_positive, "MaxSizePartitioner::bytes_per_string: must be"},
      {{.axis = 1}, distrib::sharding_errc::no_such_axis, "axis 1 of [8]"},
  };
  for (const Case& c : cases) {
    std::error_code ec;
    CHECK(c.partitioner.partition({8}, DType::float32, ec) == Partition{});
    CHECK(ec == c.code);
    CHECK_THROWS_WITH(c.partitioner.partition({8}, DType::float32), ContainsSubstring(c.text));
  }
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/sharding/min_size.hpp>

#include <distrib/sharding/error.hpp>

#include "support/catch.hpp"

using distrib::DType;
using distrib::MinSizePartitioner;
using distrib::Partition;
using distrib::Shape;
static_assert(distrib::Partitioner<MinSizePartitioner>);

TEST_CASE("MinSizePartitioner: bytes divided by the minimum, rounded up, limited by rows and maximum", "[sharding]") {
  struct Case {
    MinSizePartitioner partitioner;
    Shape shape;
    DType dtype;
    Partition partition;
  };
  const Case cases[] = {
      {{.max_shards = 16}, {2048, 1024}, DType::float32, {0, 16}},
      {{.max_shards = 100}, {2048, 1024}, DType::float32, {0, 32}},
      {{.max_shards = 100}, {2048, 1024}, DType::float64, {0, 64}},
      // 4 bytes too many: two parts, both smaller than the minimum
      {{.max_shards = 100}, {65537}, DType::float32, {0, 2}},
      {{.max_shards = 100}, {65536}, DType::float32, {0, 1}},
      {{.max_shards = 100}, {4, 1 << 20}, DType::float32, {0, 4}},
      {{.max_shards = 100, .axis = 1}, {4, 1 << 20}, DType::float32, {1, 64}},
      {{.min_shard_bytes = 64 << 10, .max_shards = 2}, {784, 128}, DType::float32, {0, 2}},
      {{}, {1 << 20}, DType::float32, {0, 1}},
      {{.max_shards = 8}, {0, 10}, DType::float32, {0, 1}},
      {{.min_shard_bytes = 32, .max_shards = 8}, {6}, DType::string, {0, 3}},
      {{.min_shard_bytes = 32, .max_shards = 8, .bytes_per_string = 32}, {6}, DType::string, {0, 6}},
      {{.min_shard_bytes = 1, .max_shards = 7}, {std::int64_t{1} << 61}, DType::float64, {0, 7}},  // over 2^63 bytes
  };
  for (const Case& c : cases) {
    CAPTURE(to_string(c.shape));
    CHECK(c.partitioner.partition(c.shape, c.dtype) == c.partition);
  }
}

TEST_CASE("MinSizePartitioner: errors name the member", "[sharding]") {
  struct Case {
    MinSizePartitioner partitioner;
    std::error_code code;
    std::string text;
  };
  const Case cases[] = {
      {{.min_shard_bytes = 0}, distrib::sharding_errc::not_positive, "MinSizePartitioner::min_shard_bytes: must be"},
      {{.max_shards = 0}, distrib::sharding_errc::not_positive, "MinSizePartitioner::max_shards: must be"},
      {{.bytes_per_string = -1}, distrib::sharding_errc::not_positive, "MinSizePartitioner::bytes_per_string: must be"},
      {{.axis = 1}, distrib::sharding_errc::no_such_axis, "axis 1 of [8]"},
  };
  for (const Case& c : cases) {
    std::error_code ec;
    CHECK(c.partitioner.partition({8}, DType::float32, ec) == Partition{});
    CHECK(ec == c.code);
    CHECK_THROWS_WITH(c.partitioner.partition({8}, DType::float32), ContainsSubstring(c.text));
  }
}

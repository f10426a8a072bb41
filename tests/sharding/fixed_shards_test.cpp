// SPDX-License-Identifier: Apache-2.0
#include <distrib/sharding/fixed_shards.hpp>

#include <distrib/sharding/error.hpp>

#include "support/catch.hpp"

using distrib::DType;
using distrib::FixedShardsPartitioner;
using distrib::Partition;
static_assert(distrib::Partitioner<FixedShardsPartitioner>);

TEST_CASE("FixedShardsPartitioner: the requested number, or the number of rows", "[sharding]") {
  CHECK(FixedShardsPartitioner{5}.partition({10, 10}, DType::float32) == Partition{0, 5});
  CHECK(FixedShardsPartitioner{5}.partition({3}, DType::float32) == Partition{0, 3});
  CHECK(FixedShardsPartitioner{.num_shards = 4, .axis = 1}.partition({2, 8}, DType::float32) == Partition{1, 4});
  CHECK(FixedShardsPartitioner{3}.partition({0, 8}, DType::float32) == Partition{0, 1});
  CHECK(FixedShardsPartitioner{}.partition({8}, DType::float32) == Partition{0, 1});
}

TEST_CASE("FixedShardsPartitioner: errors", "[sharding]") {
  std::error_code ec;
  CHECK(FixedShardsPartitioner{0}.partition({8}, DType::float32, ec) == Partition{});
  CHECK(ec == distrib::sharding_errc::not_positive);
  CHECK(FixedShardsPartitioner{2, 1}.partition({8}, DType::float32, ec) == Partition{});
  CHECK(ec == distrib::sharding_errc::no_such_axis);
  CHECK_THROWS_WITH(FixedShardsPartitioner{-1}.partition({8}, DType::float32), ContainsSubstring("num_shards: must"));
  CHECK_THROWS_WITH((FixedShardsPartitioner{2, 1}.partition({8}, DType::float32)), ContainsSubstring("axis 1 of [8]"));
  CHECK_THROWS_WITH(FixedShardsPartitioner{2}.partition({}, DType::float32), ContainsSubstring("axis 0 of []"));
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/sharding/range_sharding.hpp>

#include <distrib/sharding/part_slices.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <vector>

using distrib::RangeSharding;
using distrib::ShardRow;
static_assert(distrib::RowSharding<RangeSharding>);

TEST_CASE("RangeSharding: locate assigns consecutive rows to each shard, row_at is its inverse", "[sharding]") {
  for (const std::int64_t rows : {0, 1, 4, 5, 13, 100})
    for (const std::uint32_t shards : {1U, 2U, 5U, 13U}) {
      CAPTURE(rows, shards);
      const RangeSharding sharding{rows, shards};
      CHECK(sharding.rows() == rows);
      CHECK(sharding.num_shards() == shards);
      std::vector<ShardRow> places;
      for (std::uint32_t shard = 0; shard < shards; ++shard) {
        CHECK(sharding.rows_of(shard) == rows / shards + (shard < rows % shards ? 1 : 0));
        CHECK(sharding.first_row(shard) == static_cast<std::int64_t>(places.size()));
        for (std::int64_t row = 0; row < sharding.rows_of(shard); ++row) places.push_back({shard, row});
      }
      REQUIRE(places.size() == static_cast<std::size_t>(rows));
      CHECK(sharding.first_row(shards) == rows);
      for (std::int64_t row = 0; row < rows; ++row) {
        const ShardRow place = places[static_cast<std::size_t>(row)];
        CHECK(sharding.locate(row) == place);
        CHECK(sharding.shard(static_cast<std::uint64_t>(row)) == place.shard);
        CHECK(sharding.row_at(place) == row);
      }
      for (const std::uint64_t beyond : {static_cast<std::uint64_t>(rows), ~std::uint64_t{0}})
        CHECK(sharding.shard(beyond) == shards - 1);
    }
}

TEST_CASE("RangeSharding: the layout of part_slices and of TensorFlow", "[sharding]") {
  for (const std::int64_t rows : {5, 13, 32, 100}) {
    const RangeSharding sharding{rows, 5};
    const auto slices = distrib::part_slices({rows}, distrib::Partition{0, 5});
    for (std::uint32_t shard = 0; shard < 5; ++shard) {
      CHECK(slices[shard].start[0] == sharding.first_row(shard));
      CHECK(slices[shard].extents[0] == sharding.rows_of(shard));
    }
    const std::int64_t even = rows / 5;
    const std::int64_t extra = rows % 5;
    for (std::int64_t row = 0; row < rows; ++row)  // embedding_ops.py
      CHECK(sharding.locate(row).shard == std::max(row / (even + 1), (row - extra) / even));
  }
}

TEST_CASE("RangeSharding: without a shard it fails", "[sharding]") {
  std::error_code ec;
  CHECK(RangeSharding(10, 0, ec) == RangeSharding{0, 1});
  CHECK(ec == distrib::sharding_errc::not_positive);
  CHECK(RangeSharding(10, 2, ec).rows() == 10);
  CHECK_FALSE(ec);
  CHECK_THROWS_WITH((RangeSharding{10, 0}), ContainsSubstring("RangeSharding::num_shards: must be at least 1"));
}

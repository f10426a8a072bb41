// SPDX-License-Identifier: Apache-2.0
#include <distrib/sharding/mod_sharding.hpp>

#include "support/catch.hpp"

#include <vector>

using distrib::ModSharding;
using distrib::ShardRow;
static_assert(distrib::RowSharding<ModSharding>);

TEST_CASE("ModSharding: locate assigns rows to shards in turn, row_at is its inverse", "[sharding]") {
  for (const std::int64_t rows : {0, 1, 4, 5, 13, 100})
    for (const std::uint32_t shards : {1U, 2U, 5U, 13U}) {
      CAPTURE(rows, shards);
      const ModSharding sharding{rows, shards};
      CHECK(sharding.rows() == rows);
      CHECK(sharding.num_shards() == shards);
      std::vector<std::int64_t> count(shards);
      for (std::int64_t row = 0; row < rows; ++row) {
        const ShardRow place = sharding.locate(row);
        CHECK(place == ShardRow{static_cast<std::uint32_t>(row % shards), row / shards});
        CHECK(place.shard == sharding.shard(static_cast<std::uint64_t>(row)));
        CHECK(place.row == count[place.shard]++);
        CHECK(sharding.row_at(place) == row);
      }
      for (std::uint32_t shard = 0; shard < shards; ++shard) CHECK(sharding.rows_of(shard) == count[shard]);
    }
  CHECK(ModSharding{10, 3}.shard(~std::uint64_t{0}) == 0);  // any key: 2^64 - 1 is a multiple of 3
}

TEST_CASE("ModSharding: without a shard it fails", "[sharding]") {
  std::error_code ec;
  CHECK(ModSharding(10, 0, ec) == ModSharding{0, 1});
  CHECK(ec == distrib::sharding_errc::not_positive);
  CHECK(ModSharding(10, 2, ec).rows() == 10);
  CHECK_FALSE(ec);
  CHECK_THROWS_WITH((ModSharding{10, 0}), ContainsSubstring("ModSharding::num_shards: must be at least 1"));
}

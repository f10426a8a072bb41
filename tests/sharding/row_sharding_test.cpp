// SPDX-License-Identifier: Apache-2.0
#include <distrib/sharding/row_sharding.hpp>

#include "support/catch.hpp"

#include <limits>
#include <vector>

using distrib::locate_rows;
using distrib::ShardRow;
using Rows = std::vector<std::int64_t>;

namespace {
/// Ten rows, the last one on its own shard: a user's sharding.
struct LastApart {
  auto num_shards() const -> std::uint32_t { return 2; }
  auto shard(std::uint64_t key) const -> std::uint32_t { return key < 9 ? 0 : 1; }
  auto rows() const -> std::int64_t { return 10; }
  auto locate(std::int64_t row) const -> ShardRow { return row < 9 ? ShardRow{0, row} : ShardRow{1, 0}; }
};
}  // namespace

TEST_CASE("locate_rows: returns where each row is", "[sharding]") {
  static_assert(distrib::RowSharding<LastApart>);
  std::vector<ShardRow> places(3);
  locate_rows(LastApart{}, Rows{3, 9, 3}, places);
  CHECK(places == std::vector<ShardRow>{{0, 3}, {1, 0}, {0, 3}});
  locate_rows(LastApart{}, {}, {});
}

TEST_CASE("locate_rows: refuses rows that do not exist", "[sharding]") {
  for (const std::int64_t row : {std::int64_t{10}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    std::vector<ShardRow> places(3, ShardRow{7, 7});
    std::error_code ec;
    locate_rows(LastApart{}, Rows{4, row, 5}, places, ec);
    CHECK(ec == distrib::sharding_errc::no_such_row);
    CHECK(places == std::vector<ShardRow>{{0, 4}, {7, 7}, {7, 7}});
    CHECK_THROWS_WITH(locate_rows(LastApart{}, Rows{4, row, 5}, places),
                      ContainsSubstring("one of 3 rows, of 10: the index is out of bounds"));
  }
}

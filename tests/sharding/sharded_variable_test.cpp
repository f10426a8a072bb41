// SPDX-License-Identifier: Apache-2.0
#include <distrib/sharding/sharded_variable.hpp>

#include <distrib/sharding/fixed_shards.hpp>
#include <distrib/sharding/part_slices.hpp>

#include "support/catch.hpp"

#include <limits>
#include <optional>
#include <vector>

using distrib::DType;
using distrib::Partition;
using distrib::RangeSharding;
using RowRange = distrib::ShardedVariable::RowRange;
using distrib::Shape;
using distrib::ShardedVariable;
using distrib::sharding_errc;
using ShardRange = distrib::ShardedVariable::ShardRange;
using distrib::ShardRow;
using distrib::VariableInfo;
using Numbers = std::vector<std::int64_t>;
using Ranges = std::vector<ShardRange>;

namespace {

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

auto shards_of(const std::vector<Shape>& shapes) -> std::vector<VariableInfo> {
  std::vector<VariableInfo> shards;
  for (const Shape& shape : shapes) shards.push_back({.name = "part", .shape = shape});
  return shards;
}

auto with_rows(const Numbers& rows) -> ShardedVariable {
  std::vector<Shape> shapes;
  for (const std::int64_t count : rows) shapes.push_back({count, 2});
  return ShardedVariable{shards_of(shapes)};
}

auto offsets(const ShardedVariable& variable) -> Numbers {
  return {variable.offsets().begin(), variable.offsets().end()};
}

/// Returns the rows of the whole that `ranges` contain, in order. Checks that each range has at least one row and is
/// inside its shard.
auto rows_in(const ShardedVariable& variable, const Ranges& ranges) -> Numbers {
  Numbers rows;
  for (const ShardRange& range : ranges) {
    CHECK(range.count() > 0);
    const std::int64_t last = range.start + (range.count() - 1) * range.step;
    CHECK((range.step > 0 ? last < range.stop : last > range.stop));
    for (std::int64_t i = 0; i < range.count(); ++i)
      rows.push_back(variable.offsets()[range.shard] + range.start + i * range.step);
  }
  return rows;
}

/// Computes the same row by row.
auto walked(std::int64_t count, const RowRange& range) -> Numbers {
  const auto from_end = [&](std::int64_t index) { return index < 0 ? index + count : index; };
  const bool up = range.step > 0;
  const std::int64_t start = range.start ? from_end(*range.start) : up ? 0 : count - 1;
  const std::int64_t stop = range.stop ? from_end(*range.stop) : up ? count : -1;
  Numbers rows;
  for (std::int64_t row = start; up ? row < stop && row < count : row > stop && row >= 0; row += range.step)
    if (row >= 0 && row < count) rows.push_back(row);
  return rows;
}

}  // namespace

TEST_CASE("ShardedVariable: shape and offsets of the whole", "[sharding]") {
  const ShardedVariable variable{shards_of({{10, 100}, {15, 100}, {5, 100}})};
  CHECK(variable.shape() == Shape{30, 100});
  CHECK(variable.dtype() == DType::float32);
  CHECK(variable.rows() == 30);
  CHECK(variable.num_shards() == 3);
  CHECK(offsets(variable) == Numbers{0, 10, 25, 30});
  CHECK(offsets(with_rows({0, 2, 0})) == Numbers{0, 0, 2, 2});
}

TEST_CASE("ShardedVariable: a partition makes the shards of part_slices", "[sharding]") {
  const distrib::FixedShardsPartitioner four{4};
  const Shape shape{10, 3};
  const ShardedVariable variable{shape, DType::float64, four.partition(shape, DType::float64)};
  CHECK(variable.dtype() == DType::float64);
  CHECK(variable.shape() == shape);
  CHECK(offsets(variable) == Numbers{0, 3, 6, 8, 10});
  const auto slices = distrib::part_slices(shape, DType::float64, four);
  for (std::size_t part = 0; part < slices.size(); ++part) CHECK(slices[part].start[0] == variable.offsets()[part]);
  CHECK(offsets(ShardedVariable{{7}, DType::float32, Partition{.axis = 1}}) == Numbers{0, 7});
  CHECK(offsets(ShardedVariable{{0, 7}, DType::float32, {}}) == Numbers{0, 0});
}

TEST_CASE("ShardedVariable: refuses shards that do not belong to one variable", "[sharding]") {
  struct Case {
    std::vector<VariableInfo> shards;
    sharding_errc code;
    std::string text;
  };
  const Case cases[] = {
      {{}, sharding_errc::not_positive, "ShardedVariable of: must be at least 1"},
      {shards_of({{}, {}}), sharding_errc::no_such_axis, "float32[] float32[]: the variable has no"},
      {shards_of({{10, 100}, {15, 99}}), sharding_errc::unlike_shards, "float32[10,100] float32[15,99]: all shards"},
      {shards_of({{10, 100}, {15}}), sharding_errc::unlike_shards, "float32[15]: all shards"},
      {shards_of({{10}, {}}), sharding_errc::unlike_shards, "float32[]: all shards"},
      {{{.name = "a", .shape = {1}}, {.name = "b", .dtype = DType::float64, .shape = {1}}},
       sharding_errc::unlike_shards,
       "float32[1] float64[1]: all shards must have the same element type"},
      {shards_of({{std::int64_t{1} << 60, 4}, {1, 4}}), sharding_errc::too_large, "more elements than"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    std::error_code ec;
    CHECK(ShardedVariable(c.shards, ec).rows() == 0);
    CHECK(ec == c.code);
    CHECK_THROWS_WITH(ShardedVariable{c.shards}, ContainsSubstring(c.text));
  }
}

TEST_CASE("ShardedVariable: refuses partitions that do not fit", "[sharding]") {
  struct Case {
    Shape shape;
    Partition partition;
    sharding_errc code;
    std::string text;
  };
  const Case cases[] = {
      {{4, 4}, {1, 2}, sharding_errc::not_axis_0, "2 shards along axis 1 of [4,4]: the variable must be divided along"},
      {{4}, {0, 0}, sharding_errc::not_positive, "0 shards along axis 0 of [4]: must"},
      {{4}, {0, 5}, sharding_errc::too_many_parts, "5 shards along axis 0 of [4]: more"},
      {{}, {0, 1}, sharding_errc::no_such_axis, "1 shards along axis 0 of []: the variable has no"},
      {{most / 4}, {0, most / 8}, sharding_errc::too_many_parts, "more parts than"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    std::error_code ec;
    CHECK(ShardedVariable(c.shape, DType::float32, c.partition, ec).rows() == 0);
    CHECK(ec == c.code);
    CHECK_THROWS_WITH((ShardedVariable{c.shape, DType::float32, c.partition}), ContainsSubstring(c.text));
  }
}

TEST_CASE("ShardedVariable: locate returns where a row is", "[sharding]") {
  const ShardedVariable variable = with_rows({3, 0, 3, 4});
  const std::vector<ShardRow> places{{0, 0}, {0, 1}, {0, 2}, {2, 0}, {2, 1}, {2, 2}, {3, 0}, {3, 1}, {3, 2}, {3, 3}};
  for (std::int64_t row = 0; row < 10; ++row) {
    CAPTURE(row);
    CHECK(variable.locate(row) == places[static_cast<std::size_t>(row)]);
    CHECK(variable.locate(row - 10) == places[static_cast<std::size_t>(row)]);
  }
  std::error_code ec;
  for (const std::int64_t row : {std::int64_t{10}, std::int64_t{-11}, least, most}) {
    CAPTURE(row);
    CHECK(variable.locate(row, ec) == ShardRow{});
    CHECK(ec == sharding_errc::no_such_row);
  }
  CHECK(variable.locate(-1, ec) == ShardRow{3, 3});
  CHECK_FALSE(ec);
  CHECK_THROWS_WITH(variable.locate(10), ContainsSubstring("row 10 of [10,2]: the index is out of bounds"));
  CHECK_THROWS_WITH(with_rows({0}).locate(0), ContainsSubstring("row 0 of [0,2]"));
}

TEST_CASE("ShardedVariable: slice returns the rows of a range, shard by shard", "[sharding]") {
  const ShardedVariable variable = with_rows({3, 3, 4});
  struct Case {
    RowRange range;
    Ranges ranges;
  };
  const Case cases[] = {
      {{}, {{0, 0, 3, 1}, {1, 0, 3, 1}, {2, 0, 4, 1}}},
      {{.start = 2, .stop = 8, .step = 3}, {{0, 2, 3, 3}, {1, 2, 3, 3}}},
      {{.start = 9, .stop = 3, .step = -2}, {{2, 3, -1, -2}, {1, 2, 0, -2}}},
      {{.start = -3}, {{2, 1, 4, 1}}},
      {{.step = -1}, {{2, 3, -1, -1}, {1, 2, -1, -1}, {0, 2, -1, -1}}},
      {{.start = 5, .stop = 5}, {}},
      {{.start = 10}, {}},
      {{.start = -12, .step = 5}, {{1, 0, 3, 5}, {2, 2, 4, 5}}},
      {{.start = 20, .step = -3}, {{2, 2, -1, -3}, {1, 2, -1, -3}, {0, 2, -1, -3}}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.range.start.value_or(-99), c.range.stop.value_or(-99), c.range.step);
    CHECK(variable.slice(c.range) == c.ranges);
  }
}

TEST_CASE("ShardRange: count returns the number of rows", "[sharding]") {
  CHECK(ShardRange{0, 2, 8, 3}.count() == 2);
  CHECK(ShardRange{0, 2, 9, 3}.count() == 3);
  CHECK(ShardRange{0, 3, -1, -2}.count() == 2);
  CHECK(ShardRange{0, 0, -1, least}.count() == 1);
  CHECK(ShardRange{0, 0, most, most}.count() == 1);
}

TEST_CASE("ShardedVariable: every slice has the same rows as a loop over the range", "[sharding]") {
  std::vector<std::optional<std::int64_t>> ends{std::nullopt};
  for (std::int64_t end = -13; end <= 13; ++end) ends.emplace_back(end);
  int slices = 0;
  for (const Numbers& layout : {Numbers{3, 3, 4}, Numbers{0, 3, 0, 0, 4, 0}, Numbers{1}, Numbers{0}, Numbers{0, 1}}) {
    const ShardedVariable variable = with_rows(layout);
    for (const auto& start : ends)
      for (const auto& stop : ends)
        for (const std::int64_t step : {1, 2, 3, 5, 11, -1, -2, -3, -5, -11}) {
          const RowRange range{start, stop, step};
          const Numbers rows = rows_in(variable, variable.slice(range));
          if (++slices; rows == walked(variable.rows(), range)) continue;
          CAPTURE(layout, start.value_or(-99), stop.value_or(-99), step);
          FAIL("other rows");
        }
  }
  CHECK(slices == 5 * 28 * 28 * 10);
}

TEST_CASE("ShardedVariable: slices with extreme numbers", "[sharding]") {
  const ShardedVariable variable = with_rows({3, 3, 4});
  const auto rows = [&](const RowRange& range) { return rows_in(variable, variable.slice(range)); };
  const Numbers all{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Numbers back{all.rbegin(), all.rend()};
  CHECK(rows({least, most, 1}) == all);
  CHECK(rows({most, least, -1}) == back);
  CHECK(rows({0, std::nullopt, most}) == Numbers{0});
  CHECK(rows({9, std::nullopt, least}) == Numbers{9});
  CHECK(rows({least, std::nullopt, most}) == Numbers{9});  // 10 - 2^63, and one step of 2^63 - 1
  CHECK(rows({most, std::nullopt, least}).empty());       // 2^63 - 1, and one step of -2^63
  CHECK(rows({most, std::nullopt, 1}).empty());
  CHECK(rows({least, std::nullopt, -1}).empty());
}

TEST_CASE("ShardedVariable: refuses a step of zero", "[sharding]") {
  std::error_code ec;
  CHECK(with_rows({3}).slice({0, 3, 0}, ec).empty());
  CHECK(ec == sharding_errc::zero_step);
  CHECK_THROWS_WITH(with_rows({3}).slice({0, 3, 0}),
                    ContainsSubstring("a slice of [3,2]: the slice step cannot be zero"));
}

TEST_CASE("ShardedVariable: sharding works only if the first shards have the extra rows", "[sharding]") {
  CHECK(with_rows({11, 11, 10}).sharding() == RangeSharding{32, 3});
  CHECK(with_rows({1, 1, 0}).sharding() == RangeSharding{2, 3});
  std::error_code ec;
  for (const Numbers& layout : {Numbers{2, 5, 3}, Numbers{3, 3, 4}, Numbers{0, 1}, Numbers{4, 2}}) {
    CHECK(with_rows(layout).sharding(ec).rows() == with_rows(layout).rows());
    CHECK(ec == sharding_errc::not_div_layout);
  }
  CHECK_THROWS_WITH(with_rows({2, 5, 3}).sharding(), ContainsSubstring("scatter on [10,2]: the rows do not have the"));
}

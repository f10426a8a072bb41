// SPDX-License-Identifier: Apache-2.0
#include <distrib/sharding/sharded_values.hpp>

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/bundle_writer.hpp>
#include <distrib/checkpoint/perform.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"

#include <cstdint>
#include <numeric>
#include <vector>

using distrib::DType;
using distrib::RowOrder;
using distrib::RowUpdate;
using distrib::Shape;
using distrib::ShardedVariable;
using distrib::sharding_errc;
using Values = distrib::ShardedValues<float>;
using Floats = std::vector<float>;
using Indices = std::vector<std::int64_t>;

namespace {

/// Row i holds 10 i and 10 i + 1.
auto counted(std::int64_t rows, std::int64_t parts) -> Values {
  Values values{ShardedVariable{Shape{rows, 2}, DType::float32, {0, parts}}};
  Floats whole;
  for (std::int64_t row = 0; row < rows; ++row)
    for (int column = 0; column < 2; ++column) whole.push_back(static_cast<float>(10 * row + column));
  values.assign(whole);
  return values;
}

/// One column, with this number of rows in each shard; row i holds i.
auto uneven(const Indices& rows) -> Values {
  std::vector<distrib::VariableInfo> shards;
  for (const std::int64_t count : rows) shards.push_back({.name = {}, .shape = {count}});
  Values values{ShardedVariable{shards}};
  Floats whole(static_cast<std::size_t>(values.variable().rows()));
  std::iota(whole.begin(), whole.end(), 0.0F);
  values.assign(whole);
  return values;
}

auto as_vector(std::span<const float> row) -> Floats { return {row.begin(), row.end()}; }

}  // namespace

TEST_CASE("ShardedValues: the whole is read and written across shards", "[sharding][sharded_values]") {
  Values values = counted(5, 3);  // shards of 2, 2 and 1 rows
  CHECK(as_vector(values.shard(1)) == Floats{20, 21, 30, 31});
  CHECK(as_vector(values.row(-1)) == Floats{40, 41});
  CHECK(as_vector(values.row(2)) == Floats{20, 21});
  CHECK(values.values() == Floats{0, 1, 10, 11, 20, 21, 30, 31, 40, 41});
  values.assign(Floats(10, 1), RowUpdate::add);
  CHECK(as_vector(values.row(4)) == Floats{41, 42});
  values.assign(Floats(10, 2), RowUpdate::sub);
  CHECK(as_vector(values.row(0)) == Floats{-1, 0});

  const Values before = values;
  std::error_code ec;
  values.assign(Floats(9), RowUpdate::update, ec);
  CHECK(ec == sharding_errc::wrong_size);
  CHECK(values == before);
  CHECK_THROWS_WITH(values.assign(Floats(11)), ContainsSubstring("more or fewer values"));
  CHECK(values.row(5, ec).empty());
  CHECK(ec == sharding_errc::no_such_row);
  CHECK_THROWS_WITH(values.row(-6), ContainsSubstring("out of bounds"));
}

TEST_CASE("ShardedValues: ranges with any step, in any layout", "[sharding][sharded_values]") {
  const Values values = uneven({3, 0, 3, 4});
  CHECK(values.rows({}) == values.values());
  CHECK(values.rows({.start = 1, .stop = 8, .step = 3}) == Floats{1, 4, 7});
  CHECK(values.rows({.step = -4}) == Floats{9, 5, 1});
  CHECK(values.rows({.start = -2}) == Floats{8, 9});
  CHECK(values.rows({.start = 7, .stop = 3}).empty());
  CHECK_THROWS_WITH(values.rows({.step = 0}), ContainsSubstring("the slice step cannot be zero"));
}

TEST_CASE("ShardedValues: each scatter operation applies to repeated rows in turn", "[sharding][sharded_values]") {
  struct Case {
    RowUpdate update;
    Floats expected;  // rows 1 and 4 afterwards; before, they hold 10, 11 and 40, 41
  };
  const Case cases[] = {
      {RowUpdate::update, {5, 6, 1, 100}},
      {RowUpdate::add, {17, 20, 41, 141}},
      {RowUpdate::sub, {3, 2, 39, -59}},
      {RowUpdate::mul, {100, 198, 40, 4100}},
      {RowUpdate::div, {1, 11.0F / 18, 40, 0.41F}},
      {RowUpdate::min, {2, 3, 1, 41}},
      {RowUpdate::max, {10, 11, 40, 100}},
  };
  for (const Case& c : cases) {
    CAPTURE(static_cast<int>(c.update));
    Values values = counted(5, 3);
    values.scatter(c.update, Indices{1, 4, 1}, Floats{2, 3, 1, 100, 5, 6});
    const Floats rows = values.sparse_read(Indices{1, 4});
    REQUIRE(rows.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) CHECK(rows[i] == Approx(c.expected[i]));
    CHECK(values.sparse_read(Indices{0, 2, 3}) == Floats{0, 1, 20, 21, 30, 31});  // the others are unchanged
  }
}

TEST_CASE("ShardedValues: a sparse read in the order of the indices, or in TensorFlow's",
          "[sharding][sharded_values]") {
  const Values values = uneven({4, 4, 3});
  const Indices indices{10, 4, 0, 9, 4};
  CHECK(values.sparse_read(indices) == Floats{10, 4, 0, 9, 4});
  CHECK(values.sparse_read(indices, RowOrder::by_shard) == Floats{0, 4, 4, 10, 9});
  CHECK(values.sparse_read({}).empty());
}

TEST_CASE("ShardedValues: a failed sparse operation changes nothing", "[sharding][sharded_values]") {
  std::error_code ec;
  Values div = counted(5, 3);
  const Values before = div;
  div.scatter(RowUpdate::add, Indices{0, 5}, Floats{1, 1, 1, 1}, ec);
  CHECK(ec == sharding_errc::no_such_row);
  div.scatter(RowUpdate::add, Indices{-1}, Floats{1, 1}, ec);
  CHECK(ec == sharding_errc::no_such_row);
  div.scatter(RowUpdate::add, Indices{0, 1}, Floats{1, 1, 1}, ec);
  CHECK(ec == sharding_errc::wrong_size);
  CHECK(div == before);
  CHECK_THROWS_WITH(div.sparse_read(Indices{5}), ContainsSubstring("sparse read"));

  Values other = uneven({2, 5, 3});
  other.scatter(RowUpdate::add, Indices{0}, Floats{1}, ec);
  CHECK(ec == sharding_errc::not_div_layout);
  CHECK(ec == distrib::failure::unsupported);
  CHECK(other.sparse_read(Indices{0}, RowOrder::as_asked, ec).empty());
  CHECK(ec == sharding_errc::not_div_layout);
  CHECK_THROWS_WITH(other.scatter(RowUpdate::add, Indices{0}, Floats{1}), ContainsSubstring("\"div\""));
}

TEST_CASE("ShardedValues: saved with one partition, restored with another one, or undivided",
          "[sharding][sharded_values]") {
  const support::TempDirectory directory;
  const Values saved = counted(7, 3);
  std::vector<distrib::BundlePart> parts(saved.variable().num_shards());  // one data file per shard
  for (std::uint32_t shard = 0; shard < parts.size(); ++shard)
    parts[shard].tensors.push_back({.name = "emb",
                                    .dtype = DType::float32,
                                    .shape = saved.variable().shape(),
                                    .slice = saved.slice_of(shard),
                                    .bytes = std::as_bytes(saved.shard(shard))});
  const std::string prefix = directory / "model.ckpt-1";
  distrib::perform(distrib::plan_bundle(prefix, parts));

  const auto reader = distrib::BundleReader::open(prefix);
  for (const std::int64_t cut : {1, 2, 3, 5, 7}) {
    CAPTURE(cut);
    Values restored{ShardedVariable{Shape{7, 2}, DType::float32, {0, cut}}};
    for (std::uint32_t shard = 0; shard < restored.variable().num_shards(); ++shard)
      reader.read("emb", restored.slice_of(shard), std::as_writable_bytes(restored.shard(shard)));
    CHECK(restored.values() == saved.values());
    CHECK(restored.variable().num_shards() == static_cast<std::uint32_t>(cut));
  }
}

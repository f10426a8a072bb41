// SPDX-License-Identifier: Apache-2.0
#include <distrib/example/padded.hpp>

#include <distrib/example/example_builder.hpp>
#include <distrib/example/example_parser.hpp>

#include "support/catch.hpp"

#include <vector>

using distrib::ByteView;
using distrib::feature;

namespace {
struct Query {
  std::span<const std::int64_t> ids;
  std::span<const std::span<const std::byte>> words;
  std::array<std::array<float, 2>, 2> matrix{};
  std::array<std::span<const std::byte>, 2> pair{};
};
constexpr auto queries = distrib::schema<Query>(feature("ids", &Query::ids), feature("words", &Query::words));

auto batch_of(const std::vector<std::vector<std::int64_t>>& rows) -> distrib::Batch<Query> {
  std::vector<std::vector<std::byte>> bytes;
  for (const auto& row : rows) {
    distrib::ExampleBuilder builder;
    const ByteView built = builder.set("ids", row).build();
    bytes.emplace_back(built.begin(), built.end());
  }
  const std::vector<ByteView> views{bytes.begin(), bytes.end()};
  distrib::Batch<Query> batch;
  parse_examples(queries, views, batch);
  return batch;
}
}  // namespace

TEST_CASE("padded: short lists are padded to the length of the longest", "[example]") {
  const auto batch = batch_of({{1, 2, 3}, {}, {4}});
  const auto ids = padded(batch, &Query::ids, std::int64_t{-1});
  CHECK(ids.rows == 3);
  CHECK(ids.columns == 3);
  CHECK(std::vector<std::int64_t>(ids.values().begin(), ids.values().end()) ==
        std::vector<std::int64_t>{1, 2, 3, -1, -1, -1, 4, -1, -1});
  CHECK(ids[2][0] == 4);
  CHECK(reinterpret_cast<std::uintptr_t>(ids.values().data()) % distrib::detail::tensor_alignment == 0);
  CHECK(padded(batch, &Query::words).columns == 0);
  CHECK(padded(batch_of({}), &Query::ids).values().empty());
}

TEST_CASE("Batch: ragged returns lists as values and row splits", "[example]") {
  const auto batch = batch_of({{1, 2, 3}, {}, {4}});
  const auto ids = batch.ragged(&Query::ids);
  CHECK(std::vector<std::int64_t>(ids.values.begin(), ids.values.end()) == std::vector<std::int64_t>{1, 2, 3, 4});
  CHECK(std::vector<std::int64_t>(ids.row_splits.begin(), ids.row_splits.end()) ==
        std::vector<std::int64_t>{0, 3, 3, 4});
  CHECK(ids.values.data() == batch.column(&Query::ids)[0].data());
}

TEST_CASE("Batch: ragged is empty after a failed parse_examples", "[example]") {
  distrib::ExampleBuilder builder;
  const std::vector<std::int64_t> two{1, 2};
  const std::vector<ByteView> records{builder.set("ids", two).build(), distrib::as_bytes("\xff")};
  distrib::Batch<Query> batch;
  CHECK_THROWS(parse_examples(queries, records, batch));
  const auto ids = batch.ragged(&Query::ids);
  CHECK(batch.empty());
  CHECK(ids.values.empty());
  CHECK(std::vector<std::int64_t>(ids.row_splits.begin(), ids.row_splits.end()) == std::vector<std::int64_t>{0});
}

TEST_CASE("Batch: arrays of several axes, and of bytes", "[example]") {
  const auto schema =
      distrib::schema<Query>(feature("m", &Query::matrix), feature("p", &Query::pair), feature("w", &Query::words));
  distrib::ExampleBuilder builder;
  const std::vector<ByteView> words{distrib::as_bytes("a"), distrib::as_bytes("bc")};
  builder.set("m", std::vector<float>{1, 2, 3, 4}).set("p", words).set("w", words);
  const ByteView record = builder.build();
  distrib::Batch<Query> batch;
  parse_examples(schema, std::span{&record, 1}, batch);
  CHECK(batch[0].matrix[1][0] == 3);
  CHECK(distrib::as_text(batch[0].pair[1]) == "bc");
  REQUIRE(batch[0].words.size() == 2);
  CHECK(distrib::as_text(batch[0].words[0]) == "a");
}

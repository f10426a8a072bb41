// SPDX-License-Identifier: Apache-2.0
#include <distrib/example/batch.hpp>

#include <distrib/example/example_parser.hpp>
#include <distrib/example/example_writer.hpp>

#include "support/catch.hpp"

#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using distrib::Batch;
using distrib::ByteView;
using distrib::feature;
using distrib::schema;

namespace {

struct Click {
  std::int64_t label = 0;
  std::array<float, 3> dense{};
  std::span<const std::byte> image;
  std::span<const std::int64_t> ids;
  float unbound = 7;
};

constexpr auto clicks = schema<Click>(feature("label", &Click::label), feature("dense", &Click::dense),
                                      feature("image", &Click::image), feature("ids", &Click::ids));

/// Returns `count` records; record i has label i, i ids and i bytes of image.
auto records(std::size_t count) -> std::vector<std::vector<std::byte>> {
  distrib::ExampleWriter writer{clicks};
  std::vector<std::vector<std::byte>> all;
  for (std::size_t i = 0; i < count; ++i) {
    const auto x = static_cast<float>(i);
    const std::vector<std::int64_t> ids(i, -static_cast<std::int64_t>(i));
    const std::vector<std::byte> image(i, std::byte{9});
    const ByteView bytes = writer.write({static_cast<std::int64_t>(i), {x, x + 1, x + 2}, image, ids});
    all.emplace_back(bytes.begin(), bytes.end());
  }
  return all;
}

auto views(const std::vector<std::vector<std::byte>>& all) -> std::vector<ByteView> { return {all.begin(), all.end()}; }

auto aligned(const void* at) -> bool {
  return std::bit_cast<std::uintptr_t>(at) % distrib::detail::tensor_alignment == 0;
}

}  // namespace

TEST_CASE("Batch: columns and rows show the same records", "[example]") {
  const auto bytes = records(5);
  Batch<Click> batch;
  CHECK(batch.empty());
  parse_examples(clicks, views(bytes), batch);

  REQUIRE(batch.size() == 5);
  const std::span<const std::int64_t> labels = batch.column(&Click::label);
  const std::span<const std::array<float, 3>> dense = batch.column(&Click::dense);
  const std::span<const ByteView> images = batch.column(&Click::image);
  const std::span<const std::span<const std::int64_t>> ids = batch.column(&Click::ids);
  REQUIRE(labels.size() == 5);
  REQUIRE(ids.size() == 5);
  CHECK(aligned(labels.data()));
  CHECK(aligned(dense.data()));
  for (std::size_t i = 0; i < 5; ++i) {
    const Click row = batch[i];
    CHECK(row.label == static_cast<std::int64_t>(i));
    CHECK(labels[i] == row.label);
    CHECK(dense[i] == row.dense);
    CHECK(dense[i][2] == static_cast<float>(i + 2));
    CHECK(images[i].data() == row.image.data());
    CHECK(images[i].size() == i);
    CHECK(ids[i].data() == row.ids.data());
    CHECK(ids[i].size() == i);
    if (i > 0) CHECK(ids[i][0] == -static_cast<std::int64_t>(i));
    CHECK(row.unbound == 7);
  }
}

TEST_CASE("Batch: a batch that is filled again keeps its memory", "[example]") {
  const auto bytes = records(20);
  const auto all = views(bytes);
  Batch<Click> batch;
  parse_examples(clicks, all, batch);
  const auto* labels = batch.column(&Click::label).data();
  const auto* ids = batch.column(&Click::ids)[1].data();

  parse_examples(clicks, std::span{all}.first(3), batch);
  CHECK(batch.size() == 3);
  CHECK(batch.column(&Click::label).data() == labels);
  CHECK(batch.column(&Click::ids)[1].data() == ids);

  parse_examples(clicks, std::span{all}.first(20), batch);
  CHECK(batch.size() == 20);
  CHECK(batch.column(&Click::label).data() == labels);
}

TEST_CASE("Batch: the error for an unbound member names the bound features", "[example]") {
  Batch<Click> batch;
  CHECK_THROWS_WITH(batch.column(&Click::label), ContainsSubstring("(bound features:)"));
  const auto bytes = records(2);
  parse_examples(clicks, views(bytes), batch);
  try {
    (void)batch.column(&Click::unbound);
    FAIL("no exception");
  } catch (const std::system_error& failure) {
    CHECK(failure.code() == distrib::example_errc::unbound_member);
    CHECK_THAT(failure.what(), ContainsSubstring("(bound features: label dense image ids)"));
  }
}

TEST_CASE("Batch: another schema makes other columns", "[example]") {
  const auto bytes = records(2);
  Batch<Click> batch;
  parse_examples(clicks, views(bytes), batch);
  parse_examples(schema<Click>(feature("label", &Click::label)), views(bytes), batch);
  CHECK(batch.column(&Click::label)[1] == 1);
  CHECK_THROWS(batch.column(&Click::dense));
}

TEST_CASE("Batch: keeps alive the bytes that its views point into", "[example]") {
  auto owner = std::make_shared<const std::vector<std::vector<std::byte>>>(records(2));
  const std::weak_ptr<const std::vector<std::vector<std::byte>>> watch = owner;
  Batch<Click> batch;
  {
    distrib::ExampleParser parser{clicks, batch, owner->size(), owner};
    distrib::Error error;
    for (const auto& record : *owner) parser.add(record, error);
    parser.finish();
  }
  owner.reset();
  CHECK(!watch.expired());
  const Batch<Click> moved = std::move(batch);
  CHECK(moved.column(&Click::image)[1][0] == std::byte{9});
  batch = {};
  CHECK(!watch.expired());
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/table_info.hpp>

#include <distrib/core/slice.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

using distrib::Initializer;
using distrib::RowInitializer;
using distrib::Shape;
using distrib::Slice;
using distrib::TableInfo;

namespace {

using Floats = std::vector<float>;

auto table(Initializer initializer, std::uint32_t dim, std::uint64_t rows) -> TableInfo {
  TableInfo info;
  info.name = "user";
  info.dim = dim;
  info.rows = rows;
  info.initializer = initializer;
  return info;
}

auto row(const TableInfo& info, std::uint64_t key, std::uint64_t seed = 7) -> Floats {
  Floats made(info.dim, -99.0F);
  RowInitializer{info, seed}(key, made);
  return made;
}

const Initializer initializers[] = {distrib::ZerosInitializer{}, distrib::ConstantInitializer{0.25F},
                                    distrib::UniformInitializer{-2.0F, 3.0F}, distrib::GlorotUniformInitializer{}};

}  // namespace

TEST_CASE("TableInfo: any number is a key unless `rows` is set", "[core]") {
  TableInfo info;
  CHECK(info.any_key());
  CHECK(info.row_bytes() == 4);
  CHECK(info.min_count == 1);
  CHECK(info.evict_after == 0);
  CHECK(info.kept_as == distrib::FloatFormat::float32);
  info.rows = 5;
  CHECK_FALSE(info.any_key());
  info.dim = 1 << 16;
  CHECK(info.row_bytes() == 1 << 18);
  TableInfo other = info;
  CHECK(other == info);
  other.min_count = 2;
  CHECK(other != info);
}

TEST_CASE("TableInfo: has_good_options() says whether rows can come and go so", "[core]") {
  const auto good = [](auto change) {
    TableInfo info;
    change(info);
    return info.has_good_options();
  };
  CHECK(good([](TableInfo&) {}));
  CHECK(good([](TableInfo& t) { t.rows = 5; }));
  CHECK_FALSE(good([](TableInfo& t) { t.min_count = 0; }));
  CHECK_FALSE(good([](TableInfo& t) { t.rows = 5, t.min_count = 2; }));
  CHECK_FALSE(good([](TableInfo& t) { t.rows = 5, t.evict_after = 2; }));
  CHECK_FALSE(good([](TableInfo& t) { t.rows = 5, t.max_rows = 2; }));
  CHECK(good([](TableInfo& t) { t.evict_after = 2, t.evict_in_turns = true; }));
  CHECK_FALSE(good([](TableInfo& t) { t.evict_in_turns = true; }));
  CHECK(good([](TableInfo& t) { t.max_rows = 1, t.half_life = 1, t.max_new_keys = 1; }));
  CHECK_FALSE(good([](TableInfo& t) { t.half_life = 1; }));
  CHECK_FALSE(good([](TableInfo& t) { t.max_new_keys = 1; }));
  constexpr std::uint64_t most = std::uint64_t{1} << 40;
  CHECK(good([](TableInfo& t) { t.max_rows = t.max_new_keys = most; }));
  CHECK_FALSE(good([](TableInfo& t) { t.max_rows = most + 1; }));
  CHECK_FALSE(good([](TableInfo& t) { t.max_rows = 1, t.max_new_keys = most + 1; }));
}

TEST_CASE("RowInitializer: rows of a table with numbered keys equal those of a variable", "[core]") {
  for (const Initializer& initializer : initializers)
    for (const std::uint32_t dim : {1U, 3U, 16U}) {
      const TableInfo info = table(initializer, dim, 50);
      const Shape shape{50, dim};
      Floats whole(50 * dim);
      distrib::detail::fill(initializer, 7, "user", shape, Slice::whole(shape), whole);
      for (std::uint64_t key = 0; key < 50; ++key)
        CHECK(row(info, key) == Floats(whole.begin() + static_cast<std::ptrdiff_t>(key * dim),
                                       whole.begin() + static_cast<std::ptrdiff_t>((key + 1) * dim)));
    }
}

TEST_CASE("RowInitializer: rows of a table for any keys are a function of seed, name and key", "[core]") {
  const TableInfo info = table(distrib::UniformInitializer{}, 6, 0);
  const TableInfo numbered = table(distrib::UniformInitializer{}, 6, 1000);
  for (const std::uint64_t key : {0ULL, 1ULL, 999ULL}) CHECK(row(info, key) == row(numbered, key));
  const std::uint64_t last = ~std::uint64_t{0};
  CHECK(row(info, last) == row(info, last));
  CHECK(row(info, last) != row(info, last - 1));
  CHECK(row(info, last) != row(info, last, 8));
  CHECK(row(info, 5) == row(info, 5 + (std::uint64_t{1} << 63)));  // 6 * 2^63 elements is 0 modulo 2^64
  TableInfo other = info;
  other.name = "item";
  CHECK(row(info, last) != row(other, last));
  for (const float element : row(info, last)) CHECK(std::abs(element) <= 0.05F);
}

TEST_CASE("RowInitializer: Glorot's fans are those of [rows, dim], or of [dim]", "[core]") {
  const auto largest = [](const TableInfo& info) {
    float most = 0.0F;
    for (std::uint64_t key = 0; key < 3000; ++key)
      for (const float element : row(info, key)) most = std::max(most, std::abs(element));
    return most;
  };
  const float numbered = std::sqrt(3.0F / ((3000.0F + 4.0F) / 2.0F));
  CHECK(largest(table(distrib::GlorotUniformInitializer{}, 4, 3000)) <= numbered);
  CHECK(largest(table(distrib::GlorotUniformInitializer{}, 4, 3000)) > 0.99F * numbered);
  const float any = std::sqrt(3.0F / 4.0F);
  CHECK(largest(table(distrib::GlorotUniformInitializer{}, 4, 0)) <= any);
  CHECK(largest(table(distrib::GlorotUniformInitializer{}, 4, 0)) > 0.99F * any);
}

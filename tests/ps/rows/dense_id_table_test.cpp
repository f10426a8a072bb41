// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/rows/dense_id_table.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

using distrib::DenseIdTable;
using distrib::MemoryBudget;
using distrib::ps_errc;

namespace {

using Keys = std::vector<std::uint64_t>;

auto rows_of(const DenseIdTable& table, const Keys& keys) -> std::vector<const float*> {
  std::vector<const float*> seen;
  table.visit(keys, [&](std::size_t first, std::span<const float* const> rows) {
    CHECK(first == seen.size());
    CHECK_FALSE(rows.empty());
    seen.insert(seen.end(), rows.begin(), rows.end());
  });
  return seen;
}

}  // namespace

TEST_CASE("DenseIdTable: has an aligned row of zeros for each key, in batches of all lengths", "[ps]") {
  MemoryBudget budget{std::size_t{64} << 20};
  const auto dim = static_cast<std::uint32_t>(GENERATE(1, 5, 16, 100));
  DenseIdTable table{{dim, 1}, 1000, 70'000, budget};
  CHECK(table.first() == 1000);
  CHECK(table.size() == 70'000);
  CHECK(table.bytes() == budget.used_bytes());
  CHECK(table.bytes() >= 70'000 * table.layout().stride_bytes());

  std::size_t seen = 0;
  bool is_right = true;
  table.for_each([&](std::uint64_t key, float* row) {
    is_right = is_right && key == 1000 + seen++ && std::all_of(row, row + 2 * dim, [](float f) { return f == 0; });
    std::fill_n(row, 2 * dim, static_cast<float>(key));
  });
  CHECK(seen == 70'000);
  CHECK(is_right);

  for (const std::size_t size : {0U, 1U, 15U, 16U, 17U, 31U, 32U, 33U, 100U}) {
    Keys keys(size);
    for (std::size_t i = 0; i < size; ++i) keys[i] = 1000 + i * 7919 % 70'000;
    const std::vector<const float*> rows = rows_of(table, keys);
    REQUIRE(rows.size() == size);
    for (std::size_t i = 0; i < size; ++i) {
      CHECK(rows[i][0] == static_cast<float>(keys[i]));
      CHECK(rows[i][2 * dim - 1] == static_cast<float>(keys[i]));
    }
    std::size_t changed = 0;
    table.visit(keys, [&](std::size_t, std::span<float* const> changing) { changed += changing.size(); });
    CHECK(changed == size);
  }
  const DenseIdTable& to_read = table;
  to_read.for_each(
      [&](std::uint64_t key, const float* row) { is_right = is_right && *row == static_cast<float>(key); });
  CHECK(is_right);
}

TEST_CASE("DenseIdTable: does nothing if a key is out of range", "[ps]") {
  MemoryBudget budget{1 << 20};
  DenseIdTable table{{2, 0}, 100, 10, budget};
  for (const std::uint64_t wrong : {std::uint64_t{99}, std::uint64_t{110}, std::uint64_t{0}, ~std::uint64_t{0}}) {
    Keys keys(40, 105);
    keys[39] = wrong;
    std::error_code ec;
    table.visit(keys, [](std::size_t, std::span<float* const>) { FAIL(); }, ec);
    CHECK(ec == ps_errc::no_such_row);
    std::as_const(table).visit(keys, [](std::size_t, std::span<const float* const>) { FAIL(); }, ec);
    CHECK(ec == ps_errc::no_such_row);
    const auto ignore = [](std::size_t, std::span<const float* const>) {};
    CHECK_THROWS_WITH(table.visit(keys, ignore), ContainsSubstring("key " + std::to_string(wrong)));
    CHECK_THROWS_WITH(std::as_const(table).visit(keys, ignore), ContainsSubstring("no such row"));
  }
  std::error_code ec = ps_errc::no_such_row;
  table.visit(Keys{100, 109}, [](std::size_t, std::span<float* const>) {}, ec);
  CHECK_FALSE(ec);
}

TEST_CASE("DenseIdTable: takes no more memory than the budget", "[ps]") {
  MemoryBudget budget{1 << 20};
  std::error_code ec;
  const DenseIdTable refused{{16, 1}, 0, 8193, budget, ec};
  CHECK(ec == ps_errc::budget_exceeded);
  CHECK(refused.size() == 0);
  CHECK(budget.used_bytes() == 0);
  CHECK_THROWS_WITH((DenseIdTable{{16, 1}, 0, SIZE_MAX, budget}), ContainsSubstring("budget"));
  CHECK_THROWS_WITH((DenseIdTable{{0xFFFF'FFFF, 0xFFFF}, 0, SIZE_MAX, budget}), ContainsSubstring("budget"));
  {
    DenseIdTable fits{{16, 1}, 0, 8192, budget, ec};
    CHECK_FALSE(ec);
    CHECK(budget.used_bytes() == 1 << 20);
    const DenseIdTable moved{std::move(fits)};
    CHECK(rows_of(moved, {8191})[0][31] == 0.0F);
  }
  CHECK(budget.used_bytes() == 0);
  const DenseIdTable none{{16, 1}, 5, 0, budget, ec};
  CHECK_FALSE(ec);
  CHECK(rows_of(none, {}).empty());
}

TEST_CASE("DenseIdTable: a large table begins at a multiple of a huge page", "[ps]") {
  MemoryBudget budget{std::size_t{64} << 20};
  const DenseIdTable table{{16, 1}, 0, 100'000, budget};
  CHECK(reinterpret_cast<std::uintptr_t>(rows_of(table, {0})[0]) % (2 << 20) == 0);
  CHECK(rows_of(table, {99'999})[0] - rows_of(table, {0})[0] == 99'999 * 32);
}

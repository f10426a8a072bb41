// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/rows/row_slabs.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

using distrib::MemoryBudget;
using distrib::ps_errc;
using distrib::RowLayout;
using distrib::RowSlabs;

namespace {

constexpr std::size_t slab_bytes = 2 << 20;

/// Takes `count` rows and fills each with its number.
auto take(RowSlabs& slabs, std::size_t count) -> std::vector<std::uint32_t> {
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < count; ++i) {
    std::error_code ec;
    rows.push_back(slabs.take(ec));
    REQUIRE_FALSE(ec);
    std::fill_n(slabs.at(rows.back()), slabs.layout().row_bytes() / sizeof(float), static_cast<float>(i));
  }
  return rows;
}

}  // namespace

TEST_CASE("RowSlabs: rows of all sizes are aligned, do not overlap, and do not move", "[ps]") {
  const RowLayout layout =
      GENERATE(RowLayout{1, 0}, RowLayout{3, 0}, RowLayout{16, 1}, RowLayout{17, 1},
               RowLayout{1, 0, distrib::FloatFormat::float16}, RowLayout{17, 1, distrib::FloatFormat::bfloat16},
               RowLayout{1000, 2}, RowLayout{100'000, 1});
  MemoryBudget budget{std::size_t{1} << 30};
  RowSlabs slabs{layout, budget};
  CHECK(slabs.bytes() == 0);
  const std::size_t count = std::min<std::size_t>(5 * slab_bytes / layout.stride_bytes() / 2, 100'000) + 40;
  const std::vector<std::uint32_t> rows = take(slabs, count);
  CHECK(std::set(rows.begin(), rows.end()).size() == count);
  CHECK(slabs.size() == count);
  CHECK(slabs.bytes() == budget.used_bytes());
  CHECK(slabs.bytes() % slab_bytes == 0);

  std::set<const float*> addresses;
  const std::size_t alignment = layout.stride_bytes() % 64 == 0 ? 64 : std::min<std::size_t>(layout.stride_bytes(), 16);
  bool is_right = true;
  for (std::size_t i = 0; i < count; ++i) {
    const float* const row = slabs.at(rows[i]);
    addresses.insert(row);
    is_right =
        is_right && reinterpret_cast<std::uintptr_t>(row) % alignment == 0 &&
        std::all_of(row, row + layout.row_bytes() / sizeof(float), [&](float f) { return f == static_cast<float>(i); });
  }
  CHECK(is_right);
  CHECK(addresses.size() == count);
}

TEST_CASE("RowSlabs: freed rows are used again, the last freed row first", "[ps]") {
  MemoryBudget budget{slab_bytes};
  RowSlabs slabs{{16, 1}, budget};
  const std::vector<std::uint32_t> rows = take(slabs, 100);
  slabs.free(rows[3]);
  slabs.free(rows[70]);
  slabs.free(rows[5]);
  CHECK(slabs.size() == 97);
  CHECK(take(slabs, 4) == std::vector<std::uint32_t>{rows[5], rows[70], rows[3], 100});
  CHECK(slabs.bytes() == slab_bytes);
}

TEST_CASE("RowSlabs: takes no more than the budget; a freed row can be taken again", "[ps]") {
  MemoryBudget budget{2 * slab_bytes + 100};
  RowSlabs slabs{{16, 1}, budget};
  const std::vector<std::uint32_t> rows = take(slabs, 2 * slab_bytes / 128);
  std::error_code ec;
  (void)slabs.take(ec);
  CHECK(ec == ps_errc::budget_exceeded);
  CHECK(slabs.size() == rows.size());
  slabs.free(rows[7]);
  CHECK(slabs.take(ec) == rows[7]);
  CHECK_FALSE(ec);
}

TEST_CASE("RowSlabs: a row larger than any memory fails with an error code", "[ps]") {
  MemoryBudget budget{std::size_t{1} << 30};
  RowSlabs slabs{{0xFFFF'FFFF, 0xFFFF}, budget};
  std::error_code ec;
  (void)slabs.take(ec);
  CHECK(ec == ps_errc::budget_exceeded);
  CHECK(budget.used_bytes() == 0);
}

TEST_CASE("RowSlabs: memory that the system refuses fails with an error code", "[ps]") {
  MemoryBudget budget{SIZE_MAX};
  RowSlabs slabs{{0xFFFF'FFFF, 0xFFFF}, budget};  // rows of 2^50 bytes, slabs of 2^54: more than the address space
  std::error_code ec;
  (void)slabs.take(ec);
  CHECK(ec == std::errc::not_enough_memory);
  CHECK(budget.used_bytes() == 0);
}

TEST_CASE("RowSlabs: returns all memory to the budget, also after a move", "[ps]") {
  MemoryBudget budget{std::size_t{1} << 30};
  {
    RowSlabs slabs{{16, 1}, budget};
    const std::vector<std::uint32_t> rows = take(slabs, 20'000);
    const float* const row = slabs.at(rows[19'999]);
    const RowSlabs moved{std::move(slabs)};
    CHECK(moved.at(rows[19'999]) == row);
    CHECK(*row == 19'999.0F);
    CHECK(budget.used_bytes() == 2 * slab_bytes);
  }
  CHECK(budget.used_bytes() == 0);
}

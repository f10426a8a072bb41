// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/store/table_cut.hpp>

#include "support/catch.hpp"

#include <memory>
#include <type_traits>
#include <utility>

TEST_CASE("TableCut: shares what it holds and is moved without a copy", "[ps]") {
  STATIC_REQUIRE(std::is_nothrow_move_constructible_v<distrib::TableCut>);
  const auto rows = std::make_shared<const distrib::AlignedBuffer>(64);
  distrib::TableCut cut{nullptr, nullptr, rows};
  const distrib::TableCut moved = std::move(cut);
  CHECK(moved.rows == rows);
  CHECK(rows.use_count() == 2);
}

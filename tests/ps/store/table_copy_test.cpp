// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/store/table_copy.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

using distrib::KeyUse;
using distrib::TableCopy;
using distrib::TableCut;

namespace {

auto rows_of(const TableCut& cut) -> std::vector<float> {
  const auto floats = cut.rows->as<float>();
  return {floats.begin(), floats.end()};
}

auto keys_of(const TableCut& cut) -> std::vector<std::uint64_t> {
  const auto keys = cut.keys->as<std::uint64_t>();
  return {keys.begin(), keys.end()};
}

}  // namespace

TEST_CASE("TableCopy: sorts keys, those with a row first; of a key added twice the first time counts", "[ps]") {
  STATIC_REQUIRE(std::is_nothrow_move_constructible_v<TableCopy>);
  const distrib::RowLayout layout{2, 1};
  TableCopy copy{layout, {layout, 7, "words"}, true, 0};
  const std::vector<std::vector<float>> rows{{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 9, 9, 9}};
  copy.add(30, {4, 1}, rows[0].data());
  copy.add(20, {}, nullptr);  // a key that the table did not have at that moment
  copy.add(10, {2, 1}, nullptr);  // a key that was counted, but had no row
  copy.add(20, {1, 2}, rows[2].data());
  copy.add(30, {5, 2}, rows[2].data());
  copy.add(5, {6, 1}, rows[1].data());
  const TableCut cut = std::move(copy).finish();
  CHECK(keys_of(cut) == std::vector<std::uint64_t>{5, 30, 10});
  const auto uses = cut.uses->as<KeyUse>();
  CHECK(std::vector<KeyUse>{uses.begin(), uses.end()} == std::vector<KeyUse>{{6, 1}, {4, 1}, {2, 1}});
  CHECK(rows_of(cut) == std::vector<float>{5, 6, 7, 8, 1, 2, 3, 4});
}

TEST_CASE("TableCopy: numbered keys have no uses; many rows take more than one block", "[ps]") {
  const distrib::RowLayout layout{16, 0};
  TableCopy copy{layout, {layout, 7, "items"}, false, 1};
  constexpr std::uint64_t count = 10'000;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t key = (i * 7919) % count;
    const std::vector<float> row(16, static_cast<float>(key));
    copy.add(key, {}, row.data());
  }
  const TableCut cut = std::move(copy).finish();
  CHECK(cut.uses->size() == 0);
  const std::vector<std::uint64_t> keys = keys_of(cut);
  const std::vector<float> rows = rows_of(cut);
  REQUIRE(keys.size() == count);
  REQUIRE(rows.size() == 16 * count);
  bool same = true;
  for (std::uint64_t key = 0; key < count; ++key)
    same =
        same && keys[key] == key && rows[16 * key] == static_cast<float>(key) && rows[16 * key + 15] == rows[16 * key];
  CHECK(same);
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/store/detail/radix_sort.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace {

using Items = std::vector<std::pair<std::uint64_t, int>>;

auto sorted(Items items) -> Items {
  distrib::detail::radix_sort(items);
  return items;
}

}  // namespace

TEST_CASE("radix_sort: sorts as a stable sort by key does", "[ps]") {
  std::mt19937_64 random{1};
  for (const int shift : {0, 7, 40, 56, 63}) {  // with many equal keys, and with bytes that all keys share
    for (const std::uint64_t low : {std::uint64_t{0}, std::uint64_t{0xAB}}) {
      Items items;
      for (int i = 0; i < 3000; ++i) items.emplace_back((random() >> shift << shift / 2) | low, i);
      Items expected = items;
      std::ranges::sort(expected);  // items with equal keys compare by their position, so this is a stable sort by key
      CHECK(sorted(items) == expected);
    }
  }
}

TEST_CASE("radix_sort: few items, and none", "[ps]") {
  CHECK(sorted({}).empty());
  CHECK(sorted({{5, 1}}) == Items{{5, 1}});
  CHECK(sorted({{7, 1}, {7, 2}}) == Items{{7, 1}, {7, 2}});
  CHECK(sorted({{~std::uint64_t{0}, 1}, {0, 2}}) == Items{{0, 2}, {~std::uint64_t{0}, 1}});
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/order/block_shuffled_order.hpp>

#include <distrib/data/order/elements.hpp>

#include "data/numbers.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <set>
#include <system_error>

using distrib::Blocks;
using distrib::data_errc;
using distrib::elements;
using numbers::all;
using numbers::Numbers;

TEST_CASE("shuffle by blocks: every element once in each epoch, for any sizes", "[data]") {
  for (const std::uint64_t count : {0U, 1U, 5U, 64U, 100U, 1000U, 1023U})
    for (const std::uint64_t records : {1U, 3U, 10U, 64U, 5000U})
      for (const std::uint64_t at_once : {1U, 2U, 7U, 1000U}) {
        CAPTURE(count, records, at_once);
        Numbers order = all(elements(count).shuffle(7, Blocks{records, at_once}).repeat(2));
        REQUIRE(order.size() == 2 * count);
        for (const auto part : {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count)}) {
          std::sort(part, part + static_cast<std::ptrdiff_t>(count));
          REQUIRE(Numbers(part, part + static_cast<std::ptrdiff_t>(count)) == all(elements(count)));
        }
      }
}

TEST_CASE("shuffle by blocks: says how far a group of blocks goes, in each epoch", "[data]") {
  // 103 elements: blocks of 10, three at once; the group of the last block has the three elements behind it, too.
  const auto order = elements(103).shuffle(7, Blocks{10, 3}).repeat().open();
  for (const std::uint64_t epoch : {0U, 1U, 1000U})
    for (std::uint64_t i = 0; i < 103; ++i)
      CHECK(distrib::mixed_until(order, epoch * 103 + i) == epoch * 103 + (i < 90 ? i / 30 * 30 + 30 : 103));
  CHECK(distrib::mixed_until(elements(103).shuffle(7).repeat().open(), 5) == distrib::endless);
  CHECK(distrib::mixed_until(elements(103).open(), 5) == distrib::endless);
}

TEST_CASE("shuffle by blocks: reads few blocks at a time, and mixes their elements", "[data]") {
  const Numbers order = all(elements(10'000).shuffle(7, Blocks{100, 5}));
  CHECK(order == all(elements(10'000).shuffle(7, Blocks{100, 5})));
  CHECK(order != all(elements(10'000).shuffle(8, Blocks{100, 5})));
  for (std::size_t group = 0; group < 20; ++group) {
    std::set<std::uint64_t> blocks;
    std::size_t next_to_each_other = 0;
    for (std::size_t i = group * 500; i < (group + 1) * 500; ++i) {
      blocks.insert(order[i] / 100);
      if (i % 500 != 0 && order[i] == order[i - 1] + 1) ++next_to_each_other;
    }
    CHECK(blocks.size() == 5);
    CHECK(*blocks.rbegin() - *blocks.begin() > 4); // not those that were stored together
    CHECK(next_to_each_other < 20);
  }
  const Numbers epochs = all(elements(10'000).shuffle(7, Blocks{100, 5}).repeat(2));
  CHECK(Numbers(epochs.begin() + 10'000, epochs.end()) != order);
}

TEST_CASE(
    "shuffle by blocks: any position by itself; says what it is; refuses "
    "no blocks",
    "[data]") {
  auto one = elements(1000).shuffle(3, Blocks{10, 4}).repeat(3).open();
  const Numbers all_of_it = all(elements(1000).shuffle(3, Blocks{10, 4}).repeat(3));
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const std::uint64_t position = i * 1777 % 3000;
    for (std::uint64_t back : {position, position / 2}) CHECK(one.at(0, back) == all_of_it[back]);
  }
  CHECK(elements(10).shuffle(7, Blocks{1024, 64}).order().describe() == " shuffle=7 blocks=1024x64");
  std::error_code ec;
  CHECK(!elements(10).shuffle(7, Blocks{0, 1}).open(ec));
  CHECK(ec == data_errc::bad_blocks);
  CHECK(!elements(10).shuffle(7, Blocks{1, 0}).open(ec));
  CHECK(ec == data_errc::bad_blocks);
  CHECK(!elements(10).repeat().shuffle(7, Blocks{}).open(ec));
  CHECK(ec == data_errc::no_end);
}

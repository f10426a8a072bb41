// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/order/order_steps.hpp>

#include <distrib/data/order/elements.hpp>

#include "data/numbers.hpp"
#include "support/catch.hpp"

using distrib::data_errc;
using distrib::elements;
using distrib::Error;
using numbers::all;
using numbers::first;
using numbers::Numbers;

TEST_CASE("Order steps: shard takes every n-th element; all shards together take each element once", "[data]") {
  CHECK(all(elements(10).shard(3, 0)) == Numbers{0, 3, 6, 9});
  CHECK(all(elements(10).shard(3, 2)) == Numbers{2, 5, 8});
  CHECK(all(elements(2).shard(5, 4)).empty());
  for (const std::int64_t workers : {1, 2, 7, 100}) {
    Numbers seen;
    for (std::int64_t i = 0; i < workers; ++i)
      for (const std::uint64_t n : all(elements(50).shard(workers, i))) seen.push_back(n);
    std::sort(seen.begin(), seen.end());
    CHECK(seen == all(elements(50)));
  }
}

TEST_CASE("Order steps: shard refuses the arguments that TensorFlow refuses", "[data]") {
  const std::pair<std::int64_t, std::int64_t> cases[] = {{0, 0}, {-1, 0}, {3, 3}, {3, -1}};
  for (const auto& [count, index] : cases) {
    CAPTURE(count, index);
    std::error_code ec;
    CHECK(!elements(10).shard(count, index).open(ec));
    CHECK(ec == data_errc::bad_shard);
    CHECK(ec == distrib::failure::invalid_argument);
  }
  CHECK_THROWS_WITH(elements(10).shard(0, 0).open(), ContainsSubstring("shard(0, 0): the number of shards must be"));
}

TEST_CASE("Order steps: take and skip", "[data]") {
  CHECK(all(elements(5).take(3)) == Numbers{0, 1, 2});
  CHECK(all(elements(5).take(9)) == Numbers{0, 1, 2, 3, 4});
  CHECK(all(elements(5).skip(3)) == Numbers{3, 4});
  CHECK(all(elements(5).skip(9)).empty());
  CHECK(all(elements(9).skip(2).take(3).shard(2, 0)) == Numbers{2, 4});
  CHECK(all(elements(9).take(3).skip(2)) == Numbers{2});
  CHECK(all(elements(3).repeat().take(5)) == Numbers{0, 1, 2, 0, 1});
  CHECK(elements(3).repeat().skip(5).open().size() == distrib::endless);
}

TEST_CASE("Order steps: shuffle before repeat keeps epochs apart", "[data]") {
  const Numbers order = all(elements(10).shuffle(7).repeat(3));
  REQUIRE(order.size() == 30);
  for (std::uint64_t p = 0; p < 30; ++p) CHECK(order[p] == distrib::Permutation{10, 7, p / 10}(p % 10));

  Numbers mixed = all(elements(10).repeat(3).shuffle(7));
  CHECK(mixed != order);
  std::sort(mixed.begin(), mixed.end());
  for (std::uint64_t p = 0; p < 30; ++p) CHECK(mixed[p] == p / 3);

  // A step after a shuffle sees another order in each epoch; a step before it always sees the same elements.
  const Numbers some = all(elements(1000).shuffle(7).take(10).repeat(2));
  CHECK(Numbers(some.begin(), some.begin() + 10) != Numbers(some.begin() + 10, some.end()));
  for (const std::uint64_t n : all(elements(1000).take(10).shuffle(7).repeat(2))) CHECK(n < 10);
}

TEST_CASE("Order steps: repeat", "[data]") {
  CHECK(all(elements(2).repeat(0)).empty());
  CHECK(all(elements(0).repeat()).empty());
  CHECK(all(elements(2).repeat(2).repeat(2)) == Numbers{0, 1, 0, 1, 0, 1, 0, 1});
  CHECK(elements(2).repeat().open().size() == distrib::endless);
  CHECK(elements(3).repeat(distrib::endless / 2).open().size() == distrib::endless);
  CHECK(first(elements(3).repeat().shard(2, 1), 5) == Numbers{1, 0, 2, 1, 0});
  auto endless_one = elements(3).shuffle(1).repeat().open();
  CHECK(endless_one.at(0, 3000000000000000) == distrib::Permutation{3, 1, 1000000000000000}(0));
}

TEST_CASE("Order steps: concatenate", "[data]") {
  const auto some = elements(10);
  CHECK(all(some.take(2).concatenate(some.skip(8))) == Numbers{0, 1, 8, 9});
  CHECK(all(some.take(1).concatenate(some.take(2).repeat(2)).repeat(2)) == Numbers{0, 0, 1, 0, 1, 0, 0, 1, 0, 1});
}

TEST_CASE("Order steps: a step that needs an end fails with no_end if there is none", "[data]") {
  std::error_code ec;
  CHECK(!elements(3).repeat().shuffle(1).open(ec));
  CHECK(ec == data_errc::no_end);
  CHECK(!elements(3).repeat().concatenate(elements(3)).open(ec));
  CHECK(ec == data_errc::no_end);
  CHECK(!elements(3).take(1).concatenate(elements(3).shard(0, 0)).open(ec));
  CHECK(ec == data_errc::bad_shard);
}

TEST_CASE("Order steps: plain leaves out shuffle and repeat; describe names each step", "[data]") {
  auto order = elements(20).shard(2, 1).shuffle(5).take(7).repeat(3).concatenate(elements(20).take(1)).open();
  auto plain = order.plain();
  REQUIRE(plain.size() == 8);
  for (std::uint64_t p = 0; p < 7; ++p) CHECK(plain.at(3, p) == 2 * p + 1);
  CHECK(plain.at(3, 7) == 0);
  CHECK(order.describe() == " shard=2/1 shuffle=5 take=7 repeat=3 concatenate=( take=1 )");
  CHECK(elements(3).skip(2).repeat().open().describe() == " skip=2 repeat=forever");
}

TEST_CASE("Order steps: repeats of a repeat are separate epochs", "[data]") {
  CHECK(all(elements(10).shuffle(7).repeat(2).repeat(2)) == all(elements(10).shuffle(7).repeat(4)));
  CHECK(all(elements(10).shuffle(7).repeat(3).repeat(2)) == all(elements(10).shuffle(7).repeat(6)));
  CHECK(all(elements(100).shuffle(7).take(3).repeat(2).repeat(2).repeat(2)) ==
        all(elements(100).shuffle(7).take(3).repeat(8)));
  CHECK(first(elements(10).shuffle(7).repeat(2).repeat(), 60) == all(elements(10).shuffle(7).repeat(6)));
}

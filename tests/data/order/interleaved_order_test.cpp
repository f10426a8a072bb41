// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/order/interleaved_order.hpp>

#include <distrib/data/order/elements.hpp>

#include "data/numbers.hpp"
#include "support/catch.hpp"

#include <random>

using distrib::data_errc;
using distrib::elements;
using numbers::all;
using numbers::Numbers;

namespace {

/// The rule, applied element by element.
auto by_hand(const Numbers& lengths, std::size_t cycle, std::uint64_t block) -> Numbers {
  struct Slot {
    std::uint64_t next = 0;
    std::uint64_t end = 0;
    bool open = false;
  };
  std::vector<Slot> slots(cycle);
  Numbers found;
  std::uint64_t first = 0;
  std::size_t opened = 0;
  std::size_t open = 0;
  std::size_t turn = 0;
  std::uint64_t given = 0;
  const auto advance = [&] {
    turn = (turn + 1) % cycle;
    given = 0;
  };
  while (open > 0 || opened < lengths.size()) {
    Slot& slot = slots[turn];
    if (slot.open && slot.next < slot.end) {
      found.push_back(slot.next++);
      if (++given == block) advance();
    } else if (slot.open) {
      slot.open = false;
      --open;
      advance();
    } else if (opened < lengths.size()) {
      slot = {first, first + lengths[opened], true};
      first += lengths[opened++];
      ++open;
    } else {
      advance();
    }
  }
  return found;
}

}  // namespace

TEST_CASE("InterleavedOrder: files take turns as in TensorFlow", "[data]") {
  // a0 a1 a2 a3, b0, c0 c1
  const auto files = elements({4, 1, 2});
  CHECK(all(files.interleave(1, 1)) == Numbers{0, 1, 2, 3, 4, 5, 6});
  CHECK(all(files.interleave(2, 1)) == Numbers{0, 4, 1, 2, 5, 3, 6});
  CHECK(all(files.interleave(2, 2)) == Numbers{0, 1, 4, 2, 3, 5, 6});
  CHECK(all(files.interleave(3)) == Numbers{0, 4, 5, 1, 6, 2, 3});
  CHECK(all(files.interleave(9, 9)) == Numbers{0, 1, 2, 3, 4, 5, 6});
}

TEST_CASE("InterleavedOrder: agrees with the rule applied element by element", "[data]") {
  const std::uint32_t seed = 20;
  std::mt19937 random{seed};
  for (int i = 0; i < 2000; ++i) {
    Numbers lengths(random() % 8);
    for (std::uint64_t& length : lengths) length = random() % 3 == 0 ? random() % 3 : random() % 40;
    const auto cycle = static_cast<std::size_t>(1 + random() % 10);
    const std::uint64_t block = 1 + random() % 7;
    CAPTURE(seed, i, lengths, cycle, block);
    const Numbers expected = by_hand(lengths, cycle, block);
    REQUIRE(all(elements(lengths).interleave(static_cast<std::int64_t>(cycle), static_cast<std::int64_t>(block))) ==
            expected);
  }
}

TEST_CASE("InterleavedOrder: any position of very large files is found at once", "[data]") {
  const std::uint64_t long_one = std::uint64_t{1} << 50;
  auto order = elements({long_one, long_one, 5}).interleave(2, 4).open();
  CHECK(order.size() == 2 * long_one + 5);
  CHECK(order.at(0, 8 * 1000000000001) == 4 * 1000000000001);
  CHECK(order.at(0, 8 * 1000000000001 + 4) == long_one + 4 * 1000000000001);
  CHECK(order.at(0, 2 * long_one + 4) == 2 * long_one + 4);
}

TEST_CASE("InterleavedOrder: combines with other steps; refuses numbers below 1", "[data]") {
  CHECK(all(elements({2, 2}).interleave(2).skip(1).take(2)) == Numbers{2, 1});
  auto order = elements({2, 2}).interleave(2).repeat().open();
  CHECK(order.describe() == " interleave=2/1 repeat=forever");
  CHECK(order.plain().at(0, 1) == 2);
  for (const auto& [cycle, block] : {std::pair{0, 1}, std::pair{1, 0}, std::pair{-1, 1}}) {
    std::error_code ec;
    CHECK(!elements({2, 2}).interleave(cycle, block).open(ec));
    CHECK(ec == data_errc::bad_interleave);
  }
}

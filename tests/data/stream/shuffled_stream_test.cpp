// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/stream/shuffled_stream.hpp>

#include <distrib/data/stream/pipeline.hpp>

#include "data/numbers.hpp"
#include "support/catch.hpp"

#include <map>
#include <numeric>

namespace {
using Ints = std::vector<int>;

auto shuffled(int count, std::uint64_t buffer, std::uint64_t seed, std::uint64_t epochs = 1) -> Ints {
  Ints elements(static_cast<std::size_t>(count));
  std::iota(elements.begin(), elements.end(), 0);
  auto pipeline = distrib::pipeline(elements).window_shuffle(buffer, seed).repeat(epochs);
  return numbers::drained(pipeline);
}
}  // namespace

TEST_CASE("ShuffledStream: has every element once, none a window or more early", "[data]") {
  for (const std::uint64_t buffer : {1U, 2U, 7U, 100U, 1000U}) {
    const Ints order = shuffled(100, buffer, 5);
    Ints sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (int i = 0; i < 100; ++i) CHECK(sorted[static_cast<std::size_t>(i)] == i);
    for (int i = 0; i < 100; ++i) CHECK(order[static_cast<std::size_t>(i)] < i + static_cast<int>(buffer));
    if (buffer == 1) CHECK(order == sorted);
    if (buffer > 1) CHECK(order != sorted);
  }
}

TEST_CASE("ShuffledStream: is a function of seed and epoch", "[data]") {
  const Ints order = shuffled(50, 20, 5, 2);
  CHECK(order == shuffled(50, 20, 5, 2));
  CHECK(order != shuffled(50, 20, 6, 2));
  CHECK(Ints(order.begin(), order.begin() + 50) != Ints(order.begin() + 50, order.end()));
}

TEST_CASE("ShuffledStream: in a window as large as the stream, every order is equally likely", "[data]") {
  std::map<Ints, int> orders;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) ++orders[shuffled(3, 3, seed)];
  REQUIRE(orders.size() == 6);
  for (const auto& [order, count] : orders) CHECK((850 < count && count < 1150));  // five sigma
}

TEST_CASE("ShuffledStream: refuses a window of 0 elements", "[data]") {
  distrib::Error error;
  auto pipeline = distrib::pipeline(Ints{1, 2}).window_shuffle(0, 1);
  CHECK(!pipeline.next(error));
  CHECK(error.code == distrib::data_errc::bad_buffer);
}

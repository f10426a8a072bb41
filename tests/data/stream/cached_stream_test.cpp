// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/stream/cached_stream.hpp>

#include <distrib/data/stream/pipeline.hpp>

#include "data/broken_stream.hpp"
#include "data/numbers.hpp"
#include "support/catch.hpp"

namespace {
using Ints = std::vector<int>;

/// Elements that are computed each time they are read; `made` counts how often.
auto counting(int& made) {
  return distrib::pipeline(Ints{1, 2, 3}).map([&made](int n) {
    ++made;
    return n;
  });
}
}  // namespace

TEST_CASE("CachedStream: reads the stream below only once", "[data]") {
  int made = 0;
  auto pipeline = counting(made).cache(1000).repeat(4);
  CHECK(numbers::drained(pipeline) == Ints{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3});
  CHECK(made == 3);
}

TEST_CASE("CachedStream: an epoch that is not read to its end is not kept", "[data]") {
  int made = 0;
  auto pipeline = counting(made).cache(1000).take(2).repeat(2);
  CHECK(numbers::drained(pipeline) == Ints{1, 2, 1, 2});
  CHECK(made == 4);
}

TEST_CASE("CachedStream: an epoch with a failure is not kept", "[data]") {
  auto pipeline = distrib::Pipeline{BrokenStream{{1, -2, 3}}}.cache(1000).ignore_errors(1).repeat(2);
  CHECK(numbers::drained(pipeline) == Ints{1, 3, 1, 3});
}

TEST_CASE("CachedStream: holds no more bytes than allowed", "[data]") {
  int made = 0;
  auto pipeline = counting(made).cache(2 * sizeof(int));
  distrib::Error error;
  CHECK(pipeline.next(error) == 1);
  CHECK(pipeline.next(error) == 2);
  CHECK(!pipeline.next(error));
  CHECK(error.code == distrib::data_errc::cache_full);
  CHECK(error.code == distrib::failure::exhausted);
  CHECK(error.where == "cache(8) at element 2");
}

TEST_CASE("CachedStream: all epochs are equal, also after resuming in a later epoch", "[data]") {
  const auto shuffled = [] { return distrib::pipeline(Ints{1, 2, 3, 4, 5}).window_shuffle(5, 3).cache(100).repeat(3); };
  auto whole = shuffled();
  const Ints order = numbers::drained(whole);
  auto first = shuffled();
  for (int i = 0; i < 8; ++i) CHECK(first.next());
  auto second = shuffled();
  second.resume(first.state());
  CHECK(numbers::drained(second) == Ints(order.begin() + 8, order.end()));
}

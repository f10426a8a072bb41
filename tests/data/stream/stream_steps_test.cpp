// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/stream/stream_steps.hpp>

#include <distrib/data/stream/pipeline.hpp>

#include "data/broken_stream.hpp"
#include "data/numbers.hpp"
#include "support/catch.hpp"

#include <numeric>

using distrib::Error;
using distrib::pipeline;
using numbers::contents;

namespace {
using Ints = std::vector<int>;

auto ints(int count) {
  Ints numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return pipeline(numbers);
}
}  // namespace

TEST_CASE("Stream steps: map, filter, take, skip, shard, enumerate", "[data]") {
  const auto even = [](int n) { return n % 2 == 0; };
  CHECK(contents(ints(4).map([](int n) { return 10 * n; })) == Ints{0, 10, 20, 30});
  CHECK(contents(ints(5).filter(even)) == Ints{0, 2, 4});
  CHECK(contents(ints(5).take(2)) == Ints{0, 1});
  CHECK(contents(ints(5).skip(3)) == Ints{3, 4});
  CHECK(contents(ints(5).skip(9)).empty());
  CHECK(contents(ints(10).shard(3, 1)) == Ints{1, 4, 7});
  CHECK(contents(ints(10).filter(even).skip(1).map([](int n) { return n + 1; }).take(2)) == Ints{3, 5});
  const auto numbered = contents(ints(3).skip(1).enumerate());
  REQUIRE(numbered.size() == 2);
  CHECK(numbered[1].number == 1);
  CHECK(numbered[1].value == 2);
  CHECK_THROWS_AS(ints(3).shard(3, 3), std::system_error);
  CHECK_THROWS_WITH(ints(3).shard(0, 0), ContainsSubstring("shard(0, 0): the number of shards"));
}

TEST_CASE("Stream steps: repeat, concatenate, zip", "[data]") {
  CHECK(contents(ints(2).repeat(3)) == Ints{0, 1, 0, 1, 0, 1});
  CHECK(contents(ints(2).repeat(0)).empty());
  CHECK(contents(ints(0).repeat()).empty());
  CHECK(contents(ints(2).repeat().take(5)) == Ints{0, 1, 0, 1, 0});
  CHECK(contents(ints(4).take(3).repeat(2).skip(1)) == Ints{1, 2, 0, 1, 2});
  CHECK(contents(ints(2).concatenate(ints(3)).repeat(2)) == Ints{0, 1, 0, 1, 2, 0, 1, 0, 1, 2});
  const auto pairs = contents(ints(4).zip(ints(9).skip(5).map([](int n) { return std::to_string(n); })).repeat(2));
  REQUIRE(pairs.size() == 8);
  CHECK(pairs[7] == std::pair{3, std::string{"8"}});
  CHECK(contents(ints(9).zip(ints(2))).size() == 2);
}

TEST_CASE("Stream steps: ignore_errors skips up to its limit of failures in each epoch", "[data]") {
  std::vector<Error> report;
  CHECK(contents(distrib::Pipeline{BrokenStream{{0, -1, 2, -3}}}.ignore_errors(2, &report)) == Ints{0, 2});
  REQUIRE(report.size() == 2);
  CHECK(report[1].where == "element 3");
  CHECK(contents(distrib::Pipeline{BrokenStream{{0, -1, 2, -3}}}.ignore_errors(2, &report).repeat(3)).size() == 6);
  CHECK(report.size() == 2);

  auto strict = distrib::Pipeline{BrokenStream{{0, -1, 2, -3, 4}}}.ignore_errors(1);
  Error error;
  CHECK(strict.next(error) == 0);
  CHECK(strict.next(error) == 2);
  for (int i = 0; i < 2; ++i) {
    CHECK(!strict.next(error));
    CHECK(error.code == distrib::data_errc::too_many_errors);
    CHECK_THAT(error.where, ContainsSubstring("element 3: "));
  }
}

TEST_CASE("Stream steps: a failure passes through every step, and the stream continues behind it", "[data]") {
  const auto broken = [] { return distrib::Pipeline{BrokenStream{{0, -1, 2, 3}}}; };
  const auto survives = [](auto pipeline, std::size_t count) {
    Error error;
    std::size_t found = 0;
    std::size_t failures = 0;
    while (true) {
      const auto element = pipeline.next(error);
      found += element ? 1U : 0U;
      failures += error ? 1U : 0U;
      if (!element && !error) break;
    }
    CHECK(found == count);
    CHECK(failures == 1);
  };
  survives(broken(), 3);
  survives(broken().map([](int n) { return n; }), 3);
  survives(broken().filter([](int) { return true; }), 3);
  survives(broken().take(9), 3);
  survives(broken().skip(1), 2);
  survives(broken().enumerate(), 3);
  survives(broken().repeat(1), 3);
  survives(broken().concatenate(ints(1)), 4);
  survives(broken().zip(ints(3)), 3);
  survives(ints(3).zip(broken()), 3);
  survives(broken().window_shuffle(2, 1), 3);
  survives(broken().cache(1000), 3);
}

TEST_CASE("Stream steps: repeats of a repeat are separate epochs", "[data]") {
  const auto shuffled = [] { return ints(10).window_shuffle(4, 7); };
  CHECK(contents(shuffled().repeat(2).repeat(2)) == contents(shuffled().repeat(4)));
  CHECK(contents(shuffled().repeat(3).repeat(2)) == contents(shuffled().repeat(6)));
  CHECK(contents(shuffled().take(3).repeat(2).repeat(2).repeat(2)) == contents(shuffled().take(3).repeat(8)));
  CHECK(contents(shuffled().repeat(2).repeat().take(60)) == contents(shuffled().repeat(6)));
}

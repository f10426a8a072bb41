// SPDX-License-Identifier: Apache-2.0
#include "examples/click/generator.hpp"

#include "examples/click/criteo.hpp"
#include "support/catch.hpp"

#include <distrib/core/sha256.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace {

using Split = ClickGenerator::Split;

auto examples(std::uint64_t seed, std::uint64_t count) -> std::vector<ClickGenerator::Clicked> {
  const ClickGenerator generator{seed};
  std::vector<ClickGenerator::Clicked> all;
  for (std::uint64_t i = 0; i < count; ++i) all.push_back(generator(Split::train, i));
  return all;
}

}  // namespace

TEST_CASE("ClickGenerator: the same examples on every machine", "[click]") {
  distrib::Sha256 hash;
  for (const auto& [example, log_odds] : examples(1, 200)) {
    const std::string text = criteo_line(example) + std::to_string(log_odds) + "\n";
    hash.update(std::as_bytes(std::span{text}));
  }
  CHECK(distrib::to_hex(hash.finish()) == "67f4f2dbdd6ed2487497006d3db9d55c71f722a6088adddfa7955dfeacaab534");
}

TEST_CASE("ClickGenerator: an example is a function of seed, split and index", "[click]") {
  const ClickGenerator one{1}, same{1}, other{2};
  CHECK(one(Split::train, 7).example == same(Split::train, 7).example);
  CHECK_FALSE(one(Split::train, 7).example == one(Split::train, 8).example);
  CHECK_FALSE(one(Split::train, 7).example == one(Split::test, 7).example);
  CHECK_FALSE(one(Split::train, 7).example == other(Split::train, 7).example);
}

TEST_CASE("ClickGenerator: the share of clicks agrees with their log-odds", "[click]") {
  const auto all = examples(1, 20'000);
  std::map<std::int64_t, std::array<double, 3>> by_odds;  // rounded log-odds: examples, clicks, expected clicks
  double clicks = 0;
  for (const auto& [example, log_odds] : all) {
    auto& [count, clicked, expected] = by_odds[log_odds >> 16];
    ++count;
    clicked += static_cast<double>(example.label);
    expected += 1 / (1 + std::exp(-static_cast<double>(log_odds) / 65536));
    clicks += static_cast<double>(example.label);
  }
  CHECK(std::abs(clicks / 20'000 - 0.25) < 0.01);
  CHECK(by_odds.size() >= 8);
  for (const auto& [odds, counts] : by_odds) {
    const auto& [count, clicked, expected] = counts;
    const double p = expected / count;
    INFO("log-odds " << odds);
    CHECK(std::abs(clicked - expected) < 4 * std::sqrt(count * p * (1 - p)) + 1);
  }
}

TEST_CASE("ClickGenerator: categories follow Zipf's law, numbers have a heavy tail, some are missing", "[click]") {
  const auto all = examples(1, 20'000);
  std::map<std::int64_t, int> of_1460, of_3;
  std::set<std::int64_t> of_200000;
  int missing_of_3 = 0, missing_tokens = 0, below_scale = 0, above_scale = 0, far_above = 0, missing_numbers = 0;
  for (const auto& [example, log_odds] : all) {
    ++of_1460[example.categories[0]];
    ++of_3[example.categories[8]];
    of_200000.insert(example.categories[2]);
    missing_of_3 += example.categories[8] == -1 ? 1 : 0;
    missing_tokens += example.categories[21] == -1 ? 1 : 0;
    missing_numbers += example.numbers[0] < 0 ? 1 : 0;
    const float x = example.numbers[4];  // its scale: 1200
    if (x >= 0) ++(x < 1200 ? below_scale : above_scale);
    far_above += x >= 119 * 1200 ? 1 : 0;
  }
  std::multiset<int, std::greater<>> counts;
  for (const auto& [token, count] : of_1460) counts.insert(count);
  double harmonic = 0;
  for (int k = 1; k <= 1460; ++k) harmonic += 1.0 / k;
  auto at = counts.begin();
  for (int k = 1; k <= 4; ++k, ++at) {
    const double expected = 20'000 / harmonic / k;
    CHECK(std::abs(*at - expected) < 5 * std::sqrt(expected));
  }
  CHECK(of_3.size() == 3);
  CHECK(of_200000.size() > 5'000);
  CHECK(missing_of_3 == 0);
  CHECK(std::abs(missing_tokens - 0.76 * 20'000) < 400);
  CHECK(std::abs(missing_numbers - 0.45 * 20'000) < 400);
  CHECK(std::abs(below_scale - above_scale) < 600);
  CHECK(std::abs(far_above - 0.98 * 20'000 / 120) < 60);
}

TEST_CASE("ClickGenerator: whole numbers and tokens of 32 bits", "[click]") {
  bool all_good = true;
  for (const auto& [example, log_odds] : examples(5, 2'000)) {
    for (const std::int64_t token : example.categories) all_good &= token >= -1 && token < std::int64_t{1} << 32;
    for (const float x : example.numbers) all_good &= x >= -1 && x <= 1'000'000 && x == std::floor(x);
  }
  CHECK(all_good);
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/rate_rule.hpp>

#include "support/catch.hpp"

#include <memory>
#include <utility>
#include <vector>

using distrib::is_rank_rate;
using distrib::parse_rate_rule;
using distrib::Rank;
using distrib::RankEntry;
using distrib::RankLog;
using distrib::RankRate;
using distrib::rate_of;
using distrib::RateRule;
using distrib::Step;

namespace {

/// Returns the rate of an entry with so many ranks in a job that began with 4. Its log has these entries.
auto rate_of_four(RateRule rule, Step from, Rank ranks, std::vector<RankEntry> entries = {}) -> RankRate {
  RankLog log{4};
  for (RankEntry& entry : entries) log.add(std::make_shared<const RankEntry>(std::move(entry)));
  return rate_of(rule, log, 4, from, ranks);
}

auto linear_rule(Step warm_up = 0) -> RateRule { return {RateRule::Kind::linear, 1, warm_up}; }
auto sqrt_rule(Step warm_up = 0) -> RateRule { return {RateRule::Kind::sqrt, 1, warm_up}; }
auto fixed_rule(Step warm_up, double factor) -> RateRule { return {RateRule::Kind::fixed, factor, warm_up}; }

}  // namespace

TEST_CASE("parse_rate_rule: three words, or a number", "[ps]") {
  CHECK(parse_rate_rule("keep") == RateRule{});
  CHECK(parse_rate_rule("linear") == linear_rule());
  CHECK(parse_rate_rule("sqrt") == sqrt_rule());
  CHECK(parse_rate_rule("0.5") == fixed_rule(0, 0.5));
  for (const char* wrong : {"", "Keep", "x", "1x", "linear "}) CHECK_FALSE(parse_rate_rule(wrong));
}

TEST_CASE("rate_of: relative to the ranks with which the job began", "[ps]") {
  CHECK(rate_of_four({}, 100, 12) == RankRate{});
  CHECK(rate_of_four(linear_rule(), 100, 12) == RankRate{3, 3, 0});
  CHECK(rate_of_four(linear_rule(50), 100, 12) == RankRate{1, 3, 50});
  CHECK(rate_of_four(linear_rule(50), 100, 4) == RankRate{});  // nothing changes
  CHECK(rate_of_four(sqrt_rule(), 100, 16) == RankRate{2, 2, 0});
  CHECK(rate_of_four(sqrt_rule(8), 100, 1) == RankRate{1, 0.5, 8});
  CHECK(rate_of_four(fixed_rule(7, 0.25), 100, 12) == RankRate{1, 0.25, 7});
  CHECK(rate_of_four(linear_rule(50), 1, 12) == RankRate{1, 3, 50});
}

TEST_CASE("rate_of: it begins with the factor that the step would have", "[ps]") {
  const RankEntry warming{100, 1, {0, 1, 2}, {1, 3, 100}};
  CHECK(rate_of_four({}, 150, 12, {warming}) == RankRate{2, 3, 50});  // the warm-up goes on
  CHECK(rate_of_four({}, 200, 12, {warming}) == RankRate{3, 3, 0});
  CHECK(rate_of_four({}, 1000, 12, {warming}) == RankRate{3, 3, 0});
  CHECK(rate_of_four({}, 100, 12, {warming}) == RankRate{});  // in place of that entry
  CHECK(rate_of_four(linear_rule(10), 150, 16, {warming}) == RankRate{2, 4, 10});
  CHECK(rate_of_four(linear_rule(10), 150, 8, {warming}) == RankRate{2, 2, 0});
  CHECK(rate_of_four(fixed_rule(10, 1), 150, 8, {warming}) == RankRate{2, 1, 10});
  const RankEntry later{180, 2, {0}, {9, 9, 0}};
  CHECK(rate_of_four({}, 150, 12, {warming, later}) == RankRate{2, 3, 50});
}

TEST_CASE("rate_of: what no entry may have is seen by is_rank_rate", "[ps]") {
  CHECK_FALSE(is_rank_rate(rate_of_four(fixed_rule(0, 0), 100, 12)));
  CHECK_FALSE(is_rank_rate(rate_of_four(fixed_rule(0, 1e5), 100, 12)));
  CHECK_FALSE(is_rank_rate(rate_of(linear_rule(), RankLog{1}, 0, 100, 12)));  // a server that does not say it
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/rank_rate.hpp>

#include "support/catch.hpp"

#include <limits>

using distrib::is_rank_rate;
using distrib::max_rank_rate;
using distrib::max_warm_up;
using distrib::RankRate;
using distrib::Step;

TEST_CASE("RankRate: the factor goes along a straight line, then stays", "[ps]") {
  const RankRate none;
  for (const Step gone : {Step{0}, Step{1}, Step{1'000'000}}) CHECK(none.at(gone) == 1.0);
  const RankRate up{1, 3, 4};
  CHECK(up.at(0) == 1.0);
  CHECK(up.at(1) == 1.5);
  CHECK(up.at(3) == 2.5);
  CHECK(up.at(4) == 3.0);
  CHECK(up.at(~Step{0}) == 3.0);
  const RankRate down{1, 0.1, 3};
  CHECK(down.at(1) == 1.0 + (0.1 - 1.0) * 1.0 / 3.0);
  CHECK(down.at(3) == 0.1);
  CHECK(RankRate{0.5, 0.5, 0}.at(7) == 0.5);
}

TEST_CASE("is_rank_rate: what an unknown client says is checked", "[ps]") {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  CHECK(is_rank_rate({}));
  CHECK(is_rank_rate({1, 3, 500}));
  CHECK(is_rank_rate({max_rank_rate, 1 / max_rank_rate, max_warm_up}));
  for (const double wrong : {0.0, -1.0, infinite, -infinite, none, 2 * max_rank_rate, 0.5 / max_rank_rate}) {
    CHECK_FALSE(is_rank_rate({1, wrong, 5}));
    CHECK_FALSE(is_rank_rate({wrong, 1, 5}));
    CHECK_FALSE(is_rank_rate({wrong, wrong, 0}));
  }
  CHECK_FALSE(is_rank_rate({1, 2, max_warm_up + 1}));
  CHECK_FALSE(is_rank_rate({1, 2, 0}));  // one form for each function of the step
  CHECK_FALSE(is_rank_rate({2, 2, 5}));
}

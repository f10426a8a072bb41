// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/protocol/detail/step_counts.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

using distrib::Step;
using distrib::detail::StepCounts;

TEST_CASE("StepCounts: the least step, and the least beside one", "[ps]") {
  StepCounts counts{3};
  CHECK(counts.least() == 0);
  CHECK(counts.second() == 0);
  counts.move(0, 4);
  counts.move(0, 2);
  CHECK(counts.least() == 0);
  CHECK(counts.second() == 2);
  CHECK(counts.least_beside(0) == 2);
  CHECK(counts.least_beside(2) == 0);
  CHECK(counts.least_beside(4) == 0);
  counts.move(0, 0);
  counts.move(4, 1);  // back
  CHECK(counts.second() == 1);
  StepCounts one{1};
  CHECK(one.least_beside(0) == 0);
  one.clear();
  CHECK(one.empty());
  one.add(7);
  CHECK(one.second() == 7);
  one.add(7);
  one.remove(7);
  CHECK(one.least() == 7);
  one.remove(7);
  CHECK(one.empty());
}

TEST_CASE("StepCounts: as a look at each of them", "[ps]") {
  std::mt19937 random{3};
  std::vector<Step> steps(6);
  StepCounts counts{steps.size()};
  for (int turn = 0; turn < 2000; ++turn) {
    const std::size_t which = random() % steps.size();
    const Step to = random() % 10 == 0 ? random() % 20 : steps[which] + 1;
    counts.move(steps[which], to);
    steps[which] = to;
    CHECK(counts.least() == *std::ranges::min_element(steps));
    for (std::size_t i = 0; i < steps.size(); ++i) {
      Step least = ~Step{0};
      for (std::size_t other = 0; other < steps.size(); ++other)
        if (other != i) least = std::min(least, steps[other]);
      CHECK(counts.least_beside(steps[i]) == least);
    }
  }
}

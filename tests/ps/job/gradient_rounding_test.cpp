// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/gradient_rounding.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <set>

using distrib::GradientRounding;

TEST_CASE("GradientRounding: seed, step, rank, variable and key each give other numbers, and always the same", "[ps]") {
  std::set<std::uint64_t> different;
  std::size_t count = 0;
  for (const std::uint64_t seed : {0U, 1U, 7U})
    for (const distrib::Step step : {1U, 2U, 7U})
      for (const distrib::Rank rank : {0U, 1U, 2U, 7U})
        for (const char* name : {"a", "b", "table"}) {
          const std::uint64_t random = GradientRounding{seed, step, rank}.of_variable(name);
          CHECK(GradientRounding{seed, step, rank}.of_variable(name) == random);
          different.insert(random);
          for (const std::uint64_t key : {1U, 2U}) different.insert(GradientRounding::of_row(random, key));
          count += 3;
        }
  CHECK(different.size() == count);
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/rows/memory_budget.hpp>

#include "support/catch.hpp"

using distrib::MemoryBudget;
using distrib::ps_errc;

TEST_CASE("MemoryBudget: takes up to its limit, all or nothing", "[ps]") {
  MemoryBudget budget{100};
  std::error_code ec;
  budget.take(60, ec);
  CHECK_FALSE(ec);
  budget.take(41, ec);
  CHECK(ec == ps_errc::budget_exceeded);
  CHECK(budget.used_bytes() == 60);
  budget.take(40, ec);
  CHECK_FALSE(ec);
  budget.take(1, ec);
  CHECK(ec == ps_errc::budget_exceeded);
  budget.give_back(60);
  CHECK(budget.used_bytes() == 40);
  CHECK(budget.limit_bytes() == 100);
  budget.take(SIZE_MAX, ec);  // the sum must not overflow
  CHECK(ec == ps_errc::budget_exceeded);
}

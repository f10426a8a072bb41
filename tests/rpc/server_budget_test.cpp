// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/server_budget.hpp>

#include "support/catch.hpp"

#include <memory>

using distrib::BudgetShare;
using distrib::ServerBudget;

TEST_CASE("BudgetShare: what shares use counts in their budget until they return it", "[rpc]") {
  distrib::RpcServerOptions options;
  options.max_calls = 2;
  options.server_calls = 3;
  options.owed_bytes = 100;
  options.held_bytes = 200;
  options.server_bytes = 250;
  const auto budget = std::make_shared<ServerBudget>(options);
  auto a = std::make_unique<BudgetShare>(budget);
  BudgetShare b{budget};
  a->begin(10);
  CHECK(a->has_calls());
  a->begin(20);
  CHECK_FALSE(a->has_calls());
  b.begin(0);
  CHECK_FALSE(b.has_calls());  // the limit of all connections is three
  a->end(20);
  CHECK(b.has_calls());
  CHECK(a->calls() == 1);
  CHECK(budget->calls == 2);
  CHECK(budget->bytes == 10);

  a->owe(101);
  CHECK(a->owes_too_much());
  CHECK(a->is_full());
  CHECK_FALSE(b.is_full());
  a->owe(100);
  CHECK_FALSE(a->is_full());
  CHECK(budget->bytes == 110);
  b.hold(201);
  CHECK(b.holds_too_much());
  CHECK(a->is_full());  // all shares together are over the limit
  CHECK_FALSE(a->holds_too_much());
  b.release(200);
  CHECK_FALSE(a->is_full());

  auto moved = std::make_unique<BudgetShare>(std::move(*a));
  a.reset();
  CHECK(budget->bytes == 111);
  CHECK(moved->calls() == 1);
  moved.reset();
  CHECK(budget->bytes == 1);
  CHECK(budget->calls == 1);
}

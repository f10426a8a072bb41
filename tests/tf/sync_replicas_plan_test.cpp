// SPDX-License-Identifier: Apache-2.0
#include <distrib/tf/sync_replicas_plan.hpp>

#include "support/catch.hpp"

using distrib::ps_errc;
using distrib::SyncReplicasPlan;

TEST_CASE("SyncReplicasPlan: numbers of tokens", "[ps]") {
  struct Case {
    SyncReplicasPlan plan;
    std::int64_t workers;
    std::int64_t per_step;
    std::int64_t minimum;
    std::int64_t initial;
  };
  const Case cases[] = {
      {{4, 4}, 4, 4, 0, 4}, {{2, 3}, 3, 3, 0, 2}, {{6, 3}, 3, 6, 3, 6}, {{5, {}}, 5, 5, 0, 5}, {{}, 1, 1, 0, 1},
  };
  for (const Case& c : cases) {
    INFO(c.plan.describe());
    CHECK(c.plan.workers() == c.workers);
    CHECK(c.plan.tokens_per_step() == c.per_step);
    CHECK(c.plan.minimum_initial_tokens() == c.minimum);
    CHECK(c.plan.initial_tokens() == c.initial);
    CHECK(c.plan.initial_tokens(c.minimum) == c.minimum);
    CHECK(c.plan.initial_tokens(100) == 100);
    CHECK_NOTHROW(c.plan.check());
    std::error_code ec;
    CHECK(c.plan.initial_tokens(c.minimum - 1, ec) == 0);
    CHECK(ec == ps_errc::too_few_tokens);
  }
}

TEST_CASE("SyncReplicasPlan: refuses numbers that do not make a job", "[ps]") {
  CHECK_THROWS_WITH((SyncReplicasPlan{6, 3}.initial_tokens(2)),
                    Equals("replicas_to_aggregate 6, total_num_replicas 3, tokens 2 (given) vs 3 (needed): too few "
                           "tokens to finish the first step: begin with at least replicas_to_aggregate - "
                           "total_num_replicas"));
  for (const SyncReplicasPlan& plan : {SyncReplicasPlan{0, {}}, SyncReplicasPlan{-1, 3}, SyncReplicasPlan{3, 0}}) {
    std::error_code ec;
    plan.check(ec);
    CHECK(ec == ps_errc::not_positive);
    CHECK_THROWS_WITH(plan.check(), ContainsSubstring(plan.describe()));
    CHECK(plan.initial_tokens({}, ec) == 0);
    CHECK(ec == ps_errc::not_positive);
  }
}

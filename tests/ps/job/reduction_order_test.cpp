// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/reduction_order.hpp>

#include "support/catch.hpp"

TEST_CASE("ReductionOrder: its words in a job's description", "[ps]") {
  CHECK(distrib::to_text(distrib::ReductionOrder::rank_order) == "rank_order");
  CHECK(distrib::to_text(distrib::ReductionOrder::tree) == "tree");
  CHECK(distrib::most_ranks_in_order == 8);
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/replicas_to_aggregate.hpp>

#include "support/catch.hpp"

TEST_CASE("replicas_to_aggregate: as many as the consistency says, or all ranks", "[ps]") {
  distrib::Job job;
  job.ranks = 5;
  const auto of = [&](const char* consistency) {
    job.consistency = consistency;
    return distrib::replicas_to_aggregate(job);
  };
  CHECK(of("bulk_synchronous_parallel") == 5);
  CHECK(of("bulk_synchronous_parallel replicas_to_aggregate=1") == 1);
  CHECK(of("bulk_synchronous_parallel replicas_to_aggregate=4") == 4);
  CHECK(of("bulk_synchronous_parallel replicas_to_aggregate=5") == 5);
  CHECK(of("bulk_synchronous_parallel replicas_to_aggregate=6") == 5);  // of no job that can be served
  CHECK(of("together") == 5);  // somebody's own
}

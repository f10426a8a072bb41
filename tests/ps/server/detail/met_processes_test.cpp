// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/server/detail/met_processes.hpp>

#include "support/catch.hpp"

using distrib::detail::MetProcesses;

TEST_CASE("MetProcesses: a process that has contributed cannot be replaced", "[ps]") {
  MetProcesses met{2};
  CHECK(met.joins(0, false));
  CHECK(met.joins(0, false));  // nothing has come from the first one
  CHECK(met.joins(1, false));
  met.pushed(0);
  CHECK(met.joins(0, true));  // the same process
  CHECK(met.joins(1, false));
  CHECK_FALSE(met.joins(0, false));
}

TEST_CASE("MetProcesses: after a start of the shard all workers have contributed before, or none has", "[ps]") {
  MetProcesses all_old{2};
  CHECK(all_old.joins(0, true));
  CHECK(all_old.joins(1, true));
  CHECK_FALSE(all_old.joins(1, false));

  MetProcesses old_first{2};
  CHECK(old_first.joins(0, true));
  CHECK_FALSE(old_first.joins(1, false));

  MetProcesses new_first{2};
  CHECK(new_first.joins(0, false));
  CHECK_FALSE(new_first.joins(1, true));
}

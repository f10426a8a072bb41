// SPDX-License-Identifier: Apache-2.0
#include <distrib/cluster/task_id.hpp>

#include "support/catch.hpp"

using distrib::TaskId;

TEST_CASE("TaskId: text, equality, order", "[cluster]") {
  CHECK(to_string(TaskId{"ps", 0}) == "/job:ps/task:0");
  CHECK(TaskId{"worker", 2} == TaskId{"worker", 2});
  CHECK(TaskId{"ps", 9} < TaskId{"worker", 0});
  CHECK(TaskId{"worker", 2} < TaskId{"worker", 10});
}

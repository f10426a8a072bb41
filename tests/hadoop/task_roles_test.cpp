// SPDX-License-Identifier: Apache-2.0
#include <distrib/hadoop/task_roles.hpp>

#include "hadoop/word_count.hpp"
#include "support/catch.hpp"

using distrib::hadoop::detail::TaskRoles;
using word_count::ByLength;
using word_count::Sum;
using word_count::Words;

TEST_CASE("TaskRoles: a mapper, and at most one of each other role", "[hadoop][task_roles]") {
  STATIC_REQUIRE(TaskRoles<Words>);
  STATIC_REQUIRE(TaskRoles<Words, Sum, ByLength>);
  STATIC_REQUIRE(TaskRoles<Sum, ByLength, Words>);
  STATIC_REQUIRE_FALSE(TaskRoles<>);
  STATIC_REQUIRE_FALSE(TaskRoles<Sum>);
  STATIC_REQUIRE_FALSE(TaskRoles<Words, Words>);
  STATIC_REQUIRE_FALSE(TaskRoles<Words, Sum, Sum>);
  STATIC_REQUIRE_FALSE(TaskRoles<Words, int>);
}

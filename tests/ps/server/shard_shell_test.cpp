// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/server/shard_shell.hpp>

#include "support/catch.hpp"

#include <type_traits>

TEST_CASE("ShardShell: an interface", "[ps]") {
  STATIC_REQUIRE(std::is_abstract_v<distrib::ShardShell>);
  STATIC_REQUIRE(std::has_virtual_destructor_v<distrib::ShardShell>);
}

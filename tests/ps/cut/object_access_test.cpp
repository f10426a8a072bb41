// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/cut/object_access.hpp>

#include <distrib/checkpoint/error.hpp>
#include <distrib/ps/job/error.hpp>

#include "support/catch.hpp"
#include "support/map_objects.hpp"

using namespace distrib;

TEST_CASE("may_pass: a store that is away may come back; what is wrong stays wrong", "[ps]") {
  CHECK(may_pass(support::MapObjects::away()));
  CHECK_FALSE(may_pass({}));
  CHECK_FALSE(may_pass(make_error_code(checkpoint_errc::corrupt_data)));
  CHECK_FALSE(may_pass(make_error_code(ps_errc::shard_taken_over)));
}

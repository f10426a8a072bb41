// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/cut/object_access.hpp>

#include <distrib/checkpoint/error.hpp>
#include <distrib/ps/job/error.hpp>

#include "support/catch.hpp"
#include "support/map_objects.hpp"

#include <string>

using namespace distrib;

TEST_CASE("may_pass: a store that is away may come back; what is wrong stays wrong", "[ps]") {
  CHECK(may_pass(support::MapObjects::away()));
  CHECK_FALSE(may_pass({}));
  CHECK_FALSE(may_pass(make_error_code(checkpoint_errc::corrupt_data)));
  CHECK_FALSE(may_pass(make_error_code(ps_errc::shard_taken_over)));
}

TEST_CASE("this_process and still_answers: who has a claim, and that an address without a server answers nobody",
          "[ps]") {
  const ClaimOwner owner = this_process("local job", "host:1");
  CHECK(owner.task == "local job");
  CHECK(owner.address == "host:1");
  CHECK_FALSE(owner.host.empty());
  CHECK(std::stoul(owner.process) != 0);
  CHECK_FALSE(still_answers({"ps 0", "host", "1", ""}, 7, {}));
  CHECK_FALSE(still_answers({"ps 0", "host", "1", "no address"}, 7, {}));
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/greeting.hpp>

#include "support/catch.hpp"

using distrib::Greeting;

TEST_CASE("Greeting: written and read back", "[rpc]") {
  Greeting greeting;
  greeting.limits = {1000, 2000};
  greeting.max_calls = 7;
  greeting.service = 3;
  const auto read = Greeting::decode(greeting.encode());
  REQUIRE(read);
  CHECK(read->version == distrib::rpc_version);
  CHECK(read->oldest == distrib::oldest_rpc_version);
  CHECK(read->limits.head_bytes == 1000);
  CHECK(read->limits.body_bytes == 2000);
  CHECK(read->max_calls == 7);
  CHECK(read->service == 3);
}

TEST_CASE("Greeting: what does not decode, or has no versions, is none", "[rpc]") {
  CHECK_FALSE(Greeting::decode({}));
  CHECK_FALSE(Greeting::decode(distrib::as_bytes("\x08")));
  Greeting wrong;
  wrong.oldest = wrong.version + 1;
  CHECK_FALSE(Greeting::decode(wrong.encode()));
}

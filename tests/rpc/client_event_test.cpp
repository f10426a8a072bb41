// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/client_event.hpp>

#include "support/catch.hpp"

TEST_CASE("ClientEvent: one that was made says nothing", "[rpc]") {
  const distrib::ClientEvent event;
  CHECK(event.kind == distrib::ClientEvent::Kind::greeted);
  CHECK(event.call == 0);
  CHECK(event.head.empty());
  CHECK(event.body.empty());
}

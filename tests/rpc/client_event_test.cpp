// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/client_event.hpp>

#include "support/catch.hpp"

using distrib::ClientEvent;

namespace {

auto ends_call(ClientEvent::Kind kind) -> bool {
  ClientEvent event;
  event.kind = kind;
  return event.ends_call();
}

}  // namespace

TEST_CASE("ClientEvent: reply, ended and failed end a call, other events do not", "[rpc]") {
  using enum ClientEvent::Kind;
  for (const auto kind : {reply, ended, failed}) CHECK(ends_call(kind));
  for (const auto kind : {greeted, begun, chunk, item, credit}) CHECK_FALSE(ends_call(kind));
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/client_options.hpp>

#include <distrib/rpc/server_options.hpp>

#include "support/catch.hpp"

TEST_CASE("RpcClientOptions: unless told, both ends fit each other", "[rpc]") {
  const distrib::RpcClientOptions client;
  const distrib::RpcServerOptions server;
  CHECK(client.limits.body_bytes <= client.owed_bytes);
  CHECK(client.max_calls <= server.max_calls);
  CHECK(client.ping_after < client.silent_after);
  CHECK(client.ping_after < server.silent_after);  // who pings is not silent
  CHECK_FALSE(client.secret);
}

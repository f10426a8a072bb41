// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/server_options.hpp>

#include "support/catch.hpp"

TEST_CASE("RpcServerOptions: unless told, a server is bounded, and a frame fits within every bound", "[rpc]") {
  const distrib::RpcServerOptions options;
  CHECK(options.limits.body_bytes <= options.held_bytes);
  CHECK(options.owed_bytes <= options.server_bytes);
  CHECK(options.held_bytes <= options.server_bytes);
  CHECK(options.max_calls <= options.server_calls);
  CHECK(options.greeting_within < options.silent_after);
  CHECK(options.frame_within < options.silent_after);
}

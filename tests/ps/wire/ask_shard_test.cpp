// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/wire/ask_shard.hpp>

#include "support/catch.hpp"

#include <chrono>

using namespace distrib;
using namespace std::chrono_literals;

// That a server answers is tested with ask_status and with Server.
TEST_CASE("ask_shard: a refused connection is reported at once, with the shard and the server", "[ps]") {
  Error error;
  const ShardStatus status = detail::ask_shard({"127.0.0.1", 1}, 3, {.within = 5s, .secret = {}}, error);
  CHECK(status == ShardStatus{});
  CHECK(error.code == failure::unavailable);
  CHECK(error.where.starts_with("shard 3 of the parameter server at 127.0.0.1:1"));
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/protocol/worker_action.hpp>

#include "support/catch.hpp"

#include <type_traits>

TEST_CASE("Worker actions: moved without copying what they carry", "[ps]") {
  STATIC_REQUIRE(std::is_nothrow_move_constructible_v<distrib::SendPush>);
  STATIC_REQUIRE(std::is_nothrow_move_constructible_v<distrib::Compute>);
  const auto block = std::make_shared<const distrib::AlignedBuffer>(64);
  const distrib::SendPush push{2, {5, 1, block, 0, 4}};
  CHECK(push.contribution.block == block);
  CHECK_FALSE(distrib::WorkerDone{}.left);
}

TEST_CASE("WorkerOptions: 256 MiB of contributions unless told", "[ps]") {
  CHECK(distrib::WorkerOptions{}.replay_budget_bytes == 256U * 1024 * 1024);
}

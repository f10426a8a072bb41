// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/worker_action.hpp>

#include "support/catch.hpp"

TEST_CASE("WorkerAction: a list of what to do, in order", "[ps]") {
  distrib::WorkerActions actions;
  const auto block = std::make_shared<const distrib::AlignedBuffer>(64);
  actions.push_back(distrib::SendPush{2, {5, 1, block, 0, 4}});
  actions.push_back(distrib::Compute{6, 9, {block}});
  actions.push_back(distrib::WorkerDone{});
  CHECK(std::get<distrib::SendPush>(actions[0]).contribution.block == block);
  CHECK(std::get<distrib::Compute>(actions[1]).values.front() == block);
  CHECK_FALSE(std::get<distrib::WorkerDone>(actions[2]).left);
}

TEST_CASE("WorkerOptions: 256 MiB of contributions unless told", "[ps]") {
  CHECK(distrib::WorkerOptions{}.replay_budget_bytes == 256U * 1024 * 1024);
}

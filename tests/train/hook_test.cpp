// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/hook.hpp>

#include "support/catch.hpp"

#include <distrib/train/save_checkpoint.hpp>
#include <distrib/train/stop_at_step.hpp>

namespace {
struct Steps {
  void on_step(const distrib::StepDone&) {}
};
struct Ends {
  void on_end(const distrib::JobEnd&) {}
};
struct Deaf {};
}  // namespace

TEST_CASE("Hook: one member is enough, none is not, a setting is one", "[train]") {
  STATIC_REQUIRE(distrib::Hook<Steps>);
  STATIC_REQUIRE(distrib::Hook<Ends>);
  STATIC_REQUIRE(distrib::Hook<distrib::StopAtStep>);
  STATIC_REQUIRE(distrib::Hook<distrib::SaveCheckpoint>);
  STATIC_REQUIRE_FALSE(distrib::Hook<Deaf>);
}

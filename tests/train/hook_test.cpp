// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/hook.hpp>

#include "support/catch.hpp"

#include <distrib/train/evaluate.hpp>
#include <distrib/train/feed_fn.hpp>
#include <distrib/train/global_step_waiter.hpp>
#include <distrib/train/save_checkpoint.hpp>
#include <distrib/train/stop_at_step.hpp>

#include <string>

namespace {
struct HearsSteps {
  void on_step(const distrib::StepDone&) {}
};
struct HearsTheEnd {
  void on_end(const distrib::JobEnd&) {}
};
struct HearsContributions {
  void on_contribution(const distrib::ContributionMade&) {}
};
struct HearsPhases {
  void on_phase(const distrib::PhaseMeasured&) {}
};
struct HearsNothing {};
struct OnlyAsks {
  auto stop_reason() const -> std::string { return {}; }
};
}  // namespace

TEST_CASE("Hook: a type with one member function or a setting is a hook, an empty type is not", "[train]") {
  STATIC_REQUIRE(distrib::Hook<HearsSteps>);
  STATIC_REQUIRE(distrib::Hook<HearsTheEnd>);
  STATIC_REQUIRE(distrib::Hook<distrib::StopAtStep>);
  STATIC_REQUIRE(distrib::Hook<distrib::SaveCheckpoint>);
  STATIC_REQUIRE(distrib::Hook<distrib::Evaluate<int>>);
  STATIC_REQUIRE_FALSE(distrib::detail::hears_step<distrib::StopAtStep>);
  STATIC_REQUIRE(distrib::Hook<HearsContributions>);
  STATIC_REQUIRE(distrib::Hook<HearsPhases>);
  STATIC_REQUIRE(distrib::Hook<distrib::FeedFn>);
  STATIC_REQUIRE(distrib::Hook<distrib::GlobalStepWaiter>);
  STATIC_REQUIRE_FALSE(distrib::Hook<HearsNothing>);
  STATIC_REQUIRE_FALSE(distrib::Hook<OnlyAsks>);  // it would never have a reason
}

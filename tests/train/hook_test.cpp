// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/hook.hpp>

#include "support/catch.hpp"

#include <distrib/train/save_checkpoint.hpp>
#include <distrib/train/stop_at_step.hpp>

#include <string>
#include <tuple>
#include <vector>

namespace {
struct Steps {
  std::vector<distrib::Step>* heard;
  void on_step(const distrib::StepDone& event) { heard->push_back(event.step); }
};
struct Everything {
  std::string* heard;
  void on_start(const distrib::JobStart&) { *heard += "start "; }
  void on_step(const distrib::StepDone&) { *heard += "step "; }
  void on_saved(const distrib::CheckpointSaved&) { *heard += "saved "; }
  void on_evaluated(const distrib::Evaluated&) { *heard += "evaluated "; }
  void on_event(const distrib::Event&) { *heard += "event "; }
  void on_end(const distrib::JobEnd&) { *heard += "end "; }
};
struct Deaf {};
}  // namespace

TEST_CASE("Hook: one member is enough, none is not, a setting is one", "[train]") {
  STATIC_REQUIRE(distrib::Hook<Steps>);
  STATIC_REQUIRE(distrib::Hook<Everything>);
  STATIC_REQUIRE(distrib::Hook<distrib::StopAtStep>);
  STATIC_REQUIRE(distrib::Hook<distrib::SaveCheckpoint>);
  STATIC_REQUIRE_FALSE(distrib::Hook<Deaf>);
}

TEST_CASE("tell: each hook hears the events it has members for", "[train]") {
  std::vector<distrib::Step> steps;
  std::string all;
  std::tuple hooks{distrib::StopAtStep{3}, Steps{&steps}, Everything{&all}};
  distrib::detail::tell(hooks, distrib::JobStart{});
  distrib::detail::tell(hooks, distrib::StepDone{7, 0.5F, 64});
  distrib::detail::tell(hooks, distrib::CheckpointSaved{});
  distrib::detail::tell(hooks, distrib::Evaluated{});
  distrib::detail::tell(hooks, distrib::Event{});
  distrib::detail::tell(hooks, distrib::JobEnd{});
  CHECK(steps == std::vector<distrib::Step>{7});
  CHECK(all == "start step saved evaluated event end ");
}

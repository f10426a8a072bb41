// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/hook.hpp>

#include "support/catch.hpp"

#include <string>

namespace {

/// The smallest Hooks: each handles one event, and can be copied, but neither default-constructed nor assigned.
struct Copied {
  explicit Copied(int) {}
  Copied(const Copied&) = default;
  auto operator=(const Copied&) -> Copied& = delete;
};
struct Start : Copied {
  void on_start(const distrib::JobStart&) {}
};
struct Step : Copied {
  using Copied::Copied;
  distrib::Step heard = 0;
  auto on_step(const distrib::StepDone& done) -> distrib::Step { return heard = done.step; }
};
struct Contribution : Copied {
  void on_contribution(const distrib::ContributionMade&) {}
};
struct Saving : Copied {
  void on_saving(const distrib::CheckpointBegun&) {}
};
struct Spent : Copied {
  void on_phase(const distrib::PhaseMeasured&) {}
};
struct Saved : Copied {
  void on_saved(const distrib::CheckpointSaved&) {}
};
struct MeasuredHook : Copied {
  void on_evaluated(const distrib::Evaluated&) {}
};
struct Told : Copied {
  void on_event(distrib::Event) {}
};
struct End : Copied {
  void on_end(const distrib::JobEnd&) const {}
};
struct Set : Copied {
  using Setting = Set;
};
static_assert(distrib::Hook<Start>);
static_assert(distrib::Hook<Step>);
static_assert(distrib::Hook<Contribution>);
static_assert(distrib::Hook<Saving>);
static_assert(distrib::Hook<Spent>);
static_assert(distrib::Hook<Saved>);
static_assert(distrib::Hook<MeasuredHook>);
static_assert(distrib::Hook<Told>);
static_assert(distrib::Hook<End>);
static_assert(distrib::Hook<Set>);

struct Misspelt : Copied {
  void on_stpe(const distrib::StepDone&) {}
};
struct OnlyAsks : Copied {
  auto stop_reason() const -> std::string { return {}; }
};
struct HearsOther : Copied {
  void on_step(const distrib::JobStart&) {}
};
struct ChangesEvent : Copied {
  void on_step(distrib::StepDone&) {}
};
struct AsksMore : Copied {
  void on_end(const distrib::JobEnd&, int) {}
};
struct Moved : Step {
  Moved(Moved&&) = default;
};
static_assert(!distrib::Hook<Copied>);
static_assert(!distrib::Hook<Misspelt>);
static_assert(!distrib::Hook<OnlyAsks>);
static_assert(!distrib::Hook<HearsOther>);
static_assert(!distrib::Hook<ChangesEvent>);
static_assert(!distrib::Hook<AsksMore>);
static_assert(!distrib::Hook<Moved>);
static_assert(!distrib::Hook<int>);

}  // namespace

TEST_CASE("Hook: accepts a type with any one member function, refuses types that lack a part", "[concepts]") {
  Step step{0};
  CHECK(step.on_step({.step = 7, .loss = 0, .examples = 0}) == 7);
  CHECK(Step{step}.heard == 7);
}

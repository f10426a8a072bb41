// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/hook_set.hpp>

#include "support/catch.hpp"

#include <distrib/train/stop_at_step.hpp>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {
struct Steps {
  std::vector<distrib::Step>* heard;
  void on_step(const distrib::StepDone& event) { heard->push_back(event.step); }
};
struct Everything {
  std::string* heard;
  void on_start(const distrib::JobStart&) { *heard += "start "; }
  void on_contribution(const distrib::ContributionMade&) { *heard += "contribution "; }
  void on_saving(const distrib::CheckpointBegun&) { *heard += "saving "; }
  void on_phase(const distrib::PhaseMeasured&) { *heard += "phase "; }
  void on_step(const distrib::StepDone&) { *heard += "step "; }
  void on_saved(const distrib::CheckpointSaved&) { *heard += "saved "; }
  void on_evaluated(const distrib::Evaluated&) { *heard += "evaluated "; }
  void on_event(const distrib::Event&) { *heard += "event "; }
  void on_end(const distrib::JobEnd&) { *heard += "end "; }
};
/// Has a report after the second step.
struct Reporter {
  int steps = 0;
  void on_step(const distrib::StepDone&) { ++steps; }
  auto report() -> std::optional<distrib::Event> {
    if (steps != 2) return std::nullopt;
    steps = 0;
    return distrib::Event{distrib::Event::Kind::no_room, {}, {}, {}, "told"};
  }
};
/// Asks for a checkpoint, and to stop, at step 2.
struct Asker {
  std::string reason, asked = {};
  bool wants = false;
  void on_step(const distrib::StepDone& event) {
    wants = event.step == 2;
    if (wants) asked = reason;
  }
  auto stop_reason() const -> std::string { return asked; }
  auto wants_checkpoint() -> bool { return std::exchange(wants, false); }
};
struct Watcher {
  void on_phase(const distrib::PhaseMeasured&) {}
};
}  // namespace

TEST_CASE("HookSet: what hooks ask for", "[train]") {
  distrib::HookSet hooks{std::tuple{Asker{""}, Asker{"first"}, Asker{"second"}}};
  hooks.tell(distrib::StepDone{1, 0, 1});
  CHECK(hooks.stop_reason().empty());
  CHECK_FALSE(hooks.wants_checkpoint());
  hooks.tell(distrib::StepDone{2, 0, 1});
  CHECK(hooks.stop_reason() == "first");
  CHECK(hooks.wants_checkpoint());
  CHECK_FALSE(hooks.wants_checkpoint());  // all three were asked
  CHECK_FALSE(distrib::HookSet{std::tuple{}}.wants_checkpoint());
  CHECK_FALSE(hooks.hears_phases());
  CHECK(distrib::HookSet{std::tuple{Asker{""}, Watcher{}}}.hears_phases());
}

TEST_CASE("HookSet: the report of a hook goes to all hooks", "[train]") {
  std::string before;
  std::string behind;
  distrib::HookSet hooks{std::tuple{Everything{&before}, Reporter{}, Everything{&behind}}};
  for (distrib::Step step = 1; step <= 3; ++step) hooks.tell(distrib::StepDone{step, 0, 1});
  CHECK(before == "step step event step ");
  CHECK(behind == before);
}

TEST_CASE("HookSet: each hook receives the events for which it has members", "[train]") {
  std::vector<distrib::Step> steps;
  std::string all;
  distrib::HookSet hooks{std::tuple{distrib::StopAtStep{3}, Steps{&steps}, Everything{&all}}};
  hooks.tell(distrib::JobStart{});
  hooks.tell(distrib::ContributionMade{});
  hooks.tell(distrib::StepDone{7, 0.5F, 64});
  hooks.tell(distrib::CheckpointBegun{});
  hooks.tell(distrib::CheckpointSaved{});
  hooks.tell(distrib::PhaseMeasured{});
  hooks.tell(distrib::Evaluated{});
  hooks.tell(distrib::Event{});
  hooks.tell(distrib::JobEnd{});
  CHECK(steps == std::vector<distrib::Step>{7});
  CHECK(all == "start contribution step saving saved phase evaluated event end ");
}

TEST_CASE("HookSet: hooks that ask for it get what opens object stores", "[train]") {
  struct Opener {
    std::string* url;
    void on_start(const distrib::JobStart&) {}
    void use_object_stores(const distrib::OpenObjectStore& open) const {
      distrib::Error error;
      *url = open("s3://bucket/run", error).url;
    }
  };
  std::string url;
  std::vector<distrib::Step> steps;
  distrib::HookSet hooks{std::tuple{Steps{&steps}, Opener{&url}}};
  hooks.use_object_stores(
      [](const std::string& asked, distrib::Error&) { return distrib::ObjectDirectory{{}, {}, asked}; });
  CHECK(url == "s3://bucket/run");
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/events.hpp>
#include <distrib/train/hook.hpp>

#include <functional>
#include <memory>
#include <tuple>
#include <utility>
#include <variant>

namespace distrib {
inline namespace v0 {

/// The events that hooks can receive.
using TrainingEvent = std::variant<JobStart, StepDone, CheckpointSaved, Evaluated, Event, JobEnd>;

/// A list of hooks behind one type. Copies share the hooks. Threads: one at a time.
class HookSet {
 public:
  template <Hook... Hs> explicit HookSet(std::tuple<Hs...> hooks) {
    tell_ = [kept = std::make_shared<std::tuple<Hs...>>(std::move(hooks))](const TrainingEvent& event) {
      const auto pass_on = [&kept](auto& from) {
        if constexpr (detail::reports<decltype(from)>)
          if (const auto report = from.report())
            std::apply([told = TrainingEvent{*report}](auto&... hook) { (tell_one(hook, told), ...); }, *kept);
      };
      std::apply([&event](auto&... hook) { (tell_one(hook, event), ...); }, *kept);
      std::apply([&pass_on](auto&... hook) { (pass_on(hook), ...); }, *kept);
    };
  }

  /// Passes an event to each hook that has a member for its kind, in the order of the hooks. Then asks each hook that
  /// has a `report()`, in the same order, and passes its report to all hooks.
  void tell(const TrainingEvent& event) { tell_(event); }

 private:
  template <class H> static void tell_one(H& hook, const TrainingEvent& event) {
    if constexpr (detail::hears_start<H>)
      if (const auto* e = std::get_if<JobStart>(&event)) hook.on_start(*e);
    if constexpr (detail::hears_step<H>)
      if (const auto* e = std::get_if<StepDone>(&event)) hook.on_step(*e);
    if constexpr (detail::hears_saved<H>)
      if (const auto* e = std::get_if<CheckpointSaved>(&event)) hook.on_saved(*e);
    if constexpr (detail::hears_evaluated<H>)
      if (const auto* e = std::get_if<Evaluated>(&event)) hook.on_evaluated(*e);
    if constexpr (detail::hears_event<H>)
      if (const auto* e = std::get_if<Event>(&event)) hook.on_event(*e);
    if constexpr (detail::hears_end<H>)
      if (const auto* e = std::get_if<JobEnd>(&event)) hook.on_end(*e);
  }

  std::function<void(const TrainingEvent&)> tell_;
};

}  // namespace v0
}  // namespace distrib

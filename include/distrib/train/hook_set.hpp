// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/record/any_object_store.hpp>
#include <distrib/train/events.hpp>
#include <distrib/train/hook.hpp>

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

namespace distrib {
inline namespace v0 {

/// The events that hooks can receive.
using TrainingEvent = std::variant<JobStart, ContributionMade, StepDone, CheckpointBegun, CheckpointSaved, Evaluated,
                                   ValidatedProgressively, Event, PhaseMeasured, JobEnd>;

/// A list of hooks behind one type. Copies share the hooks. Threads: one at a time.
class HookSet {
 public:
  template <Hook... Hs> explicit HookSet(std::tuple<Hs...> hooks) {
    const auto kept = std::make_shared<std::tuple<Hs...>>(std::move(hooks));
    hears_phases_ = (detail::hears_phase<Hs> || ...);
    stop_reason_ = [kept] {
      std::string reason;
      std::apply([&reason](const auto&... hook) { (ask_reason(hook, reason), ...); }, *kept);
      return reason;
    };
    use_object_stores_ = [kept](const OpenObjectStore& open) {
      std::apply([&open](auto&... hook) { (use_stores(hook, open), ...); }, *kept);
    };
    wants_checkpoint_ = [kept] { return std::apply([](auto&... hook) { return (false | ... | asks(hook)); }, *kept); };
    tell_ = [kept](const TrainingEvent& event) {
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

  /// Passes on what opens directories in object stores.
  void use_object_stores(const OpenObjectStore& open) { use_object_stores_(open); }

  /// True if a hook hears of phases, so that they have to be measured.
  [[nodiscard]] auto hears_phases() const noexcept -> bool { return hears_phases_; }

  /// Returns the reason of the first hook that asks to stop; empty if none does.
  [[nodiscard]] auto stop_reason() const -> std::string { return stop_reason_(); }

  /// Asks each hook whether it wants a checkpoint; true if one does.
  [[nodiscard]] auto wants_checkpoint() -> bool { return wants_checkpoint_(); }

 private:
  template <class H> static void tell_one(H& hook, const TrainingEvent& event) {
    if constexpr (detail::hears_start<H>)
      if (const auto* e = std::get_if<JobStart>(&event)) hook.on_start(*e);
    if constexpr (detail::hears_contribution<H>)
      if (const auto* e = std::get_if<ContributionMade>(&event)) hook.on_contribution(*e);
    if constexpr (detail::hears_step<H>)
      if (const auto* e = std::get_if<StepDone>(&event)) hook.on_step(*e);
    if constexpr (detail::hears_saving<H>)
      if (const auto* e = std::get_if<CheckpointBegun>(&event)) hook.on_saving(*e);
    if constexpr (detail::hears_saved<H>)
      if (const auto* e = std::get_if<CheckpointSaved>(&event)) hook.on_saved(*e);
    if constexpr (detail::hears_evaluated<H>)
      if (const auto* e = std::get_if<Evaluated>(&event)) hook.on_evaluated(*e);
    if constexpr (detail::hears_validated<H>)
      if (const auto* e = std::get_if<ValidatedProgressively>(&event)) hook.on_validated(*e);
    if constexpr (detail::hears_event<H>)
      if (const auto* e = std::get_if<Event>(&event)) hook.on_event(*e);
    if constexpr (detail::hears_phase<H>)
      if (const auto* e = std::get_if<PhaseMeasured>(&event)) hook.on_phase(*e);
    if constexpr (detail::hears_end<H>)
      if (const auto* e = std::get_if<JobEnd>(&event)) hook.on_end(*e);
  }

  template <class H> static void ask_reason(const H& hook, std::string& reason) {
    if constexpr (detail::may_stop<H>)
      if (reason.empty()) reason = hook.stop_reason();
  }
  template <class H> static auto asks(H& hook) -> bool {
    if constexpr (detail::asks_for_checkpoints<H>) return hook.wants_checkpoint();
    else return false;
  }

  template <class H> static void use_stores(H& hook, const OpenObjectStore& open) {
    if constexpr (detail::uses_object_stores<H>) hook.use_object_stores(open);
  }

  bool hears_phases_ = false;
  std::function<void(const OpenObjectStore&)> use_object_stores_;
  std::function<void(const TrainingEvent&)> tell_;
  std::function<std::string()> stop_reason_;
  std::function<bool()> wants_checkpoint_;
};

}  // namespace v0
}  // namespace distrib

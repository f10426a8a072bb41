// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/event.hpp>
#include <distrib/train/events.hpp>

#include <concepts>
#include <optional>
#include <string>

namespace distrib {
inline namespace v0 {

namespace detail {
template <class H>
inline constexpr bool hears_start = requires(H& hook, const JobStart& event) { hook.on_start(event); };
template <class H> inline constexpr bool hears_step = requires(H& hook, const StepDone& event) { hook.on_step(event); };
template <class H>
inline constexpr bool hears_saved = requires(H& hook, const CheckpointSaved& event) { hook.on_saved(event); };
template <class H>
inline constexpr bool hears_evaluated = requires(H& hook, const Evaluated& event) { hook.on_evaluated(event); };
template <class H> inline constexpr bool hears_event = requires(H& hook, const Event& event) { hook.on_event(event); };
template <class H> inline constexpr bool hears_end = requires(H& hook, const JobEnd& event) { hook.on_end(event); };
template <class H>
inline constexpr bool reports = requires(H hook) {
  { hook.report() } -> std::same_as<std::optional<Event>>;
};
template <class H>
inline constexpr bool writes_files = requires(const H& hook) {
  { hook.written_directory() } -> std::convertible_to<std::string>;
};
template <class H> inline constexpr bool is_setting = requires { typename H::Setting; };
}  // namespace detail

/// Something that runs beside the training: it has at least one of `on_start(JobStart)`, `on_step(StepDone)`,
/// `on_saved(CheckpointSaved)`, `on_evaluated(Evaluated)`, `on_event(Event)`, `on_end(JobEnd)`, or is one of the
/// settings (`StopAtStep`, `SaveCheckpoint`, `Evaluate`), which have a member type `Setting`. It may have a `report()`
/// that gives an `Event`, if there is one, for all hooks, and a `written_directory()` that names where it writes files:
/// one job at a time has that directory, see `WriterLocks`.
///
/// A value: copies of a hook that was not told anything yet are as good as the original. Semantics: called on the
/// thread of `run()`, one call at a time, in the order of events. What it throws ends the job.
template <class H>
concept Hook = std::copy_constructible<H> &&
               (detail::hears_start<H> || detail::hears_step<H> || detail::hears_saved<H> ||
                detail::hears_evaluated<H> || detail::hears_event<H> || detail::hears_end<H> || detail::is_setting<H>);

}  // namespace v0
}  // namespace distrib

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

/// Something that runs beside the training, for example to log its progress: a type with at least one of
/// - `on_start(const JobStart&)`: a run starts or continues.
/// - `on_step(const StepDone&)`: a step is done. In a cluster some steps have no such event, and a run that continues a
///   job begins in the middle: so to do something every n steps, compare with the next step that is due, not with a
///   multiple of n.
/// - `on_saved(const CheckpointSaved&)`: a checkpoint is durable.
/// - `on_evaluated(const Evaluated&)`: the model was measured.
/// - `on_event(const Event&)`: something else happened, such as a lost connection.
/// - `on_end(const JobEnd&)`: a run is over.
///
/// The results of these members are ignored. In a cluster the chief's hooks receive all of them, and the hooks of other
/// tasks `on_event` only. The settings (`StopAtStep`, `SaveCheckpoint`, `Evaluate`), which have a member type `Setting`,
/// are also hooks.
///
/// Two more members are optional. `report() -> std::optional<Event>` returns an event for all hooks, or an empty
/// optional; it is called after each event. `written_directory() const -> std::string` names the directory in which the
/// hook writes files: only one job at a time may use it.
///
/// Semantics: a value. A copy of a hook that has received no event yet is equivalent to the original. Members are
/// called on the thread of `run()`, one call at a time, in the order of the events. A hook cannot end the job as done
/// before its last step. `std::raise(SIGTERM)` in `on_step`, once, asks this task to stop, as `Trainer::run` and
/// `ClusterTrainer::run` describe.
///
/// Errors: an exception from a hook leaves `run()`. Nothing more is saved and `on_end` is not called; in a cluster the
/// other tasks wait for this task as for one that died.
template <class H>
concept Hook = std::copy_constructible<H> &&
               (detail::hears_start<H> || detail::hears_step<H> || detail::hears_saved<H> ||
                detail::hears_evaluated<H> || detail::hears_event<H> || detail::hears_end<H> || detail::is_setting<H>);

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/event.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/train/events.hpp>

#include <concepts>
#include <optional>
#include <string>

namespace distrib {
inline namespace v0 {

namespace detail {
template <class H>
inline constexpr bool hears_start = requires(H& hook, const JobStart& event) { hook.on_start(event); };
template <class H>
inline constexpr bool hears_contribution =
    requires(H& hook, const ContributionMade& event) { hook.on_contribution(event); };
template <class H> inline constexpr bool hears_step = requires(H& hook, const StepDone& event) { hook.on_step(event); };
template <class H>
inline constexpr bool hears_saving = requires(H& hook, const CheckpointBegun& event) { hook.on_saving(event); };
template <class H>
inline constexpr bool hears_saved = requires(H& hook, const CheckpointSaved& event) { hook.on_saved(event); };
template <class H>
inline constexpr bool hears_evaluated = requires(H& hook, const Evaluated& event) { hook.on_evaluated(event); };
template <class H>
inline constexpr bool hears_validated =
    requires(H& hook, const ValidatedProgressively& event) { hook.on_validated(event); };
template <class H>
inline constexpr bool hears_phase = requires(H& hook, const PhaseMeasured& event) { hook.on_phase(event); };
template <class H> inline constexpr bool hears_event = requires(H& hook, const Event& event) { hook.on_event(event); };
template <class H> inline constexpr bool hears_end = requires(H& hook, const JobEnd& event) { hook.on_end(event); };
template <class H>
inline constexpr bool reports = requires(H hook) {
  { hook.report() } -> std::same_as<std::optional<Event>>;
};
template <class H>
inline constexpr bool may_stop = requires(const H& hook) {
  { hook.stop_reason() } -> std::convertible_to<std::string>;
};
template <class H>
inline constexpr bool asks_for_checkpoints = requires(H& hook) {
  { hook.wants_checkpoint() } -> std::same_as<bool>;
};
template <class H>
inline constexpr bool uses_object_stores =
    requires(H& hook, const OpenObjectStore& open) { hook.use_object_stores(open); };
template <class H>
inline constexpr bool keeps_checkpoints = requires(const H& hook) {
  { hook.kept_directory() } -> std::convertible_to<std::string>;
};
template <class H>
inline constexpr bool writes_files = requires(const H& hook) {
  { hook.written_directory() } -> std::convertible_to<std::string>;
};
// A hook may have a member of these names that has not the right form: `with_hooks` refuses it.
template <class H> inline constexpr bool has_report = requires(H& hook) { hook.report(); };
template <class H> inline constexpr bool has_stop_reason = requires(H& hook) { hook.stop_reason(); };
template <class H> inline constexpr bool has_wants_checkpoint = requires(H& hook) { hook.wants_checkpoint(); };
template <class H> inline constexpr bool has_written_directory = requires(H& hook) { hook.written_directory(); };
template <class H> inline constexpr bool is_setting = requires { typename H::Setting; };
}  // namespace detail

/// Something that runs beside the training, for example to log its progress: a type with at least one of
/// - `on_start(const JobStart&)`: a run starts or continues.
/// - `on_contribution(const ContributionMade&)`: a worker of this process has computed a contribution.
/// - `on_step(const StepDone&)`: a step is done. In a cluster some steps have no such event, and a run that continues a
///   job begins in the middle: so to do something every n steps, compare with the next step that is due, not with a
///   multiple of n.
/// - `on_saving(const CheckpointBegun&)`: a checkpoint is about to be written. In one process only.
/// - `on_saved(const CheckpointSaved&)`: a checkpoint is durable.
/// - `on_evaluated(const Evaluated&)`: the model was measured.
/// - `on_validated(const ValidatedProgressively&)`: it was measured on batches before it was trained on them.
/// - `on_event(const Event&)`: something else happened, such as a lost connection.
/// - `on_phase(const PhaseMeasured&)`: the task has spent time on something. Measured only if a hook has this member.
/// - `on_end(const JobEnd&)`: a run is over.
///
/// The results of these members are ignored. In a cluster the chief's hooks receive all of them except `on_saving`, the
/// hooks of other workers `on_contribution`, `on_phase` and `on_event`, and the hooks of parameter servers `on_phase`
/// and `on_event`.
///
/// The settings (`StopAtStep`, `SaveCheckpoint`, `ExportModel`, `Evaluate`, `FeedFn`, `GlobalStepWaiter`,
/// `ProgressiveValidation`), which have a member type `Setting`, are also hooks.
///
/// More members are optional:
/// - `report() -> std::optional<Event>` returns an event for all hooks, or an empty optional. Called after each event.
/// - `stop_reason() const -> std::string` is not empty if the hook asks to stop: for example "NaN loss at step 3".
///   Asked after each event; the text is in the event that announces the stop. The task then ends as after a signal: it
///   finishes the steps in flight. In one process the state is saved and `run()` returns 0. In a cluster only this task
///   leaves the job, and its `run()` returns 1: the other tasks wait for it as long as for one that died. A request
///   after the last step changes nothing.
/// - `wants_checkpoint() -> bool` returns true, once for each wish, if a checkpoint shall be saved soon. Asked after
///   each event, in one process only; in a cluster the steps of checkpoints are part of the job, so `run()` throws
///   `train_errc::only_in_one_process`.
/// - `written_directory() const -> std::string` names the directory in which the hook writes files: only one job at a
///   time may use it, see `WriterLocks`. A URL names a directory in an object store, which has no lock.
/// - `use_object_stores(const OpenObjectStore&)` receives what `TrainerBuilder::with_object_stores` has, before the first
///   event; empty: no URL can be opened.
/// - `kept_directory() const -> std::string` names the directory to which the hook copies or links checkpoints: it must
///   be where they are, on file systems or in an object store.
///
/// Semantics: a value. A copy of a hook that has received no event yet is equivalent to the original. Members are
/// called on the thread of `run()`, one call at a time, in the order of the events. A hook cannot end the
/// job of a cluster as done before its last step. `std::raise(SIGTERM)` in `on_step`, once, asks this task to stop,
/// too, as `Trainer::run` and `ClusterTrainer::run` describe.
///
/// Errors: an exception from a hook leaves `run()`. Nothing more is saved and `on_end` is not called; in a cluster the
/// other tasks wait for this task as for one that died.
template <class H>
concept Hook =
    std::copy_constructible<H> &&
    (detail::hears_start<H> || detail::hears_contribution<H> || detail::hears_step<H> || detail::hears_saving<H> ||
     detail::hears_saved<H> || detail::hears_evaluated<H> || detail::hears_validated<H> || detail::hears_event<H> ||
     detail::hears_phase<H> || detail::hears_end<H> || detail::is_setting<H>);

}  // namespace v0
}  // namespace distrib

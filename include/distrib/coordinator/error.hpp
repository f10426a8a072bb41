// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

// clang-format off: one line per error, however long
/// Why a scheduled function has no value, or why a coordinator or one of its workers cannot continue.
enum class coordinator_errc {
  function_failed = 1,  ///< The function threw an exception that is no std::system_error; the text is the exception's. Correct the function or its arguments.
  cancelled,            ///< The function did not run to its end, because another function had failed. Schedule it again.
  function_overdue,     ///< The function ran longer than `CoordinatorOptions::function_within`. Find out what it waits for, or raise the limit.
  workers_lost,         ///< No worker was connected for `recovery_within` (at the start: `start_within`). Start the workers that the text names.
  ps_unreachable,       ///< Inside a function: a parameter server did not answer within `ps_within`. Do not catch it: the coordinator then schedules the function again.
  ps_lost,              ///< A parameter server was reported as unreachable `ps_reports` times. Start it again, then start the coordinator again.
  resource_failed,      ///< A per-worker value could not be built on a worker; the text has the reason. Correct the function that builds it.
  other_functions,      ///< A worker has another `FunctionList` than the coordinator. Start all tasks from the same build.
  unknown_function,     ///< A function that the list of this worker does not have was asked for. Start all tasks from the same build.
  too_large,            ///< Arguments or a result need more bytes than `max_bytes`. Send less, or raise the limit on both ends.
  bad_arguments,        ///< Arguments or a result cannot be decoded. Start all tasks from the same build.
  timed_out,            ///< The wait of `join`, `fetch`, `schedule` or `finish` was over before the functions were. The text says who is waited for.
  no_parameters,        ///< The function uses variables, but its worker was made without a `ParameterJob`. Give it one.
  other_variables,      ///< The values or gradients are of another list of variables than the job's. Make them for `FunctionContext::variables()`.
  bad_job,              ///< Functions cannot use these variables: tables, and initial values of the user's own, need a trainer. The text names the first one.
  no_workers,           ///< The cluster has no worker, or not the task that was asked for. Correct the cluster.
  other_process,        ///< The call was meant for an earlier process of this worker. The coordinator schedules the function again.
  no_coordinator,       ///< No coordinator was connected to the worker for `coordinator_within`. Start the coordinator.
  over,                 ///< `finish` was called: nothing can be scheduled any more. Make another coordinator.
};
// clang-format on

namespace detail {

inline constexpr ErrorText coordinator_texts[] = {
    {coordinator_errc::function_failed, failure::invalid_argument, "the function threw an exception"},
    {coordinator_errc::cancelled, failure::cancelled,
     "the function was cancelled because another function failed: schedule it again"},
    {coordinator_errc::function_overdue, failure::timeout,
     "the function ran longer than function_within: find out what it waits for, or raise the limit"},
    {coordinator_errc::workers_lost, failure::unavailable, "no worker is connected: start the workers"},
    {coordinator_errc::ps_unreachable, failure::unavailable, "a parameter server did not answer within ps_within"},
    {coordinator_errc::ps_lost, failure::unavailable,
     "a parameter server was reported as unreachable too often: start it again, then the coordinator"},
    {coordinator_errc::resource_failed, failure::invalid_argument, "a per-worker value could not be built"},
    {coordinator_errc::other_functions, failure::mismatch,
     "a worker has other functions than the coordinator: start all tasks from the same build"},
    {coordinator_errc::unknown_function, failure::mismatch,
     "the worker does not have this function: start all tasks from the same build"},
    {coordinator_errc::too_large, failure::exhausted,
     "arguments or result need more bytes than max_bytes: send less, or raise the limit on both ends"},
    {coordinator_errc::bad_arguments, failure::corrupt,
     "arguments or result cannot be decoded: start all tasks from the same build"},
    {coordinator_errc::timed_out, failure::timeout, "the time for this wait is over"},
    {coordinator_errc::no_parameters, failure::invalid_argument, "the worker has no variables: give it a ParameterJob"},
    {coordinator_errc::other_variables, failure::mismatch,
     "values or gradients are of another list of variables: make them for FunctionContext::variables()"},
    {coordinator_errc::bad_job, failure::unsupported, "functions cannot use this variable: train it with a trainer"},
    {coordinator_errc::no_workers, failure::invalid_argument, "the cluster does not have this worker"},
    {coordinator_errc::other_process, failure::unavailable, "the call was meant for an earlier process of this worker"},
    {coordinator_errc::no_coordinator, failure::timeout, "no coordinator is connected: start it"},
    {coordinator_errc::over, failure::cancelled, "the coordinator has finished: make another one"},
};

/// Category "distrib.coordinator".
[[nodiscard]] inline auto coordinator_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.coordinator", coordinator_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(coordinator_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::coordinator_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::coordinator_errc> : std::true_type {};

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/runtime_variables.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

namespace distrib {
inline namespace v0 {

class ParameterClient;
class RuntimeGradients;
class RuntimeValues;

namespace detail {

/// One run of a function on a worker.
struct FunctionRun {
  std::uint32_t worker = 0;
  std::uint32_t workers = 0;
  ParameterClient* parameters = nullptr;  // null: the worker has no variables
  std::chrono::milliseconds ps_within{};
  std::atomic<bool> stopped = false;
  std::vector<std::uint32_t> unreachable_ps = {};  // of the last call that failed because of them
};

}  // namespace detail

/// What a function of a coordinator gets: its worker, and the variables on the parameter servers.
///
/// Threads: only the function's own. Valid while the function runs.
class FunctionContext {
 public:
  explicit FunctionContext(detail::FunctionRun& run) noexcept : run_{&run} {}

  /// Returns the index of this worker, and the number of workers: to choose a part of the data, for example.
  [[nodiscard]] auto worker_index() const noexcept -> std::uint32_t { return run_->worker; }
  [[nodiscard]] auto workers() const noexcept -> std::uint32_t { return run_->workers; }

  /// True if the function shall end soon, because another one failed or its coordinator is gone. What it returns then
  /// does not matter. A function that runs long asks from time to time.
  [[nodiscard]] auto is_stopped() const noexcept -> bool { return run_->stopped; }

  /// Returns the variables of the worker's `ParameterJob`, for which `Values` and `Gradients` are made. Throws
  /// `coordinator_errc::no_parameters` if the worker has none.
  [[nodiscard]] DISTRIB_DECL auto variables() const -> const RuntimeVariables&;

  /// Reads the newest values of all variables. They have everything that was pushed by functions that ended before this
  /// one began, and perhaps parts of what others push now.
  ///
  /// Errors (without `to_error` thrown as `std::system_error`): `coordinator_errc::ps_unreachable` if a parameter
  /// server does not answer within `FunctionWorkerOptions::ps_within`; let this error leave the function, then the
  /// coordinator counts it and runs the function again. `cancelled` if the function was asked to stop; `no_parameters`;
  /// `other_variables`; the error of a parameter server that refuses this job.
  DISTRIB_DECL void pull(RuntimeValues& to, ErrorRef to_error);
  DISTRIB_DECL void pull(RuntimeValues& to);

  /// Sends a gradient for each variable (for a counter the amount to add), which the updater of the job applies. Does
  /// not
  /// wait for that: the function ends only when every parameter server has applied it. Errors as `pull`; a failure of
  /// the push itself is reported when the function ends.
  DISTRIB_DECL void push(const RuntimeGradients& gradients, ErrorRef to_error);
  DISTRIB_DECL void push(const RuntimeGradients& gradients);

 private:
  detail::FunctionRun* run_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/coordinator/impl/function_context.ipp>
#endif

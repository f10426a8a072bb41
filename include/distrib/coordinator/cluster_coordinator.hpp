// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/coordinator/arguments.hpp>
#include <distrib/coordinator/coordinator_options.hpp>
#include <distrib/coordinator/detail/coordinator_shell.hpp>
#include <distrib/coordinator/error.hpp>
#include <distrib/coordinator/function.hpp>
#include <distrib/coordinator/remote_value.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Schedules functions on the workers of a cluster, as TensorFlow 2's ClusterCoordinator does. `Functions`: the
/// `FunctionList` of the workers.
///
///     distrib::ClusterCoordinator<Functions> coordinator{cluster};
///     for (int step = 0; step < 1000; ++step) coordinator.schedule<TrainStep>(data);
///     coordinator.join();
///     coordinator.finish();
///
/// A scheduled function runs on any worker that is free, in no particular order, at least once: again if its worker is
/// lost while it runs. The first error of a function stops all others: the next `schedule`, `join` or `done` waits
/// until nothing runs any more, cancels what waited, and throws the error, once; then work may go on. Besides the error
/// of a function it may be `coordinator_errc::workers_lost`, `function_overdue`, `ps_lost`, `resource_failed` or
/// `other_functions`. docs/guide/coordinator.md tells more.
///
/// Threads: any; but not from within its observer. The destructor closes the connections: without `finish` before, the
/// workers wait for another coordinator.
template <class Functions> class ClusterCoordinator {
 public:
  /// How long a wait may take; empty: as long as functions take, which the options limit.
  using Within = std::optional<std::chrono::milliseconds>;

  /// Starts to connect to all tasks of job "worker". Does not wait for them.
  ///
  /// Errors: throws `coordinator_errc::no_workers` or `cluster_errc::no_such_job` if the cluster has no workers, and
  /// `net_errc::bad_address`.
  explicit ClusterCoordinator(const ClusterSpec& cluster, CoordinatorOptions options = {})
      : shell_{std::make_unique<detail::CoordinatorShell>(cluster, Functions::digest(), std::move(options))} {}

  /// Schedules the function `F`, and returns its future value at once. Blocks while `most_queued` functions wait.
  ///
  /// `args`: one for each parameter of `F` after the context: a value that converts to the parameter's type; or a
  /// `PerWorkerValues`, then the function gets the value of its worker; for a parameter `T&` a `PerWorker<T>`. A
  /// `RemoteValue` is not accepted: fetch it first.
  ///
  /// Errors: throws the error of an earlier function (this one is not scheduled then); `coordinator_errc::too_large`,
  /// `no_workers` (a `PerWorkerValues` of another size), `over` after `finish`.
  template <class F, class... Args> auto schedule(const Args&... args) {
    using R = typename decltype(check<F, true, Args...>())::type;
    Error error;
    RemoteValue<R> value{shell_->schedule(F::name, encoded<F>(args...), error)};
    throw_if(error);
    return value;
  }
  /// Schedules as `schedule` does, but reports the error of an earlier function in `to`; then the result refers to no
  /// function. Throws what concerns `args`.
  template <class F, class... Args> auto schedule_or(ErrorRef to, const Args&... args) {
    using R = typename decltype(check<F, true, Args...>())::type;
    detail::ErrorOut error{to};
    return RemoteValue<R>{shell_->schedule(F::name, encoded<F>(args...), error)};
  }

  /// Has `F` make a value on each worker, where it stays: `schedule` passes it to a parameter `T&`. It is made before
  /// the next function runs there, and again on a worker that was started again. An error of `F` is reported as
  /// `coordinator_errc::resource_failed`.
  ///
  /// `args`: as for `schedule`. Throws what concerns them.
  template <class F, class... Args> auto create_per_worker(const Args&... args) {
    using R = typename decltype(check<F, false, Args...>())::type;
    return PerWorker<R>{shell_->create_per_worker(F::name, encoded<F>(args...))};
  }

  /// Waits until no function waits or runs. Functions that other threads schedule meanwhile count too.
  ///
  /// Errors (without `to` thrown as `std::system_error`): the error of a function, see above;
  /// `coordinator_errc::timed_out` if `within` is over: it names the workers that are awaited, and nothing is
  /// cancelled.
  void join(ErrorRef to, Within within = std::nullopt) {
    detail::ErrorOut error{to};
    shell_->join(within, error);
  }
  void join(Within within = std::nullopt) {
    Error error;
    join(error, within);
    throw_if(error);
  }

  /// True if no function waits or runs. Errors as `join`; it waits only for functions that are stopped because of an
  /// error.
  [[nodiscard]] auto done(ErrorRef to) -> bool {
    detail::ErrorOut error{to};
    return shell_->done(error);
  }
  [[nodiscard]] auto done() -> bool {
    Error error;
    return detail::or_throw(done(error), error);
  }

  /// Waits for a value and returns it; for a function without a result, only waits.
  ///
  /// Errors (without `to` thrown as `std::system_error`): the error of this function; `coordinator_errc::cancelled` if
  /// it did not run because of the error of another one (schedule it again); `timed_out` if `within` is over;
  /// `bad_arguments` if the result cannot be decoded. While the error of another function waits for `join`, a value
  /// that cannot come any more has that error.
  template <class T> auto fetch(const RemoteValue<T>& value, ErrorRef to, Within within = std::nullopt) -> T {
    detail::ErrorOut error{to};
    shell_->wait_for(*value.state(), within, error);
    if constexpr (!std::is_void_v<T>) {
      T result{};
      if (error) return result;
      ByteView rest = value.state()->bytes == nullptr ? ByteView{} : value.state()->bytes->bytes();
      if (!detail::decode_value(rest, result)) error = {coordinator_errc::bad_arguments, "fetch"};
      return result;
    }
  }
  template <class T> auto fetch(const RemoteValue<T>& value, Within within = std::nullopt) -> T {
    Error error;
    if constexpr (std::is_void_v<T>) {
      fetch(value, error, within);
      throw_if(error);
    } else {
      return detail::or_throw(fetch(value, error, within), error);
    }
  }
  /// Waits for all values, each `within` the same time, and returns them in this order. Throws the first error.
  template <class T> auto fetch(const std::vector<RemoteValue<T>>& values, Within within = std::nullopt)
      -> std::vector<T> {
    std::vector<T> results;
    for (const RemoteValue<T>& value : values) results.push_back(fetch(value, within));
    return results;
  }

  /// Joins, then ends all workers: each waits until the parameter servers have saved its pushes, says goodbye to them,
  /// and its process ends with code 0. Nothing can be scheduled any more.
  ///
  /// Errors (without `to` thrown as `std::system_error`): as `join`, and then no worker ends; the error of a worker
  /// that could not save; `coordinator_errc::timed_out` with the names of the workers that were not connected, or did
  /// not end, within `end_within`.
  void finish(ErrorRef to) {
    detail::ErrorOut error{to};
    shell_->finish(error);
  }
  void finish() {
    Error error;
    finish(error);
    throw_if(error);
  }

 private:
  /// Returns the type of the result of `F`. Its static_asserts say what does not fit.
  template <class F, bool IsFetched, class... Args> static constexpr auto check() {
    constexpr bool is_listed = Functions::template contains<F>;
    static_assert(is_listed, "distrib: schedule<F>: F is not in the FunctionList of this coordinator; add it there");
    if constexpr (is_listed) {
      constexpr bool takes_none = !(detail::is_remote_value<Args> || ...);
      static_assert(takes_none, "distrib: schedule<F>: a RemoteValue cannot be an argument; pass what fetch returns");
      constexpr bool fits = !takes_none || detail::fit_parameters<detail::ParametersOf<F>, Args...>;
      static_assert(fits,
                    "distrib: schedule<F>(args...): the arguments do not fit F's operator() after the context; a "
                    "parameter T& needs a PerWorker<T>");
      using R = detail::ResultOf<F>;
      if constexpr (IsFetched) {
        static_assert(detail::can_be_returned<R>(),
                      "distrib: schedule<F>: the result of F cannot be sent; return void, or a type with an RpcCodec");
      } else {
        static_assert(!std::is_void_v<R>, "distrib: create_per_worker<F>: F must return the value that stays there");
      }
      return std::type_identity<R>{};
    } else {
      return std::type_identity<void>{};
    }
  }
  template <class F, class... Args> auto encoded(const Args&... args) -> detail::EncodedArguments {
    if constexpr (Functions::template contains<F>) {
      using Parameters = detail::ParametersOf<F>;
      if constexpr (detail::fit_parameters<Parameters, Args...>)
        return detail::encode_arguments(static_cast<const Parameters*>(nullptr), F::name, shell_->workers(),
                                        shell_->max_bytes(), args...);
    }
    return {};
  }

  std::unique_ptr<detail::CoordinatorShell> shell_;
};

}  // namespace v0
}  // namespace distrib

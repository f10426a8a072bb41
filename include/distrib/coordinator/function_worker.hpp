// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/coordinator/arguments.hpp>
#include <distrib/coordinator/detail/worker_shell.hpp>
#include <distrib/coordinator/error.hpp>
#include <distrib/coordinator/function.hpp>
#include <distrib/coordinator/function_worker_options.hpp>
#include <distrib/coordinator/parameter_job.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {

namespace detail {

/// What the worker passes for a parameter `P`: a decoded value, or a pointer to a per-worker value.
template <class P>
using PassedArgument = std::conditional_t<is_resource<P>, std::remove_reference_t<P>*, std::remove_cvref_t<P>>;

template <class P>
[[nodiscard]] auto take_argument(ByteView& rest, const Resources& resources, PassedArgument<P>& to) -> bool {
  if constexpr (is_resource<P>) {
    std::uint64_t number = 0;
    if (!read_varint(rest, number)) return false;
    const auto found = resources.find(number);
    if (found == resources.end() || found->second.type != &resource_type<std::remove_reference_t<P>>) return false;
    to = static_cast<std::remove_reference_t<P>*>(found->second.value.get());
    return true;
  } else {
    return decode_value(rest, to);
  }
}

template <class P> auto pass(PassedArgument<P>& argument) -> decltype(auto) {
  if constexpr (is_resource<P>) return (*argument);
  else return std::move(argument);
}

/// Returns the encoded result of a function.
template <class R> [[nodiscard]] auto encode_result(const R& result) -> SharedBuffer {
  WireWriter writer;
  encode_value(result, writer);
  auto bytes = std::make_shared<AlignedBuffer>(AlignedBuffer::for_overwrite(writer.size()));
  std::memcpy(bytes->data(), writer.view().data(), writer.size());
  return bytes;
}

template <class F, class... Ps, std::size_t... Is>
auto call_with(const std::tuple<Ps...>*, std::index_sequence<Is...>, FunctionContext& context, Resources& resources,
               std::uint64_t resource, ByteView arguments, SharedBuffer& result) -> Error {
  [[maybe_unused]] std::tuple<PassedArgument<Ps>...> passed;
  ByteView rest = arguments;
  if (!(take_argument<Ps>(rest, resources, std::get<Is>(passed)) && ...) || !rest.empty())
    return {coordinator_errc::bad_arguments, std::string{F::name}};
  using R = ResultOf<F>;
  if constexpr (std::is_void_v<R>) {
    F{}(context, pass<Ps>(std::get<Is>(passed))...);
  } else {
    R value = F{}(context, pass<Ps>(std::get<Is>(passed))...);
    if (resource != 0) {
      resources[resource] = {&resource_type<R>, std::make_shared<R>(std::move(value))};
    } else if constexpr (can_be_returned<R>()) {
      result = encode_result(value);
    }
  }
  return {};
}

template <class F> auto call_function(FunctionContext& context, Resources& resources, std::uint64_t resource,
                                      ByteView arguments, SharedBuffer& result) -> Error {
  using Parameters = ParametersOf<F>;
  return call_with<F>(static_cast<const Parameters*>(nullptr),
                      std::make_index_sequence<std::tuple_size_v<Parameters>>{}, context, resources, resource,
                      arguments, result);
}

template <class> struct TableOf;
template <class... Fs> struct TableOf<FunctionList<Fs...>> {
  [[nodiscard]] static auto make() -> FunctionTable {
    return {{method_id(Fs::name), {Fs::name, &call_function<Fs>}}...};
  }
};

}  // namespace detail

/// One worker of a `ClusterCoordinator`: runs the functions of a `FunctionList` that the coordinator schedules.
///
///     distrib::FunctionWorker<Functions> worker{cluster, flags.task_index, job};
///     return worker.run();
///
/// It listens on its address of the cluster from the constructor on, and runs one function at a time, on the thread of
/// `run()`; a thread of its own does the I/O. With a `ParameterJob` functions can pull and push its variables. Every
/// process that can connect can run any function of the list, so use a secret outside of a network of your own.
///
/// Threads: one at a time; `stop` any.
template <class Functions> class FunctionWorker {
 public:
  /// Starts to listen as task `index` of job "worker", and to connect to the parameter servers of `job`.
  ///
  /// Errors: throws `cluster_errc` if the cluster has no such task, `net_errc` if its address cannot be used, and what
  /// `WorkerClient` throws.
  FunctionWorker(const ClusterSpec& cluster, std::uint32_t index, std::optional<ParameterJob> job = std::nullopt,
                 FunctionWorkerOptions options = {})
      : shell_{std::make_unique<detail::WorkerShell>(cluster, index, detail::TableOf<Functions>::make(),
                                                     Functions::digest(), std::move(options), std::move(job))} {}

  /// Returns the port on which it listens.
  [[nodiscard]] auto port() const noexcept -> std::uint16_t { return shell_->port(); }

  /// Runs functions until the coordinator ends this worker, and returns the exit code of the task. SIGINT and SIGTERM
  /// end it after the function that runs. Must be called at most once.
  /// - 0: the coordinator has finished.
  /// - 1: it was asked to stop, or no coordinator was connected for `coordinator_within`; start it again.
  /// - 65: a parameter server refused the job at the end.
  /// - 70: a parameter server could not be reached at the end.
  ///
  /// `why()` names the task or the parameter server. Throws what the thread of I/O threw.
  [[nodiscard]] auto run() -> int { return shell_->run(); }

  /// Asks it to end with code 1 after the function that runs, which is asked to stop; the coordinator runs that
  /// function on another worker.
  void stop() { shell_->stop(); }

  /// Returns why `run` ended with another code than 0; no error: it was asked to stop.
  [[nodiscard]] auto why() const noexcept -> const Error& { return shell_->why(); }

 private:
  std::unique_ptr<detail::WorkerShell> shell_;
};

}  // namespace v0
}  // namespace distrib

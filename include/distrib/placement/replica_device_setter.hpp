// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/device_spec.hpp>
#include <distrib/placement/error.hpp>
#include <distrib/placement/round_robin.hpp>
#include <distrib/placement/strategy.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// An operation that needs a device.
struct OpRequest {
  std::string_view op = "VarHandleOp";  ///< Type of the operation, as TensorFlow names it.
  std::string_view name{};  ///< Name of the operation.
  DType dtype = DType::float32;  ///< Element type of its result; used for variables only.
  Shape shape{};  ///< Shape of its result; used for variables only.
  std::string_view device{};  ///< The device that the operation itself requests; "": none. Its fields have priority.
};

/// Devices for variables and for everything else, as texts for `DeviceSpec::parse`.
struct ReplicaDeviceSetterOptions {
  std::uint32_t ps_tasks = 0;  ///< Number of ps tasks; ignored if `cluster` is set.
  /// Device of variables. "": variables stay on the worker, but with `cluster` set nothing is placed at all.
  std::string ps_device = "/job:ps";
  std::string worker_device = "/job:worker";  ///< Device of everything else.
  bool merge_devices = true;  ///< False: an operation that requests a device keeps that text unchanged.
  std::optional<ClusterSpec> cluster{};  ///< If set, the ps tasks are the tasks of the job that `ps_device` names.
  /// Types of operations that count as variables, instead of TensorFlow's ten.
  std::optional<std::vector<std::string>> ps_ops{};
  /// For a ps job with gaps. False: n means the n-th task that exists. True: n means task n, as in TensorFlow, even if
  /// there is none.
  bool tasks_by_position = false;
};

/// Chooses a device for each operation: variables go to ps tasks chosen by `S`, everything else to the worker
/// (device_setter.py). A value that contains the strategy and its state.
///
/// Threads: one at a time.
template <PlacementStrategy S> class ReplicaDeviceSetter {
 public:
  /// Makes the setter.
  ///
  /// Errors: `cluster_errc::bad_device` if a text in `options` is no device.
  ReplicaDeviceSetter(ReplicaDeviceSetterOptions options, S strategy, std::error_code& ec)
      : options_{std::move(options)}, strategy_{std::move(strategy)} {
    ps_device_ = DeviceSpec::parse(options_.ps_device, ec);
    if (!ec) worker_device_ = DeviceSpec::parse(options_.worker_device, ec);
    if (!ec) find_tasks();
  }

  /// True if it places anything. False if there is no ps task: no cluster and `ps_tasks` is 0, or a cluster whose ps
  /// job is missing, empty, or not named by `ps_device`. Then every operation keeps its own device.
  [[nodiscard]] explicit operator bool() const noexcept { return num_tasks_ != 0; }

  /// Returns the canonical text of the device of one operation. Returns `request.device` unchanged and unchecked if
  /// nothing is placed, or if `merge_devices` is false and the operation requests a device. Calls the strategy if the
  /// operation is a variable, `ps_device` names a job, and the operation does not request another job.
  ///
  /// Errors (without `ec` thrown as `std::system_error`): `cluster_errc::bad_device`; `placement_errc::no_such_task` if
  /// the strategy returns a task that does not exist. Throws what the strategy throws.
  [[nodiscard]] auto operator()(const OpRequest& request) -> std::string {
    std::error_code ec;
    std::string device = (*this)(request, ec);
    if (ec == placement_errc::no_such_task) throw_error(ec, request.name);
    if (ec) throw_error(ec, "'" + std::string{request.device} + "'");
    return device;
  }
  [[nodiscard]] auto operator()(const OpRequest& request, std::error_code& ec) -> std::string {
    ec.clear();
    if (!*this || (!options_.merge_devices && !request.device.empty())) return std::string{request.device};
    const DeviceSpec current = DeviceSpec::parse(request.device, ec);
    if (ec) return {};
    if (options_.ps_device.empty() || !is_variable(request.op)) return to_string(worker_device_.merged_with(current));

    DeviceSpec device = ps_device_;
    const bool has_job = ps_device_.job && !ps_device_.job->empty();
    const bool elsewhere = current.job && !current.job->empty() && current.job != ps_device_.job;
    if (has_job && !elsewhere) {
      const std::uint32_t task = strategy_.place({request.name, request.dtype, request.shape}, num_tasks_);
      if (task >= num_tasks_) {
        ec = placement_errc::no_such_task;
        return {};
      }
      device.task = indices_.empty() ? task : indices_[task];
    }
    return to_string(device.merged_with(current));
  }

  /// Returns what `place` of the strategy returns for these arguments: the ps task of a variable, below `num_tasks`
  /// (not checked). Changes the state of the strategy as that call does, and throws what it throws. The options of the
  /// setter have no effect here: `num_tasks`, at least 1, is the number of ps tasks, and in a ps job with gaps the
  /// result is not translated to an index. Because it has this function, the setter is itself a `PlacementStrategy`.
  [[nodiscard]] auto place(const PlacementRequest& request, std::uint32_t num_tasks) -> std::uint32_t {
    return strategy_.place(request, num_tasks);
  }

  /// Returns the strategy with its current state.
  [[nodiscard]] auto strategy() const noexcept -> const S& { return strategy_; }

 private:
  void find_tasks() {
    num_tasks_ = options_.ps_tasks;
    if (!options_.cluster) return;
    // In a job with gaps the n-th task is not task n: the strategy chooses a position among the tasks that exist.
    std::error_code no_such_job;
    indices_ = options_.cluster->task_indices(ps_device_.job.value_or(""), no_such_job);
    num_tasks_ = ps_device_.job ? static_cast<std::uint32_t>(indices_.size()) : 0;
    if (options_.tasks_by_position) indices_.clear();
  }

  [[nodiscard]] auto is_variable(std::string_view op) const -> bool {
    constexpr std::string_view standard[] = {
        "Variable",
        "VariableV2",
        "AutoReloadVariable",
        "MutableHashTable",
        "MutableHashTableV2",
        "MutableHashTableOfTensors",
        "MutableHashTableOfTensorsV2",
        "MutableDenseHashTable",
        "MutableDenseHashTableV2",
        "VarHandleOp",
    };
    const auto is_op = [op](std::string_view listed) { return listed == op; };
    if (options_.ps_ops) return std::any_of(options_.ps_ops->begin(), options_.ps_ops->end(), is_op);
    return std::any_of(std::begin(standard), std::end(standard), is_op);
  }

  ReplicaDeviceSetterOptions options_;
  S strategy_;
  DeviceSpec ps_device_;
  DeviceSpec worker_device_;
  std::vector<std::uint32_t> indices_;  // indices of the ps tasks; empty without a cluster
  std::uint32_t num_tasks_ = 0;
};

/// Makes a `ReplicaDeviceSetter`. Every process must pass the same variables to its setter, in the same order.
///
/// Errors: throws `std::system_error` with `cluster_errc::bad_device` if `ps_device` or `worker_device` in `options` is
/// no device.
template <PlacementStrategy S = RoundRobinStrategy>
[[nodiscard]] auto replica_device_setter(ReplicaDeviceSetterOptions options, S strategy = {})
    -> ReplicaDeviceSetter<S> {
  std::error_code ec;
  const std::string devices = "'" + options.ps_device + "', '" + options.worker_device + "'";
  ReplicaDeviceSetter<S> setter{std::move(options), std::move(strategy), ec};
  if (ec) throw_error(ec, devices);
  return setter;
}

namespace detail {
/// Returned after a static_assert of this library has failed, so that the compiler reports nothing else.
struct NoDeviceSetter {
  auto operator()(const OpRequest&) -> std::string { return {}; }
};
}  // namespace detail

// The twin with the same parameter list, which reports what is missing. The constrained one is chosen if its concept
// holds.
template <class S> auto replica_device_setter(ReplicaDeviceSetterOptions, S) -> detail::NoDeviceSetter {
  detail::explain_placement_strategy<S>();
  return {};
}

}  // namespace v0
}  // namespace distrib

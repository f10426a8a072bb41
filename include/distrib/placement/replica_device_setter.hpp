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

/// What a device is wanted for.
struct OpRequest {
  std::string_view op = "VarHandleOp";  ///< Type of the operation, in TensorFlow's words.
  std::string_view name{};
  DType dtype = DType::float32;
  Shape shape{};
  std::string_view device{};            ///< What the operation asks for itself, "" for nothing; wins field by field.
};

/// Where variables and everything else go. Devices are texts as `DeviceSpec::parse` reads them.
struct ReplicaDeviceSetterOptions {
  std::uint32_t ps_tasks = 0;                 ///< Number of ps tasks; not looked at when `cluster` is given.
  std::string ps_device = "/job:ps";          ///< Of variables; "": they stay on the worker.
  std::string worker_device = "/job:worker";  ///< Of everything else.
  bool merge_devices = true;                  ///< False: what has a device keeps its text as it is.
  std::optional<ClusterSpec> cluster{};       ///< The ps tasks are those of the job that `ps_device` names.
  std::optional<std::vector<std::string>> ps_ops{};  ///< Types that count as variables, instead of TensorFlow's ten.
  bool tasks_by_position = false;  ///< True: task n is the n-th of a ps job with gaps, as in TensorFlow, exists or not.
};

/// Gives each operation its device: variables to ps tasks chosen by `S`, the rest to the worker (device_setter.py).
/// A value; the strategy's memory is inside it. One thread at a time.
template <PlacementStrategy S> class ReplicaDeviceSetter {
 public:
  /// Fails with `cluster_errc::bad_device` when a device text of `options` has no meaning.
  ReplicaDeviceSetter(ReplicaDeviceSetterOptions options, S strategy, std::error_code& ec)
      : options_{std::move(options)}, strategy_{std::move(strategy)} {
    ps_device_ = DeviceSpec::parse(options_.ps_device, ec);
    if (!ec) worker_device_ = DeviceSpec::parse(options_.worker_device, ec);
    if (!ec) find_tasks();
  }

  /// Whether it places anything. It does not when there is no ps task: no cluster and `ps_tasks` 0, or a cluster
  /// without the ps job, or with an empty one. Then every operation keeps its own device.
  [[nodiscard]] explicit operator bool() const noexcept { return num_tasks_ != 0; }

  /// Canonical text of the device of one operation. Asks the strategy when it is a variable that is not pinned to
  /// another job. Fails with `cluster_errc::bad_device`, and with `placement_errc::no_such_task` when the strategy
  /// answers with none of the tasks; throws what the strategy throws.
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

  /// The ps task of a variable, as the strategy says: a `PlacementStrategy` like its own.
  [[nodiscard]] auto place(const PlacementRequest& request, std::uint32_t num_tasks) -> std::uint32_t {
    return strategy_.place(request, num_tasks);
  }

  /// The strategy, with what it remembers by now.
  [[nodiscard]] auto strategy() const noexcept -> const S& { return strategy_; }

 private:
  void find_tasks() {
    num_tasks_ = options_.ps_tasks;
    if (!options_.cluster) return;
    // In a job with gaps the n-th task is not task n: what the strategy chooses is a position among those that exist.
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
  std::vector<std::uint32_t> indices_;  // of the ps tasks; empty without a cluster
  std::uint32_t num_tasks_ = 0;
};

/// Makes a `ReplicaDeviceSetter`. Every process must ask it for the same variables in the same order. Fails with
/// `cluster_errc::bad_device`.
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
/// Returned where a sentence of ours is the answer, so that nothing else is reported.
struct NoDeviceSetter {
  auto operator()(const OpRequest&) -> std::string { return {}; }
};
}  // namespace detail

// The twin: same parameter list, so that the constrained one wins whenever its concept holds.
template <class S> auto replica_device_setter(ReplicaDeviceSetterOptions, S) -> detail::NoDeviceSetter {
  detail::explain_placement_strategy<S>();
  return {};
}

}  // namespace v0
}  // namespace distrib

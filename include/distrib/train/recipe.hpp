// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/float_format.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/ps/consistency.hpp>
#include <distrib/ps/row_mean.hpp>
#include <distrib/train/cluster_mode.hpp>
#include <distrib/train/evaluate.hpp>
#include <distrib/train/save_checkpoint.hpp>
#include <distrib/train/stop_at_step.hpp>

#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Local mode: one process, no sockets.
struct LocalMode {
  std::uint32_t workers =
      1;  ///< In-process workers; the ranks of the job. In a cluster: its workers, whatever stands here.
  std::uint32_t shards = 1;  ///< Shards the variables are spread over. In a cluster: those of each parameter server.
};

/// Everything a training is made of, one part a role; `train(model)` fills it. A value.
template <class M, class Data, class Placement, class Part, class Hooks> struct Recipe {
  using ModelType = M;
  using DataType = Data;

  M model;
  Data data;
  Placement placement;
  Part partitioner;
  Hooks hooks;  ///< A std::tuple.
  Consistency consistency;
  AnyUpdater updater;
  std::vector<std::pair<std::string, AnyUpdater>> updaters_of;  ///< By prefix of variables' names.
  LocalMode local;
  ClusterMode cluster;
  std::uint64_t seed = 0;
  bool check_numerics = false;
  RowMean row_mean = RowMean::of_those_with_key;
  FloatFormat wire_format = FloatFormat::float32;
  std::string initial_checkpoint = {};
  std::uint32_t replicas = 1;
};

namespace detail {

/// Calls `found` with the first hook of type H, if there is one.
template <class H, class Hooks, class F> void find_hook(const Hooks& hooks, F&& found) {
  bool first = true;
  const auto look = [&](const auto& hook) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(hook)>, H>)
      if (std::exchange(first, false)) found(hook);
  };
  std::apply([&](const auto&... hook) { (look(hook), ...); }, hooks);
}

/// The same for `Evaluate`, whatever its data.
template <class Hooks, class F> void find_evaluate(const Hooks& hooks, F&& found) {
  const auto look = [&](const auto& hook) {
    if constexpr (is_evaluate<std::remove_cvref_t<decltype(hook)>>) found(hook);
  };
  std::apply([&](const auto&... hook) { (look(hook), ...); }, hooks);
}

/// Whether no setting is given twice.
template <class Hooks> inline constexpr bool each_setting_once = false;
template <class... Hs>
inline constexpr bool each_setting_once<std::tuple<Hs...>> =
    (std::is_same_v<Hs, StopAtStep> + ... + 0) <= 1 && (std::is_same_v<Hs, SaveCheckpoint> + ... + 0) <= 1 &&
    (is_evaluate<Hs> + ... + 0) <= 1;

template <class Hooks> inline constexpr bool evaluates = false;
template <class... Hs> inline constexpr bool evaluates<std::tuple<Hs...>> = (is_evaluate<Hs> || ...);

}  // namespace detail

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/core/variable_info.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/optimizer/gradient_clipping.hpp>
#include <distrib/optimizer/moving_average.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/placement/round_robin.hpp>
#include <distrib/placement/strategy.hpp>
#include <distrib/ps/job/consistency.hpp>
#include <distrib/ps/job/reduction_order.hpp>
#include <distrib/ps/job/row_mean.hpp>
#include <distrib/ps/job/wire_format.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/sharding/fixed_shards.hpp>
#include <distrib/sharding/partitioner.hpp>
#include <distrib/train/cluster_mode.hpp>
#include <distrib/train/initial_checkpoint_options.hpp>
#include <distrib/train/local_mode.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// A placement strategy of any type. A copy continues from the state of the original.
struct AnyPlacement {
  template <PlacementStrategy S> static auto of(S strategy) -> AnyPlacement {
    return {[kept = std::move(strategy)](const PlacementRequest& request,
                                         std::uint32_t num_tasks) mutable -> std::uint32_t {
      return kept.place(request, num_tasks);
    }};
  }
  auto place(const PlacementRequest& request, std::uint32_t num_tasks) -> std::uint32_t {
    return function(request, num_tasks);
  }

  std::function<std::uint32_t(const PlacementRequest&, std::uint32_t)> function;
};

/// A partitioner of any type.
struct AnyPartitioner {
  template <Partitioner P> static auto of(P partitioner) -> AnyPartitioner {
    return {[kept = std::move(partitioner)](const Shape& shape, DType dtype) -> Partition {
      return kept.partition(shape, dtype);
    }};
  }
  [[nodiscard]] auto partition(const Shape& shape, DType dtype) const -> Partition { return function(shape, dtype); }

  std::function<Partition(const Shape&, DType)> function;
};

}  // namespace detail

/// Says which variables belong to a group: a pure function of a variable.
using VariablePredicate = std::function<bool(const VariableInfo&)>;

/// The steps that each worker makes on its own copy of the values between two contributions.
struct LocalSteps {
  std::uint32_t count = 1;
  AnyUpdater updater = Sgd{};
};

/// The roles of a training that do not appear in the type of its trainer: all except the model, its data and its hooks.
/// A value. For the meaning of a member see the function `with_MEMBER` of `TrainerBuilder`.
struct TrainingOptions {
  detail::AnyPlacement placement = detail::AnyPlacement::of(RoundRobinStrategy{});
  detail::AnyPartitioner partitioner = detail::AnyPartitioner::of(FixedShardsPartitioner{1});
  Consistency consistency;
  AnyUpdater updater = Sgd{};
  std::vector<std::pair<std::string, AnyUpdater>> updaters_of;  ///< By prefix of the variables' names.
  std::vector<std::pair<VariablePredicate, AnyUpdater>> updater_groups;  ///< By predicate; a later one counts.
  LocalMode local;
  ClusterMode cluster;
  std::uint64_t seed = 0;
  std::optional<MovingAverage> moving_average;
  std::uint32_t gradient_accumulation = 1;
  std::optional<LocalSteps> local_steps;
  GradientClipping gradient_clipping;
  bool check_numerics = false;
  RowMean row_mean = RowMean::of_those_with_key;
  std::uint32_t most_ranks = 0;
  bool erases_keys = false;
  std::optional<ReductionOrder> reduction;  ///< Empty: see `TrainerBuilder::with_reduction`.
  WireFormat wire_format;
  std::string initial_checkpoint;
  InitialCheckpointOptions initial_checkpoint_options;
  std::uint32_t replicas = 1;
  OpenObjectStore object_stores;  ///< Opens directories that are URLs; empty: none can be.

  // Defined in the .ipp, because each copy of the code would take a kilobyte.
  TrainingOptions() = default;
  DISTRIB_DECL TrainingOptions(const TrainingOptions&);
  DISTRIB_DECL TrainingOptions(TrainingOptions&&) noexcept;
  DISTRIB_DECL auto operator=(const TrainingOptions&) -> TrainingOptions&;
  DISTRIB_DECL auto operator=(TrainingOptions&&) noexcept -> TrainingOptions&;
  DISTRIB_DECL ~TrainingOptions();
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/training_options.ipp>
#endif

// error: (?s)\A(?!.*no (member|matching)).*a Consistency needs mode, synchronous, describe\(\) and, when not synchronous, staleness
// SPDX-License-Identifier: Apache-2.0
#include "support/least_model.hpp"

struct Mine {
  static constexpr std::string_view mode = "mine";
  static constexpr bool synchronous = false;
#ifndef DISTRIB_COMPILE_FAIL
  static constexpr std::uint64_t staleness = 1;
#endif
  auto describe() const -> std::string { return "mine"; }
  auto operator==(const Mine&) const -> bool = default;
};

auto builder() { return distrib::train(LeastModel{}).with_consistency(Mine{}); }

// What is said after the fault is right, so none of it is reported, too.
auto complete() {
  return builder()
      .with_placement(distrib::RoundRobinStrategy{})
      .with_partitioner(distrib::FixedShardsPartitioner{1})
      .with_updater(distrib::Sgd{})
      .with_hooks(distrib::StopAtStep{1})
      .with_seed(1)
      .with_initial_checkpoint("")
      .with_check_numerics()
      .with_row_mean(distrib::RowMean::of_all)
      .with_wire_format(distrib::FloatFormat::float32)
      .with_local_mode({.workers = 2})
      .with_cluster_mode({.replay_budget_bytes = 0})
      .with_replicas(1);
}

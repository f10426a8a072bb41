// error: (?s)\A(?!.*no (member|matching)).*with_consistency takes BulkSynchronousParallel, StaleSynchronousParallel or
// AsynchronousParallel SPDX-License-Identifier: Apache-2.0
#include "support/least_model.hpp"

// Looks like the three existing modes, but a parameter server would not know it.
struct Mine {
  std::uint64_t staleness = 1;
#ifndef DISTRIB_COMPILE_FAIL
  operator distrib::Consistency() const { return distrib::StaleSynchronousParallel{.staleness = staleness}; }
#endif
};

auto builder() { return distrib::train(LeastModel{}).with_consistency(Mine{}); }

// The calls after the fault are correct: the compiler must not report any of them.
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

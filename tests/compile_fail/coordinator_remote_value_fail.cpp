// error: distrib: schedule<F>: a RemoteValue cannot be an argument
// SPDX-License-Identifier: Apache-2.0
#include <distrib/coordinator/cluster_coordinator.hpp>

struct Train {
  static constexpr std::string_view name = "train";
  auto operator()(distrib::FunctionContext&, int step) const -> int { return step; }
};

void likeliest_mistake(distrib::ClusterCoordinator<distrib::FunctionList<Train>>& coordinator) {
  const auto first = coordinator.schedule<Train>(1);
#ifdef DISTRIB_COMPILE_FAIL
  coordinator.schedule<Train>(first);
#else
  coordinator.schedule<Train>(coordinator.fetch(first));
#endif
}

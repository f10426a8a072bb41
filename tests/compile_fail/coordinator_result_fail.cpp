// error: distrib: schedule<F>: the result of F cannot be sent
// SPDX-License-Identifier: Apache-2.0
#include <distrib/coordinator/cluster_coordinator.hpp>

#include <memory>

struct Open {
  static constexpr std::string_view name = "open";
  auto operator()(distrib::FunctionContext&) const -> std::unique_ptr<int> { return nullptr; }
};

void likeliest_mistake(distrib::ClusterCoordinator<distrib::FunctionList<Open>>& coordinator) {
#ifdef DISTRIB_COMPILE_FAIL
  coordinator.schedule<Open>();
#else
  static_cast<void>(coordinator.create_per_worker<Open>());
#endif
}

// error: distrib: schedule<F>\(args...\): the arguments do not fit F's operator\(\)
// SPDX-License-Identifier: Apache-2.0
#include <distrib/coordinator/cluster_coordinator.hpp>

struct Train {
  static constexpr std::string_view name = "train";
  void operator()(distrib::FunctionContext&, int, const std::string&) const {}
};

void likeliest_mistake(distrib::ClusterCoordinator<distrib::FunctionList<Train>>& coordinator) {
#ifdef DISTRIB_COMPILE_FAIL
  coordinator.schedule<Train>("path", 1);
#else
  coordinator.schedule<Train>(1, "path");
#endif
}

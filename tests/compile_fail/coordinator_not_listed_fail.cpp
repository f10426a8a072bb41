// error: distrib: schedule<F>: F is not in the FunctionList of this coordinator
// SPDX-License-Identifier: Apache-2.0
#include <distrib/coordinator/cluster_coordinator.hpp>

struct Train {
  static constexpr std::string_view name = "train";
  void operator()(distrib::FunctionContext&) const {}
};
struct Evaluate {
  static constexpr std::string_view name = "evaluate";
  void operator()(distrib::FunctionContext&) const {}
};
#ifdef DISTRIB_COMPILE_FAIL
using Functions = distrib::FunctionList<Train>;
#else
using Functions = distrib::FunctionList<Train, Evaluate>;
#endif

void likeliest_mistake(distrib::ClusterCoordinator<Functions>& coordinator) { coordinator.schedule<Evaluate>(); }

// error: distrib: FunctionList<F>: F needs one operator\(\)\(distrib::FunctionContext&, parameters...\) const
// SPDX-License-Identifier: Apache-2.0
#include <distrib/coordinator/cluster_coordinator.hpp>

struct Train {
  static constexpr std::string_view name = "train";
#ifdef DISTRIB_COMPILE_FAIL
  void operator()(distrib::FunctionContext&, int) {}
#else
  void operator()(distrib::FunctionContext&, int) const {}
#endif
};
constexpr auto size = sizeof(distrib::FunctionList<Train>);

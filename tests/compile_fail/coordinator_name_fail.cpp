// error: distrib: FunctionList<F>: F needs a default constructor and a name
// SPDX-License-Identifier: Apache-2.0
#include <distrib/coordinator/cluster_coordinator.hpp>

struct Train {
#ifndef DISTRIB_COMPILE_FAIL
  static constexpr std::string_view name = "train";
#endif
  void operator()(distrib::FunctionContext&) const {}
};
constexpr auto size = sizeof(distrib::FunctionList<Train>);

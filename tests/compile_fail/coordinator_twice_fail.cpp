// error: distrib: two functions of a FunctionList have the same name
// SPDX-License-Identifier: Apache-2.0
#include <distrib/coordinator/cluster_coordinator.hpp>

struct Train {
  static constexpr std::string_view name = "train";
  void operator()(distrib::FunctionContext&) const {}
};
struct Again {
#ifdef DISTRIB_COMPILE_FAIL
  static constexpr std::string_view name = "train";
#else
  static constexpr std::string_view name = "again";
#endif
  void operator()(distrib::FunctionContext&) const {}
};
constexpr auto size = sizeof(distrib::FunctionList<Train, Again>);

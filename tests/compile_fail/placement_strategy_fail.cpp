// error: a PlacementStrategy needs place\(const distrib::PlacementRequest&, std::uint32_t num_tasks\)
// SPDX-License-Identifier: Apache-2.0
#include <distrib/placement/replica_device_setter.hpp>

struct FirstTask {
#ifndef DISTRIB_COMPILE_FAIL
  auto place(const distrib::PlacementRequest&, std::uint32_t) -> std::uint32_t { return 0; }
#endif
};

auto device = distrib::replica_device_setter({.ps_tasks = 2}, FirstTask{});
auto text = device({.name = "weights"});

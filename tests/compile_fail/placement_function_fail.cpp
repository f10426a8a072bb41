// error: distrib::FunctionStrategy makes one from a function
// SPDX-License-Identifier: Apache-2.0
#include <distrib/placement/function.hpp>
#include <distrib/placement/replica_device_setter.hpp>

auto last = [](const distrib::PlacementRequest&, std::uint32_t num_tasks) { return num_tasks - 1; };

#ifdef DISTRIB_COMPILE_FAIL
auto device = distrib::replica_device_setter({.ps_tasks = 2}, last);
#else
auto device = distrib::replica_device_setter({.ps_tasks = 2}, distrib::FunctionStrategy{last});
#endif
auto text = device({.name = "weights"});

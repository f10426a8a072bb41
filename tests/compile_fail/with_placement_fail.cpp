// error: a PlacementStrategy needs place\(const distrib::PlacementRequest&, std::uint32_t num_tasks\)
// SPDX-License-Identifier: Apache-2.0
#include "support/least_model.hpp"

struct Mine {
#ifndef DISTRIB_COMPILE_FAIL
  static auto place(const distrib::PlacementRequest&, std::uint32_t) -> std::uint32_t { return 0; }
#endif
};

auto builder = distrib::train(LeastModel{}).with_placement(Mine{});

// error: a Partitioner needs partition\(const distrib::Shape&, distrib::DType\) const
// SPDX-License-Identifier: Apache-2.0
#include <distrib/sharding/part_slices.hpp>

struct Halves {
#ifndef DISTRIB_COMPILE_FAIL
  auto partition(const distrib::Shape&, distrib::DType) const -> distrib::Partition { return {.parts = 2}; }
#endif
};

auto slices = distrib::part_slices({4, 4}, distrib::DType::float32, Halves{});

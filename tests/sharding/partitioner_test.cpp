// SPDX-License-Identifier: Apache-2.0
#include <distrib/sharding/partitioner.hpp>

#include "support/catch.hpp"

namespace {
/// One part for each row: a partitioner of a user.
struct Rows {
  auto partition(const distrib::Shape& shape, distrib::DType) const -> distrib::Partition { return {0, shape[0]}; }
};
}  // namespace

TEST_CASE("Partitioner: a user's own", "[sharding]") {
  static_assert(distrib::Partitioner<Rows>);
  CHECK(Rows{}.partition({3, 4}, distrib::DType::float32) == distrib::Partition{.axis = 0, .parts = 3});
  CHECK(distrib::Partition{} == distrib::Partition{.axis = 0, .parts = 1});
}

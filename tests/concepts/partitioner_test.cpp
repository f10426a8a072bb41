// SPDX-License-Identifier: Apache-2.0
#include <distrib/sharding/partitioner.hpp>

#include "support/catch.hpp"

namespace {

/// The smallest Partitioner: no default constructor, no assignment, no comparison.
class LeastPartitioner {
 public:
  explicit LeastPartitioner(int) {}
  LeastPartitioner(const LeastPartitioner&) = default;
  auto operator=(const LeastPartitioner&) -> LeastPartitioner& = delete;
  auto partition(const distrib::Shape&, distrib::DType) const -> distrib::Partition { return {}; }
};

struct Uncut {};
struct MutablePartitioner {
  auto partition(const distrib::Shape&, distrib::DType) -> distrib::Partition { return {}; }
};
struct WrongPartitioner {
  auto partition(const distrib::Shape&, distrib::DType) const -> int { return 1; }
};

}  // namespace

TEST_CASE("Partitioner: accepts the smallest model, refuses types that lack a part", "[concepts]") {
  STATIC_REQUIRE(distrib::Partitioner<LeastPartitioner>);
  STATIC_REQUIRE_FALSE(distrib::Partitioner<Uncut>);
  STATIC_REQUIRE_FALSE(distrib::Partitioner<MutablePartitioner>);
  STATIC_REQUIRE_FALSE(distrib::Partitioner<WrongPartitioner>);
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/placement/strategy.hpp>

#include "support/catch.hpp"

namespace {

/// The smallest PlacementStrategy: no default constructor, no assignment, no comparison.
class LeastStrategy {
 public:
  explicit LeastStrategy(int) {}
  LeastStrategy(const LeastStrategy&) = default;
  auto operator=(const LeastStrategy&) -> LeastStrategy& = delete;
  auto place(const distrib::PlacementRequest&, std::uint32_t) -> std::uint32_t { return 0; }
};

struct Unplaced {};
struct WrongStrategy {
  auto place(const distrib::PlacementRequest&, std::uint32_t) -> const char* { return ""; }
};
struct UniqueStrategy {
  UniqueStrategy() = default;
  UniqueStrategy(UniqueStrategy&&) = default;
  auto place(const distrib::PlacementRequest&, std::uint32_t) -> std::uint32_t { return 0; }
};

}  // namespace

TEST_CASE("PlacementStrategy: accepts the smallest model, refuses types that lack a part", "[concepts]") {
  STATIC_REQUIRE(distrib::PlacementStrategy<LeastStrategy>);
  STATIC_REQUIRE_FALSE(distrib::PlacementStrategy<Unplaced>);
  STATIC_REQUIRE_FALSE(distrib::PlacementStrategy<WrongStrategy>);
  STATIC_REQUIRE_FALSE(distrib::PlacementStrategy<UniqueStrategy>);
  STATIC_REQUIRE_FALSE(distrib::PlacementStrategy<int>);
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/placement/strategy.hpp>

#include "support/catch.hpp"

namespace {
/// By the length of the name: a strategy of a user.
struct ByName {
  auto place(const distrib::PlacementRequest& request, std::uint32_t num_tasks) const -> std::uint32_t {
    return static_cast<std::uint32_t>(request.name.size()) % num_tasks;
  }
};
}  // namespace

TEST_CASE("PlacementStrategy: a user's own", "[placement]") {
  static_assert(distrib::PlacementStrategy<ByName>);
  CHECK(ByName{}.place({"bias", distrib::DType::float32, {10}}, 3) == 1);
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/stored_tensor.hpp>

#include "support/catch.hpp"

using distrib::Slice;
using distrib::StoredTensor;

TEST_CASE("StoredTensor: the cut is that of its pieces, as they are stored", "[checkpoint]") {
  const Slice lower{{2, 0}, {1, 4}};
  const Slice upper{{0, 0}, {2, 4}};
  const StoredTensor tensor{.name = "w", .shape = {3, 4}, .pieces = {{.slice = lower}, {.slice = upper, .shard = 1}}};
  CHECK(tensor.slices() == std::vector{lower, upper});
  CHECK(StoredTensor{}.slices().empty());
}

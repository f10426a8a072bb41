// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/order/batching.hpp>

#include "support/catch.hpp"

using distrib::Batching;
using distrib::data_errc;
using distrib::Remainder;

TEST_CASE("Batching: counts whole batches, and the short last batch if it is kept", "[data]") {
  const Batching kept{3, Remainder::keep};
  CHECK(kept.batches(10) == 4);
  CHECK(kept.first(3) == 9);
  CHECK(kept.count(2, 10) == 3);
  CHECK(kept.count(3, 10) == 1);
  CHECK(kept.batches(9) == 3);
  CHECK(kept.batches(0) == 0);
  const Batching dropped{3};
  CHECK(dropped.batches(10) == 3);
  CHECK(dropped.batches(2) == 0);
  CHECK(dropped.batches(distrib::endless) == UINT64_MAX / 3);
  CHECK(kept.batches(distrib::endless) == UINT64_MAX / 3);
}

TEST_CASE("Batching: refuses size 0 and sizes above 2^31", "[data]") {
  CHECK(!Batching{1}.check());
  CHECK(!Batching{Batching::most_in_batch}.check());
  CHECK(Batching{}.check() == data_errc::bad_batch_size);
  CHECK(Batching{Batching::most_in_batch + 1}.check() == data_errc::bad_batch_size);
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/checkpoint/retention.hpp>

#include "support/catch.hpp"

using distrib::Retention;

TEST_CASE("Retention: with_at_least raises max_to_keep, except where it means all", "[checkpoint]") {
  const Retention one{.max_to_keep = 1, .keep_checkpoint_every_n_hours = 1.5};
  CHECK(one.with_at_least(2) == Retention{.max_to_keep = 2, .keep_checkpoint_every_n_hours = 1.5});
  CHECK(Retention{}.with_at_least(2) == Retention{});
  CHECK(Retention{.max_to_keep = 0}.with_at_least(2) == Retention{.max_to_keep = 0});
}

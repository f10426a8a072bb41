// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/metrics.hpp>

#include "support/catch.hpp"

TEST_CASE("Metrics: means are weighted by the numbers of examples", "[train]") {
  distrib::Metrics all;
  all.merge({100, {{"accuracy", 0.5}, {"loss", 2.0}}});
  all.merge({300, {{"accuracy", 0.9}, {"loss", 1.0}}});
  CHECK(all.examples == 400);
  CHECK(*all.find("accuracy") == Approx(0.8));
  CHECK(*all.find("loss") == Approx(1.25));
  CHECK_FALSE(all.find("recall"));
}

TEST_CASE("Metrics: nothing merged changes nothing", "[train]") {
  distrib::Metrics all{10, {{"loss", 3.0}}};
  all.merge({});
  CHECK(all == distrib::Metrics{10, {{"loss", 3.0}}});
}

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

TEST_CASE("Metrics: merging empty metrics changes nothing", "[train]") {
  distrib::Metrics all{10, {{"loss", 3.0}}};
  all.merge({});
  CHECK(all == distrib::Metrics{10, {{"loss", 3.0}}});
}

TEST_CASE("Metrics: a mean that only one side has is kept, and counts for all examples", "[train]") {
  distrib::Metrics all{10, {{"loss", 3.0}}};
  all.merge({30, {{"accuracy", 0.5}}});
  CHECK(all == distrib::Metrics{40, {{"loss", 3.0}, {"accuracy", 0.5}}});
  all.merge({40, {{"loss", 1.0}, {"accuracy", 1.0}}});
  CHECK(*all.find("loss") == Approx(2.0));
  CHECK(*all.find("accuracy") == Approx(0.75));
}

TEST_CASE("Metrics: an area is computed from the counts of all batches, not averaged", "[train]") {
  const auto batch = [](float negative, float positive) {
    distrib::Metrics metrics{2, {{"loss", 1.0}}, {{"auc", distrib::RocAuc{}}}};
    metrics.areas[0].second.add(negative, false);
    metrics.areas[0].second.add(positive, true);
    return metrics;
  };
  distrib::Metrics all;
  all.merge(batch(0.1F, 0.3F));  // each batch in the right order,
  all.merge(batch(0.5F, 0.7F));  // but 0.3 is below 0.5
  CHECK(all.examples == 4);
  CHECK(*all.find("auc") == 0.75);
  CHECK(all.values() == std::vector<std::pair<std::string, double>>{{"loss", 1.0}, {"auc", 0.75}});
}

TEST_CASE("Metrics: areas of metrics without examples count, their means do not", "[train]") {
  distrib::RocAuc area;
  area.add(0.2F, false);
  area.add(0.8F, true);
  distrib::Metrics all{10, {{"loss", 3.0}}, {}};
  all.merge({0, {{"loss", 5.0}, {"accuracy", 0.5}}, {{"auc", area}}});
  CHECK(all == distrib::Metrics{10, {{"loss", 3.0}}, {{"auc", area}}});
  distrib::Metrics none;
  none.merge({0, {}, {{"auc", area}}});
  CHECK(none == distrib::Metrics{0, {}, {{"auc", area}}});
}

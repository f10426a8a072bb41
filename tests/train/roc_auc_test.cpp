// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/roc_auc.hpp>

#include "support/catch.hpp"

#include <distrib/core/philox.hpp>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace {

using Scored = std::vector<std::pair<float, bool>>;

auto area(const Scored& examples, std::uint32_t thresholds) -> double {
  distrib::RocAuc auc{thresholds};
  for (const auto& [score, positive] : examples) auc.add(score, positive);
  return auc.value();
}

// The definition: the share of pairs of a positive and a negative example that are in the right order.
auto area_by_pairs(const Scored& examples) -> double {
  double right = 0, pairs = 0;
  for (const auto& [high, positive] : examples)
    for (const auto& [low, other] : examples)
      if (positive && !other) {
        right += high > low ? 1 : high == low ? 0.5 : 0;
        ++pairs;
      }
  return right / pairs;
}

}  // namespace

TEST_CASE("RocAuc: the example of TensorFlow's documentation", "[train]") {
  // tf.keras.metrics.AUC(num_thresholds=3), labels 0 0 1 1, scores 0 0.5 0.3 0.9: 0.75
  CHECK(area({{0.0F, false}, {0.5F, false}, {0.3F, true}, {0.9F, true}}, 3) == 0.75);
}

TEST_CASE("RocAuc: right order, wrong order, and scores without information", "[train]") {
  CHECK(area({{0.1F, false}, {0.9F, true}}, 200) == 1.0);
  CHECK(area({{0.9F, false}, {0.1F, true}}, 200) == 0.0);
  CHECK(area({{0.4F, false}, {0.4F, true}}, 200) == 0.5);
  CHECK(area({{0.0F, false}, {1.0F, true}}, 2) == 0.5);  // one bucket
  CHECK(area({}, 200) == 0.0);
  CHECK(area({{0.4F, true}}, 200) == 0.0);
}

TEST_CASE("RocAuc: a score equal to a threshold belongs to the bucket below it", "[train]") {
  CHECK(area({{0.5F, false}, {0.25F, true}}, 3) == 0.5);
  CHECK(area({{0.5F, false}, {0.50001F, true}}, 3) == 1.0);
}

TEST_CASE("RocAuc: the more thresholds, the nearer to the share of pairs in the right order", "[train]") {
  distrib::Philox random{1, 0, 0};
  Scored examples;
  for (int i = 0; i < 2000; ++i) {
    const float score = distrib::uniform01(random());
    examples.emplace_back(score, distrib::uniform01(random()) < score * score);
  }
  const double exact = area_by_pairs(examples);
  CHECK(exact > 0.7);
  CHECK(std::abs(area(examples, 200) - exact) < 1e-3);
  CHECK(std::abs(area(examples, 20000) - exact) < 1e-5);
  CHECK(std::abs(area(examples, 20000) - exact) < std::abs(area(examples, 20) - exact));
}

TEST_CASE("RocAuc: merged counts equal the counts of all examples", "[train]") {
  distrib::Philox random{2, 0, 0};
  distrib::RocAuc whole, first, second;
  for (int i = 0; i < 1000; ++i) {
    const float score = distrib::uniform01(random());
    const bool positive = random() % 3 == 0;
    whole.add(score, positive);
    (i < 300 ? first : second).add(score, positive);
  }
  second.merge(first);
  CHECK(second == whole);
  CHECK(second.value() == whole.value());
  CHECK(first != whole);
}

TEST_CASE("RocAuc: a score that is not a probability makes the result NaN", "[train]") {
  for (const float score : {-0.1F, 1.1F, std::numeric_limits<float>::quiet_NaN()}) {
    distrib::RocAuc all, batch;
    all.add(0.1F, false);
    all.add(0.9F, true);
    batch.add(score, true);
    CHECK(std::isnan(batch.value()));
    all.merge(batch);
    CHECK(std::isnan(all.value()));
  }
}

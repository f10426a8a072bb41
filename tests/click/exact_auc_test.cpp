// SPDX-License-Identifier: Apache-2.0
#include "examples/click/exact_auc.hpp"

#include "support/catch.hpp"

#include <distrib/core/philox.hpp>
#include <distrib/train/roc_auc.hpp>

#include <cmath>
#include <utility>
#include <vector>

TEST_CASE("exact_auc: right order, wrong order, ties, no pairs", "[click]") {
  CHECK(exact_auc({{0.1, false}, {0.9, true}}) == 1);
  CHECK(exact_auc({{0.9, false}, {0.1, true}}) == 0);
  CHECK(exact_auc({{-7, true}, {-7, false}}) == 0.5);
  CHECK(exact_auc({{3, true}, {2, true}, {2, false}, {1, false}}) == 0.875);
  CHECK(exact_auc({}) == 0);
  CHECK(exact_auc({{1, true}, {2, true}}) == 0);
}

TEST_CASE("exact_auc: the share of pairs in the right order, for any order of the examples", "[click]") {
  distrib::Philox random{3, 0, 0};
  std::vector<Scored> examples;
  distrib::RocAuc counted{20'001};
  for (int i = 0; i < 1000; ++i) {
    const float score = static_cast<float>(random() % 300) / 300;  // many scores are equal
    const bool clicked = distrib::uniform01(random()) < score;
    examples.push_back({double{score}, clicked});
    counted.add(score, clicked);
  }
  double right = 0, pairs = 0;
  for (const Scored& click : examples)
    for (const Scored& other : examples)
      if (click.clicked && !other.clicked) {
        right += click.score > other.score ? 1 : click.score == other.score ? 0.5 : 0;
        ++pairs;
      }
  CHECK(exact_auc(examples) == right / pairs);
  CHECK(std::abs(counted.value() - right / pairs) < 1e-12);  // each score has a bucket of its own
  CHECK(exact_auc({examples.rbegin(), examples.rend()}) == right / pairs);
}

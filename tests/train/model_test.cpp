// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/model.hpp>

#include "support/catch.hpp"
#include "train/line_model.hpp"

namespace {
struct NotAModel {
  using Variables = LineModel::Variables;
  struct Example {};
};
struct WithoutEvaluate {
  using Variables = LineModel::Variables;
  using Example = LineModel::Example;
  auto variables() const -> Variables { return LineModel{}.variables(); }
  auto gradients(const distrib::Batch<Example>&, const distrib::Values<Variables>&, distrib::Gradients<Variables>&,
                 distrib::StepContext) const -> float {
    return 0;
  }
};
}  // namespace

TEST_CASE("Model: variables() and gradients() make a model, evaluate() makes it measurable", "[train]") {
  STATIC_REQUIRE(distrib::detail::EvaluatedModel<LineModel>);
  STATIC_REQUIRE(distrib::Model<WithoutEvaluate>);
  STATIC_REQUIRE_FALSE(distrib::detail::EvaluatedModel<WithoutEvaluate>);
  STATIC_REQUIRE_FALSE(distrib::Model<NotAModel>);
  STATIC_REQUIRE_FALSE(distrib::Model<int>);
}

TEST_CASE("StepContext: random() is a function of (seed, step, rank)", "[train]") {
  const auto first = [](distrib::StepContext context) { return context.random()(); };
  const distrib::StepContext context{.step = 3, .rank = 1, .workers = 4, .seed = 9};
  CHECK(first(context) == first(context));
  CHECK(first(context) != first({.step = 4, .rank = 1, .workers = 4, .seed = 9}));
  CHECK(first(context) != first({.step = 3, .rank = 2, .workers = 4, .seed = 9}));
  CHECK(first(context) != first({.step = 3, .rank = 1, .workers = 4, .seed = 8}));
  CHECK(first(context) == first({.step = 3, .rank = 1, .workers = 5, .seed = 9}));
}

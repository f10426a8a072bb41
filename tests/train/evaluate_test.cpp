// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/evaluate.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_model.hpp"

#include <distrib/train/contributor.hpp>
#include <distrib/train/hook.hpp>

TEST_CASE("Evaluate: a setting with its data", "[train]") {
  const distrib::Evaluate setting{42, 7};
  STATIC_REQUIRE(distrib::Hook<distrib::Evaluate<int>>);
  CHECK(setting.data == 42);
  CHECK(setting.every_steps == 7);
}

TEST_CASE("evaluate: each example once, the mean weighted by the sizes of the batches", "[train]") {
  const support::TempDirectory directory;
  const auto dataset = line_model::write(directory.path(), 100);
  const LineModel model;
  distrib::Values<LineModel::Variables> values{model.variables()};  // zeros: the error is y
  const auto by_30 = distrib::evaluate(model, dataset.batch(30).open(), values);
  const auto by_100 = distrib::evaluate(model, dataset.batch(100).open(), values);
  CHECK(by_30.examples == 100);
  CHECK(*by_30.find("squared_error") == Approx(*by_100.find("squared_error")));
}

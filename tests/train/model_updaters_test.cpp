// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/model_updaters.hpp>

#include <distrib/optimizer/sgd.hpp>

#include "support/catch.hpp"

#include <vector>

TEST_CASE("updated_by_model: the tables follow the variables", "[train]") {
  distrib::Job job;
  job.variables = {{"w", distrib::DType::float32, {7, 5}, {}},
                   {"seen", distrib::DType::int64, {2}, {}},
                   {"b", distrib::DType::float32, {5}, {}}};
  distrib::TableInfo table;
  table.name = "t";
  table.dim = 3;
  job.tables = {table};
  CHECK(distrib::updated_by_model(job, {{"b", distrib::Sgd{}}}) == std::vector<bool>{false, false, true, false});
  CHECK(distrib::updated_by_model(job, {{"t", distrib::Sgd{}}}) == std::vector<bool>{false, false, false, true});
  // Only whole names count; names that the job does not have are refused elsewhere.
  CHECK(distrib::updated_by_model(job, {{"bb", distrib::Sgd{}}}) == std::vector<bool>(4, false));
  CHECK(distrib::updated_by_model(job, {}).empty());
}

// SPDX-License-Identifier: Apache-2.0
// Models with tables in one process, from end to end.
#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/table_model.hpp"

using namespace distrib;

TEST_CASE("tables: local mode learns, and the number of shards changes nothing", "[train]") {
  const support::TempDirectory data;
  const auto dataset = table_model::write(data.path());
  std::vector<TrainingResult> results;
  for (const std::uint32_t shards : {1U, 2U, 3U}) {
    auto trainer = table_model::builder(dataset, 3, shards, 60).build();
    CHECK(trainer.run() == 0);
    results.push_back(trainer.result());
  }
  for (const TrainingResult& result : results) {
    CHECK(*result.metrics.find("squared_error") < 0.05);
    CHECK(result.metrics == results.front().metrics);
    CHECK(result.loss == results.front().loss);
    CHECK(result.parameters_sha256 == results.front().parameters_sha256);
  }
}

TEST_CASE("tables: a key that a table does not have ends the job; the error names it", "[train]") {
  const support::TempDirectory data;
  const auto dataset = table_model::write(data.path());
  struct Astray : TableModel {
    void lookups(const Batch<Example>& batch, Lookups<Variables>& lookups) const {
      TableModel::lookups(batch, lookups);
      get<"items">(lookups).front() = num_items;
    }
  };
  auto trainer = train(Astray{}).with_data(dataset.shuffle(3).batch(10)).with_hooks(StopAtStep{5}).build();
  CHECK_THROWS_WITH(trainer.run(), ContainsSubstring("items: key 40 of 40 rows"));
}

TEST_CASE("tables: with RowMean::of_all the result has other bits, and the number of shards changes nothing",
          "[train]") {
  const support::TempDirectory data;
  const auto dataset = table_model::write(data.path());
  const auto hash = [&](std::uint32_t workers, std::uint32_t shards, RowMean mean) {
    auto trainer = table_model::builder(dataset, workers, shards, 20).with_row_mean(mean).build();
    CHECK(trainer.run() == 0);
    return trainer.result().parameters_sha256;
  };
  const std::string of_all = hash(3, 1, RowMean::of_all);
  CHECK(hash(3, 2, RowMean::of_all) == of_all);
  CHECK(hash(3, 1, RowMean::of_those_with_key) != of_all);
  CHECK(hash(1, 1, RowMean::of_those_with_key) == hash(1, 1, RowMean::of_all));  // each step has one contribution
}

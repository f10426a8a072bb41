// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/own_batches.hpp>

#include <distrib/ps/job/job.hpp>
#include <distrib/train/builder.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"

using namespace distrib;

TEST_CASE("OwnBatches: a data source without batches, for a model with or without a type of examples", "[train]") {
  static_assert(Dataset<OwnBatches>);
  const auto source = OwnBatches{.batch_size = 7}.open();
  CHECK(source.batch_size() == 7);
  CHECK_FALSE(source.batches());
  CHECK(source.records() == 0);
  CHECK(source.in_order_batches() == 0);
  Batch<LineModel::Example> batch;
  source.fill(3, batch);
  CHECK(batch.size() == 0);
}

TEST_CASE("OwnBatches: the job is marked as not replayable, and has one replica of each shard", "[train]") {
  const auto own = session(LineModel{}).with_data(OwnBatches{}).with_hooks(StopAtStep{3});
  const auto job_of = [](const auto& builder, std::uint32_t tasks) {
    const TrainingPlan plan = builder.plan();
    return plan.cluster_job(*plan.model().open(), tasks, 2, 1 << 20).job;
  };
  CHECK_FALSE(job_of(own, 2).replayable);
  CHECK(to_text(job_of(own, 2)).find("data batches of the program's own\nreplayable false\n") != std::string::npos);
  CHECK_THROWS_WITH(job_of(own.with_replicas(2), 2), ContainsSubstring("2 replicas, 2 parameter servers"));

  const support::TempDirectory directory;
  const auto read = session(LineModel{})
                        .with_data(line_model::write(directory.path()).shuffle(3).batch(10))
                        .with_hooks(StopAtStep{3});
  CHECK(job_of(read.with_replicas(2), 2).replayable);
}

// SPDX-License-Identifier: Apache-2.0
// Models with tables in a cluster, from end to end.
#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"
#include "train/loopback_cluster.hpp"
#include "train/table_model.hpp"

#include <cstdint>
#include <utility>
#include <vector>

using namespace distrib;

TEST_CASE("tables: a cluster ends with the bits of one process, on any number of parameter servers", "[train]") {
  const support::TempDirectory data;
  const auto dataset = table_model::write(data.path());
  std::vector<std::pair<Step, Metrics>> expected;
  auto local = table_model::builder(dataset, 1, 1, 60).with_hooks(table_model::Evaluations{&expected}).build();
  CHECK(local.run() == 0);
  REQUIRE(expected.size() == 3);
  for (const std::size_t servers : {1U, 2U, 3U})
    for (const std::uint32_t shards : {1U, 2U}) {
      CAPTURE(servers, shards);
      std::vector<std::pair<Step, Metrics>> heard;
      const auto builder = table_model::builder(dataset, 1, shards, 60).with_hooks(table_model::Evaluations{&heard});
      const auto result = loopback_cluster::run(builder, servers, 1);
      CHECK(result.metrics == local.result().metrics);
      CHECK(result.parameters_sha256 == local.result().parameters_sha256);
      CHECK(heard == expected);
    }
}

TEST_CASE("tables: kept in a 16-bit format, the job ends with the same bits, interrupted or not", "[train]") {
  const support::TempDirectory data;
  const auto dataset = table_model::write(data.path());
  for (const FloatFormat format : {FloatFormat::bfloat16, FloatFormat::float16}) {
    const auto builder = [&](std::uint32_t shards) {
      return table_model::builder(dataset, 2, shards, 60, {.kept_as = format});
    };
    auto local = builder(1).build();
    CHECK(local.run() == 0);
    CHECK(*local.result().metrics.find("squared_error") < 0.08);
    for (const std::size_t servers : {1U, 2U, 3U}) {
      CAPTURE(to_text(format), servers);
      const auto result = loopback_cluster::run(builder(2), servers, 2);
      CHECK(result.metrics == local.result().metrics);
      CHECK(result.parameters_sha256 == local.result().parameters_sha256);
    }
    const support::TempDirectory out;
    const SaveCheckpoint save{.directory = out.path().string(), .every_steps = 10};
    auto first = builder(3).with_hooks(save, line_job::StopAfter{23}).build();
    CHECK(first.run() == 1);
    auto second = builder(2).with_hooks(save).build();
    CHECK(second.run() == 0);
    CHECK(second.result().parameters_sha256 == local.result().parameters_sha256);
  }
}

TEST_CASE("tables: with max_rows, the job ends with the same bits on any number of servers, interrupted or not",
          "[train]") {
  const support::TempDirectory data;
  const auto dataset = table_model::write(data.path(), 600, table_model::crowded_users(60));
  const auto builder = [&](std::uint32_t shards) {
    return table_model::builder(dataset, 2, shards, 60, {.max_rows = 8 * 1024, .half_life = 64});
  };
  auto local = builder(1).build();
  CHECK(local.run() == 0);
  for (const std::size_t servers : {1U, 2U, 3U})
    for (const std::uint32_t shards : {1U, 2U}) {
      CAPTURE(servers, shards);
      const auto result = loopback_cluster::run(builder(shards), servers, 2);
      CHECK(result.parameters_sha256 == local.result().parameters_sha256);
    }
  const support::TempDirectory out;
  const SaveCheckpoint save{.directory = out.path().string(), .every_steps = 10};
  auto first = builder(3).with_hooks(save, line_job::StopAfter{23}).build();
  CHECK(first.run() == 1);
  auto second = builder(2).with_hooks(save).build();
  CHECK(second.run() == 0);
  CHECK(second.result().parameters_sha256 == local.result().parameters_sha256);
}

TEST_CASE("tables: an asynchronous job learns, too", "[train]") {
  const support::TempDirectory data;
  const auto dataset = table_model::write(data.path());
  auto local = table_model::builder(dataset, 2, 2, 120).with_consistency(AsynchronousParallel{}).build();
  CHECK(local.run() == 0);
  CHECK(*local.result().metrics.find("squared_error") < 0.05);
  std::vector<std::pair<Step, Metrics>> heard;
  const auto builder = table_model::builder(dataset, 1, 2, 240)
                           .with_consistency(AsynchronousParallel{})
                           .with_hooks(table_model::Evaluations{&heard});
  const auto result = loopback_cluster::run(builder, 2, 1);
  CHECK(*result.metrics.find("squared_error") < 0.05);
  CHECK(heard.size() == 12);
}

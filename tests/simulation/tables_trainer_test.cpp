// SPDX-License-Identifier: Apache-2.0
#include "sim/trainers.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/runtime_models.hpp"
#include "train/table_model.hpp"

#include <string>

using namespace distrib;
using trainers::check_seeds;
using trainers::local_sha256;

TEST_CASE("A trainer with embeddings ends with the bits of local mode in a simulated cluster", "[sim][trainers]") {
  const support::TempDirectory folder;
  const auto builder = table_model::builder(table_model::write(folder.path()), 3, 1, 20);
  check_seeds("tables", builder, folder.path().string(), local_sha256(builder), 60);
}

TEST_CASE("A trainer with max_rows ends with the bits of local mode in a simulated cluster", "[sim][trainers]") {
  const support::TempDirectory folder;
  const auto data = table_model::write(folder.path(), 600, table_model::crowded_users(60));
  const TableModel model{.max_rows = 8 * 1024, .half_life = 64};  // 8 of 20 in each virtual shard
  const auto builder = table_model::builder(data, 3, 1, 20, model);
  const std::string expected = local_sha256(builder);
  CHECK(expected != local_sha256(table_model::builder(data, 3, 1, 20)));
  CHECK(expected == local_sha256(table_model::builder(data, 3, 4, 20, model)));
  check_seeds("max_rows", builder, folder.path().string(), expected, 60);
}

TEST_CASE("A trainer whose cuts have only what has changed ends with the bits of local mode in a simulated cluster",
          "[sim][trainers]") {
  const support::TempDirectory folder;
  const auto data = table_model::write(folder.path(), 600, table_model::crowded_users(60));
  const TableModel model{.max_rows = 8 * 1024, .half_life = 64};
  const auto plain = table_model::builder(data, 3, 1, 16, model);
  const auto saves = plain.with_hooks(
      SaveCheckpoint{.directory = "elsewhere", .every_steps = 8, .max_to_keep = 2, .incremental = true});
  check_seeds("links", saves, folder.path().string(), local_sha256(plain), 48, 1);
}

TEST_CASE("A trainer whose embeddings are known at run time ends with the bits of the same model at compile time",
          "[sim][trainers]") {
  const support::TempDirectory folder;
  const auto data = table_model::write(folder.path());
  const std::string expected = local_sha256(table_model::builder(data, 3, 1, 20));
  const auto builder = table_model::builder(data, 3, 1, 20, RuntimeTableModel{});
  check_seeds("run-time tables", builder, folder.path().string(), expected, 60);
}

TEST_CASE("A trainer with embeddings ends with the bits of local mode if shards have replicas", "[sim][trainers]") {
  const support::TempDirectory folder;
  const auto plain = table_model::builder(table_model::write(folder.path()), 3, 1, 20);
  check_seeds("tables with replicas", plain.with_replicas(2), folder.path().string(), local_sha256(plain), 60);
}

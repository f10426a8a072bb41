// SPDX-License-Identifier: Apache-2.0
#include "sim/trainers.hpp"
#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/table_model.hpp"

using namespace distrib;
using trainers::check_seeds;
using trainers::local_sha256;

TEST_CASE("A trainer with embeddings ends with the bits of local mode in a simulated cluster", "[sim][trainers]") {
  const support::TempDirectory folder;
  const auto builder = table_model::builder(table_model::write(folder.path()), 3, 1, 20);
  check_seeds("tables", builder, folder.path().string(), local_sha256(builder), 60);
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/hooks/final_ops.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"

#include <cmath>
#include <vector>

TEST_CASE("FinalOps: keeps what it computes from the values at the end of a run", "[train]") {
  const support::TempDirectory directory;
  const distrib::FinalOps ops{
      [](const distrib::NamedValues& values) { return values.read("weights").at(0) + values.read("bias").at(0); }};
  CHECK_FALSE(ops.final_ops_values());
  auto trainer = line_job::builder(line_model::write(directory.path()), {.steps = 200}).with_hooks(ops).build();
  CHECK(trainer.run() == 0);
  REQUIRE(ops.final_ops_values());
  CHECK(std::abs(*ops.final_ops_values() - 2.5) < 0.05);  // the line is y = 2 x0 - x1 + 0.5
}

TEST_CASE("FinalOps: without values there is no result", "[train]") {
  distrib::FinalOps ops{[](const distrib::NamedValues&) { return 1; }};
  ops.on_end({});
  CHECK_FALSE(ops.final_ops_values());
}

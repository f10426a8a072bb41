// SPDX-License-Identifier: Apache-2.0
// Whole jobs in one process: the same bits for any parts, shards, threads and interruptions.
#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"

#include <set>
#include <string>

using line_job::builder;
using line_job::Heard;
using line_job::Setup;
using line_job::StopAfter;

TEST_CASE("Local job: learns the line, with the same bits for any parts, shards and threads", "[integration]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  distrib::IoPool pool{2};
  std::set<std::string> hashes;
  for (const Setup& setup :
       {Setup{.steps = 200}, Setup{.shards = 2, .steps = 200}, Setup{.shards = 3, .parts = 2, .steps = 200},
        Setup{.shards = 2, .parts = 2, .steps = 200}}) {
    auto alone = builder(data, setup).build();
    auto trainer = builder(data, setup).with_hooks(distrib::Evaluate{data.batch(64)}).build(pool);
    CHECK(alone.run() == 0);
    CHECK(trainer.run() == 0);
    CHECK(*trainer.result().metrics.find("squared_error") < 1e-6);
    CHECK(trainer.result().metrics.examples == 300);
    CHECK(trainer.result().steps == 200);
    hashes.insert(alone.result().parameters_sha256);
    hashes.insert(trainer.result().parameters_sha256);
  }
  CHECK(hashes.size() == 1);
  CHECK(hashes.begin()->size() == 64);
}

TEST_CASE("Local job: interrupted at any step and started again, it ends with the undisturbed hash", "[integration]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  auto undisturbed = builder(data, {.steps = 400}).build();
  REQUIRE(undisturbed.run() == 0);
  distrib::IoPool pool{2};
  for (const distrib::Step step : {1U, 7U, 20U, 99U}) {
    CAPTURE(step);
    const distrib::SaveCheckpoint save{.directory = (directory / ("out" + std::to_string(step))).string(),
                                       .every_steps = 10};
    auto first = builder(data, {.steps = 400}).with_hooks(save, StopAfter{step}).build(pool);
    REQUIRE(first.run() == 1);
    CHECK_FALSE(first.result().complete);
    CHECK(first.result().steps >= step);

    std::string heard;
    auto second = builder(data, {.shards = 2, .parts = 2, .steps = 400}).with_hooks(save, Heard{&heard}).build(pool);
    CHECK(second.run() == 0);
    CHECK_THAT(heard, ContainsSubstring("start " + std::to_string(first.result().steps) + "\n"));
    CHECK(second.result().parameters_sha256 == undisturbed.result().parameters_sha256);
  }
}

TEST_CASE("Local job: asynchronous training learns the line too", "[integration]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  distrib::IoPool pool{2};
  auto trainer = builder(data, {.steps = 600})
                     .with_consistency(distrib::AsynchronousParallel{})
                     .with_hooks(distrib::Evaluate{data.batch(64)})
                     .build(pool);
  CHECK(trainer.run() == 0);
  CHECK(trainer.result().mode == "async");
  CHECK(trainer.result().steps == 600);
  CHECK(*trainer.result().metrics.find("squared_error") < 1e-3);
}

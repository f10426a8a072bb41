// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/make_local_run.hpp>

#include <distrib/train/builder.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"

#include <memory>
#include <string>

using distrib::ComputeOn;
using distrib::make_local_run;
using distrib::TrainingReport;
using distrib::TrainingRun;

TEST_CASE("make_local_run: contributions are wanted on the owner's thread, or computed on the pool; the same bits",
          "[train]") {
  const support::TempDirectory directory;
  const auto plan = line_job::builder(line_model::write(directory.path())).plan();
  distrib::IoPool pool{2};
  std::string expected;
  const auto run = [&](distrib::IoPool* threads, ComputeOn compute_on) {
    TrainingReport report{plan.hooks()};
    const std::unique_ptr<TrainingRun> one = make_local_run(plan, threads, report, compute_on);
    int made = 0;
    while (one->next()) {
      CHECK(one->next());  // it stays wanted
      CHECK(one->make() >= 0);
      ++made;
    }
    CHECK_FALSE(one->stopping());
    CHECK(one->end() == 0);
    if (expected.empty()) expected = report.result().parameters_sha256;
    CHECK(report.result().parameters_sha256 == expected);
    CHECK(report.result().steps == 40);
    return made;
  };
  CHECK(run(nullptr, ComputeOn::pool) == 120);
  CHECK(run(&pool, ComputeOn::caller) == 120);
  CHECK(run(&pool, ComputeOn::pool) == 0);
}

TEST_CASE("make_local_run: asked to stop, what is wanted may be made or abandoned", "[train]") {
  for (const bool abandons : {false, true}) {
    const support::TempDirectory directory;
    const distrib::SaveCheckpoint save{.directory = (directory / "out").string(), .every_steps = 0};
    const auto plan = line_job::builder(line_model::write(directory.path())).with_hooks(save).plan();
    TrainingReport report{plan.hooks()};
    const std::unique_ptr<TrainingRun> one = make_local_run(plan, nullptr, report, ComputeOn::caller);
    for (int i = 0; i < 10; ++i) {  // three steps of three workers, and one contribution of the fourth
      REQUIRE(one->next());
      one->make();
    }
    one->stop("enough");
    CHECK(one->stopping());
    while (one->next()) abandons ? one->abandon() : static_cast<void>(one->make());
    CHECK(one->end() == 0);
    CHECK(report.result().stop_reason == "enough");
    CHECK(report.result().steps == (abandons ? 3U : 4U));
    CHECK(report.result().checkpoint == save.directory + "/model.ckpt-" + std::to_string(report.result().steps));
  }
}

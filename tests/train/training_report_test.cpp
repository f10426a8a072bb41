// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/training_report.hpp>

#include "support/catch.hpp"
#include "train/line_job.hpp"

#include <distrib/train/parameters_sha256.hpp>

#include <chrono>
#include <cmath>
#include <string>
#include <tuple>

using namespace std::chrono_literals;

namespace {

/// Returns metrics with the first value as the number of examples.
struct Finds final : distrib::AnyEvaluation {
  distrib::KeyLists none;
  auto keys() const noexcept -> const distrib::KeyLists& override { return none; }
  auto operator()(distrib::RuntimeValues& values) const -> distrib::Metrics override {
    return {static_cast<std::uint64_t>(distrib::load_le<float>(values.data(0))), {}};
  }
};

auto reported_job(distrib::Step steps, distrib::Consistency consistency = {}) -> distrib::Job {
  distrib::Job job;
  job.variables = LineModel{}.variables().infos();
  job.ranks = 3;
  job.total_steps = steps;
  job.consistency = consistency;
  return job;
}

}  // namespace

TEST_CASE("TrainingReport: what is noted in the result, and what is sent to the hooks", "[train]") {
  std::string heard;
  distrib::TrainingReport report{distrib::HookSet{std::tuple{line_job::Heard{&heard}}}};
  const distrib::Job job = reported_job(10);
  distrib::JobStart start = report.begin(job, 32, 2);
  CHECK(start.last_step == 10);
  CHECK(start.examples_per_step == 96);
  CHECK(report.result().mode == "sync");
  CHECK(report.result().ps == 2);
  CHECK(std::isnan(report.result().loss));
  CHECK(heard.empty());

  start.first_step = 4;
  report.tell(start);
  report.has_checkpoint("out/model.ckpt-4");
  report.reached(8, 0.5F);
  report.saved(8, "out/model.ckpt-8");
  report.evaluated({8, {5, {}}});
  CHECK(heard == "start 4\nsaved 8\nevaluated 8\n");
  CHECK(report.result().checkpoint == "out/model.ckpt-8");
  CHECK(report.result().metrics.examples == 5);
  CHECK(report.result().loss == 0.5F);

  report.reached(10);
  report.took(job, start, 3s, 6 * 96);
  CHECK(report.result().complete);
  CHECK(report.result().loss == 0.5F);
  CHECK(report.result().steps_per_second == 2);
  CHECK(report.result().examples_per_second == 192);
  distrib::RuntimeValues values{distrib::RuntimeVariables{job.variables}};
  distrib::RuntimeValues measured{distrib::RuntimeVariables{job.variables}};
  distrib::store_le(measured.data(0), 7.0F);
  const Finds evaluation;
  report.end(job, values, {}, &evaluation, measured);
  CHECK(heard == "start 4\nsaved 8\nevaluated 8\nevaluated 10\nend 10\n");
  CHECK(report.result().metrics.examples == 7);
  CHECK(report.result().parameters_sha256 == distrib::parameters_sha256(job, values));

  static_cast<void>(report.begin(reported_job(10, distrib::AsynchronousParallel{}), 32, 0));  // a second run
  CHECK(report.result().steps == 0);
  CHECK(report.result().mode == "async");
  CHECK(report.result().checkpoint.empty());
}

TEST_CASE("TrainingReport: a run that was interrupted is not measured", "[train]") {
  std::string heard;
  distrib::TrainingReport report{distrib::HookSet{std::tuple{line_job::Heard{&heard}}}};
  const distrib::Job job = reported_job(10);
  const distrib::JobStart start = report.begin(job, 1, 0);
  report.reached(9);
  report.took(job, start, 0s, 27);
  distrib::RuntimeValues values{distrib::RuntimeVariables{job.variables}};
  const Finds evaluation;
  report.end(job, values, {}, &evaluation, values);
  CHECK_FALSE(report.result().complete);
  CHECK(report.result().steps_per_second == 0);
  CHECK(heard == "end 9\n");
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/evaluator.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"

#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/summary/event_reader.hpp>
#include <distrib/train/hooks/keep_best_checkpoint.hpp>
#include <distrib/train/hooks/write_summaries.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <string>

using namespace std::chrono_literals;
using distrib::Evaluate;
using distrib::SaveCheckpoint;
using distrib::Step;

namespace {

auto evaluator_flags() -> distrib::ClusterFlags {
  distrib::ClusterFlags flags;
  flags.job_name = "evaluator";
  flags.ps_hosts = {"127.0.0.1:9"};  // it talks to no other task
  flags.worker_hosts = {"127.0.0.1:9"};
  return flags;
}

struct Points {
  std::map<Step, distrib::Metrics>* metrics;
  void on_evaluated(const distrib::Evaluated& event) const { (*metrics)[event.step] = event.metrics; }
};

/// Asks to stop as soon as something is measured.
struct Enough {
  bool is_enough = false;
  void on_evaluated(const distrib::Evaluated&) { is_enough = true; }
  auto stop_reason() const -> std::string { return is_enough ? "enough" : ""; }
};

}  // namespace

TEST_CASE("Evaluator: measures checkpoints as the trainer itself does, and ends with the last one", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const std::string out = (directory / "out").string();
  const SaveCheckpoint save{.directory = out, .every_steps = 10, .max_to_keep = 0};
  std::map<Step, distrib::Metrics> expected, measured;
  auto trainer =
      line_job::builder(data, {.parts = 2}).with_hooks(save, Evaluate{data.batch(50), 10}, Points{&expected}).build();
  REQUIRE(trainer.run() == 0);
  REQUIRE(expected.size() == 4);

  distrib::IoPool pool{1};
  std::string heard;
  auto evaluator = line_job::builder(data)
                       .with_hooks(save, Evaluate{.data = data.batch(50), .by_evaluator = true}, Points{&measured},
                                   distrib::WriteSummaries{out + "/eval"}, line_job::Heard{&heard})
                       .build(pool, evaluator_flags());
  CHECK(evaluator.run() == 0);
  CHECK(evaluator.result().checkpoint == out + "/model.ckpt-40");
  CHECK(evaluator.result().steps == 40);
  CHECK(heard == "evaluated 40\nend 40\n");
  REQUIRE(measured.contains(40));
  CHECK(measured.at(40) == expected.at(40));
  const auto points = distrib::read_scalars(out + "/eval");
  REQUIRE(points.size() == 1);
  CHECK(points[0].tag == "evaluation/squared_error");
  CHECK(points[0].step == 40);
}

TEST_CASE("Evaluator: follows a job that is being trained, and keeps its best checkpoint", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const std::string out = (directory / "out").string();
  const SaveCheckpoint save{.directory = out, .every_steps = 20, .max_to_keep = 2};
  distrib::IoPool pool{1};
  std::map<Step, distrib::Metrics> measured;
  auto evaluator =
      line_job::builder(data)
          .with_hooks(save, Evaluate{data.batch(50)}, Points{&measured},
                      distrib::KeepBestCheckpoint{
                          {.directory = out + "/best", .metric = "squared_error", .lower_is_better = true}})
          .build(pool, evaluator_flags());
  auto code = std::async(std::launch::async, [&] { return evaluator.run(); });
  auto trainer = line_job::builder(data, {.steps = 400}).with_hooks(save).build();
  CHECK(trainer.run() == 0);
  CHECK(code.get() == 0);
  REQUIRE(measured.contains(400));
  Step best = measured.begin()->first;
  for (const auto& [step, metrics] : measured)
    if (metrics.find("squared_error") < measured.at(best).find("squared_error")) best = step;
  CHECK(distrib::latest_checkpoint(out + "/best") == out + "/best/model.ckpt-" + std::to_string(best));
}

TEST_CASE("Evaluator: a job that is done may go on, with a later last step", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const SaveCheckpoint save{.directory = (directory / "out").string(), .every_steps = 20};
  REQUIRE(line_job::builder(data, {.steps = 40}).with_hooks(save).build().run() == 0);

  distrib::IoPool pool{1};
  std::map<Step, distrib::Metrics> measured;
  const auto builder =
      line_job::builder(data, {.steps = 60}).with_hooks(save, Evaluate{data.batch(50)}, Points{&measured});
  auto patient = builder.build(pool, evaluator_flags());
  auto code = std::async(std::launch::async, [&] { return patient.run(); });
  CHECK(code.wait_for(2 * distrib::Evaluator::look_every) == std::future_status::timeout);
  REQUIRE(line_job::builder(data, {.steps = 60}).with_hooks(save).build().run() == 0);
  CHECK(code.get() == 0);
  CHECK(measured.contains(40));
  CHECK(measured.contains(60));

  // It does not go on.
  auto longer = line_job::builder(data, {.steps = 80})
                    .with_hooks(save, Evaluate{data.batch(50)})
                    .with_cluster_mode({.evaluator_patience = 1ms})
                    .build(pool, evaluator_flags());
  CHECK(longer.run() == 0);
  CHECK(longer.result().steps == 60);
}

TEST_CASE("Evaluator: ends with 1 if no checkpoint comes, or a hook asks to stop", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const std::string out = (directory / "out").string();
  const SaveCheckpoint save{.directory = out, .every_steps = 10};
  distrib::IoPool pool{1};
  std::string heard;
  const auto builder = line_job::builder(data)
                           .with_hooks(save, Evaluate{data.batch(50)}, line_job::Heard{&heard}, Enough{})
                           .with_cluster_mode({.evaluator_patience = 1ms});
  auto early = builder.build(pool, evaluator_flags());
  CHECK(early.run() == 1);
  CHECK(heard == "no new checkpoint in " + out + "\nend 0\n");

  // A checkpoint that is not the last one: the job is interrupted.
  auto trainer = line_job::builder(data, {.steps = 40'000}).with_hooks(save, line_job::StopAfter{15}).build();
  CHECK(trainer.run() == 1);
  heard.clear();
  auto stopped = builder.build(pool, evaluator_flags());
  CHECK(stopped.run() == 1);
  CHECK(stopped.result().stop_reason == "enough");
  CHECK_THAT(heard, ContainsSubstring("asked to stop: enough"));
}

TEST_CASE("Evaluator: a damaged checkpoint is reported and passed over", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const std::string out = (directory / "out").string();
  const SaveCheckpoint save{.directory = out, .every_steps = 40};
  auto trainer = line_job::builder(data).with_hooks(save).build();
  REQUIRE(trainer.run() == 0);
  std::filesystem::resize_file(out + "/model.ckpt-40.data-00000-of-00001", 3);
  distrib::IoPool pool{1};
  std::string heard;
  auto evaluator = line_job::builder(data)
                       .with_hooks(save, Evaluate{data.batch(50)}, line_job::Heard{&heard})
                       .with_cluster_mode({.evaluator_patience = 1ms})
                       .build(pool, evaluator_flags());
  CHECK(evaluator.run() == 1);
  CHECK_THAT(heard, ContainsSubstring("not measured: ") && ContainsSubstring("model.ckpt-40"));
  CHECK(heard.find("evaluated") == std::string::npos);
}

TEST_CASE("Evaluator: without Evaluate or SaveCheckpoint there is nothing to do", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  distrib::IoPool pool{1};
  auto blind = line_job::builder(data)
                   .with_hooks(SaveCheckpoint{.directory = directory.path().string()})
                   .build(pool, evaluator_flags());
  CHECK_THROWS_WITH(blind.run(), ContainsSubstring("needs the hooks Evaluate and SaveCheckpoint"));
  auto lost = line_job::builder(data).with_hooks(Evaluate{data.batch(50)}).build(pool, evaluator_flags());
  CHECK_THROWS_WITH(lost.run(), ContainsSubstring("/job:evaluator/task:0"));
}

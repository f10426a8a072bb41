// SPDX-License-Identifier: Apache-2.0
// The code about hooks in docs/coming-from-tensorflow.md.
#include <distrib/ps/server/server.hpp>
#include <distrib/summary/event_reader.hpp>
#include <distrib/train.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"

#include <cstdint>
#include <cstdio>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

/// Asks to stop after some steps.
struct StopsItself {
  distrib::Step steps = 5, done = 0;
  void on_step(const distrib::StepDone& event) { done = event.step; }
  auto stop_reason() const -> std::string { return done >= steps ? "enough" : ""; }
};

auto steps_of(const std::string& directory, const std::string& tag) -> std::vector<std::int64_t> {
  std::vector<std::int64_t> steps;
  for (const auto& event : distrib::read_scalars(directory))
    if (event.tag == tag) steps.push_back(event.step);
  return steps;
}

/// The line model with gradients that a number scales.
struct Scaled : LineModel {
  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext context) const -> float {
    const float loss = LineModel::gradients(batch, values, gradients, context);
    distrib::get<"bias">(gradients) *= context.feed("scale")[0];
    return loss;
  }
};

struct Directory : support::TempDirectory {
  auto operator/(const char* name) const -> std::string { return (path() / name).string(); }
};

}  // namespace

TEST_CASE("Coming from TensorFlow: P050 a hook stops the training, P054 the last step", "[integration]") {
  const support::TempDirectory data;
  const auto records = line_model::write(data.path());
  auto stopped = line_job::builder(records, {.steps = 4000}).with_hooks(StopsItself{}).build();
  CHECK(stopped.run() == 0);
  CHECK(stopped.result().stop_reason == "enough");
  CHECK(stopped.result().steps < 100);

  const auto plain = distrib::train(LineModel{}).with_data(records.shuffle(3).batch(10));
  auto whole = plain.with_hooks(distrib::StopAtStep{.last_step = 40}).build();
  CHECK(whole.run() == 0);
  CHECK(whole.result().steps == 40);
  const distrib::SaveCheckpoint save{.directory = (data / "out").string()};
  for (const distrib::Step expected : {10U, 20U}) {
    auto some = plain.with_hooks(distrib::StopAtStep{.num_steps = 10}, save).build();
    CHECK(some.run() == 0);
    CHECK(some.result().steps == expected);
    CHECK(some.result().complete);
  }
  const auto cluster = plain.with_hooks(distrib::StopAtStep{.num_steps = 10}).plan();
  CHECK_THROWS_WITH(cluster.cluster_job(*cluster.model().open(), 1, 1, 1 << 20), ContainsSubstring("num_steps"));
  auto both = plain.with_hooks(distrib::StopAtStep{.last_step = 1, .num_steps = 1}).build();
  CHECK_THROWS_WITH(both.run(), ContainsSubstring("give one of last_step and num_steps"));
}

TEST_CASE("Coming from TensorFlow: P055 to P057 hooks that write files", "[integration]") {
  const Directory directory;
  std::string heard;
  auto trainer = line_job::builder(line_model::write(directory.path()), {.steps = 30})
                     .with_hooks(distrib::CheckpointSaver{{.save_steps = 20}},
                                 distrib::SaveCheckpoint{.directory = directory / "out", .every_steps = 0},
                                 distrib::WriteSummaries{directory / "events", 8},
                                 distrib::WriteSummaries{directory / "timed", {.every_secs = 60}},
                                 distrib::StepCounter{{.output_dir = directory / "steps", .every_n_steps = 10}},
                                 line_job::Heard{&heard})
                     .build();
  CHECK(trainer.run() == 0);
  CHECK(heard == "start 0\nsaved 0\nsaved 20\nsaved 30\nend 30\n");
  CHECK(steps_of(directory / "events", "loss") == std::vector<std::int64_t>{1, 9, 17, 25});
  CHECK(steps_of(directory / "timed", "loss") == std::vector<std::int64_t>{1});
  CHECK(steps_of(directory / "steps", "global_step/sec") == std::vector<std::int64_t>{11, 21});
}

TEST_CASE("Coming from TensorFlow: P058 values, P059 NaN, P061 feeds and final values, P062 global step",
          "[integration]") {
  const support::TempDirectory directory;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::tmpfile(), std::fclose};
  std::FILE* const log = file.get();
  const distrib::FinalOps ops{[](const distrib::NamedValues& values) { return values.read("bias").front(); }};
  auto trainer =
      distrib::train(Scaled{})
          .with_data(line_model::write(directory.path()).shuffle(3).batch(10))
          .with_hooks(distrib::StopAtStep{40},
                      distrib::LoggingTensor{{.tensors = {"loss", "bias"}, .every_n_iter = 10, .stream = log}},
                      distrib::NanTensor{}, distrib::NanTensor{false},
                      distrib::FeedFn{[](distrib::Step step, distrib::Rank) -> distrib::Feed {
                        return {{"scale", {step < 20 ? 0.0F : 1.0F}}};
                      }},
                      ops)
          .build();
  CHECK(trainer.run() == 0);
  CHECK(trainer.result().steps == 40);
  REQUIRE(ops.final_ops_values());
  CHECK(*ops.final_ops_values() != 0);
  std::rewind(log);
  std::vector<std::string> lines;
  for (char line[200]; std::fgets(line, sizeof line, log) != nullptr;) lines.emplace_back(line);
  REQUIRE(lines.size() == 4);
  CHECK_THAT(lines[1], ContainsSubstring("bias = 0 ("));  // at step 11 nothing has moved it
  CHECK_THAT(lines[3], !ContainsSubstring("bias = 0 ("));
}

TEST_CASE("Coming from TensorFlow: P060 a worker that begins later", "[integration]") {
  const support::TempDirectory data;
  const auto records = line_model::write(data.path());
  distrib::IoPool pool{2};
  distrib::ClusterFlags flags;
  flags.job_name = "worker";
  flags.worker_hosts = {"127.0.0.1:1", "127.0.0.1:1"};
  distrib::Server server{pool, {{"ps", {"127.0.0.1:0"}}, {"worker", flags.worker_hosts}}, "ps", 0};
  flags.ps_hosts = {"127.0.0.1:" + std::to_string(server.port())};

  /// Notes the global step that the worker finds when it begins.
  struct First {
    std::map<distrib::Rank, double>* loss;
    void on_contribution(const distrib::ContributionMade& event) const { loss->try_emplace(event.rank, event.loss); }
  };
  std::map<distrib::Rank, double> of_chief, of_late;
  const auto run = [&](std::map<distrib::Rank, double>& seen) {
    auto trainer = line_job::builder(records, {.steps = 400})
                       .with_consistency(distrib::AsynchronousParallel{})
                       .with_hooks(distrib::GlobalStepWaiter{100 * flags.task_index}, First{&seen})
                       .build(pool, flags);
    return std::async(std::launch::async, [trainer = std::move(trainer)]() mutable { return trainer.run(); });
  };
  flags.task_index = 1;
  auto late = run(of_late);
  flags.task_index = 0;
  auto chief = run(of_chief);
  CHECK(chief.get() == 0);
  CHECK(late.get() == 0);
  CHECK(server.join() == 0);
  CHECK(of_late.at(1) < of_chief.at(0) / 2);  // the line was nearly found when it began

  auto synchronous = line_job::builder(records).with_hooks(distrib::GlobalStepWaiter{1}).build(pool, flags);
  CHECK_THROWS_WITH(synchronous.run(), ContainsSubstring("the global step would never move"));
  auto alone = line_job::builder(records).with_hooks(distrib::GlobalStepWaiter{1}).build();
  CHECK_THROWS_WITH(alone.run(), ContainsSubstring("the global step would never move"));
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/hooks/checkpoint_saver.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"

#include <string>

using distrib::CheckpointSaver;
using distrib::SaveCheckpoint;

namespace {

/// What TensorFlow calls a CheckpointSaverListener. Asks to stop after the checkpoint of step `last`.
struct Listener {
  std::string* heard;
  distrib::Step last = 1000;
  std::string reason = {};
  void on_saving(const distrib::CheckpointBegun& event) { *heard += "before " + std::to_string(event.step) + " "; }
  void on_saved(const distrib::CheckpointSaved& event) {
    *heard += "after " + std::to_string(event.step) + " ";
    if (event.step >= last) reason = "enough";
  }
  void on_event(const distrib::Event& event) { *heard += event.text + " "; }
  void on_end(const distrib::JobEnd&) { *heard += "end"; }
  auto stop_reason() const -> std::string { return reason; }
};

struct Setup {
  std::string out;
  distrib::Step steps = 5;
  distrib::CheckpointSaverOptions when = {.save_steps = 2};
  std::uint32_t workers = 2, shards = 2;
  distrib::Consistency consistency = {};
};

template <class Data> auto trainer(const Data& data, const Setup& setup, Listener listener) {
  return line_job::builder(data, {.workers = setup.workers, .shards = setup.shards, .steps = setup.steps})
      .with_consistency(setup.consistency)
      .with_hooks(SaveCheckpoint{.directory = setup.out, .every_steps = 0, .max_to_keep = 0},
                  CheckpointSaver{setup.when}, listener)
      .build();
}

}  // namespace

TEST_CASE("CheckpointSaver: saves at the start, every n steps from there, and at the end; listeners hear of it",
          "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  Setup setup{.out = (directory / "out").string()};
  std::string heard;
  auto first = trainer(data, setup, {&heard});
  CHECK(first.run() == 0);
  CHECK(heard == "before 0 after 0 before 2 after 2 before 4 after 4 before 5 after 5 end");

  heard.clear();
  setup.steps = 9;
  auto second = trainer(data, setup, {&heard});  // the checkpoint of step 5 exists
  CHECK(second.run() == 0);
  CHECK_THAT(heard, ContainsSubstring("before 7 after 7 before 9 after 9 end"));

  // The checkpoints are whole, and saving them changes no value.
  auto plain = line_job::builder(data, {.workers = 2, .shards = 2, .steps = 9}).build();
  CHECK(plain.run() == 0);
  CHECK(second.result().parameters_sha256 == plain.result().parameters_sha256);
}

TEST_CASE("CheckpointSaver: in an asynchronous job it saves too", "[train]") {
  const support::TempDirectory directory;
  const Setup setup{.out = (directory / "out").string(), .consistency = distrib::AsynchronousParallel{}};
  std::string heard;
  auto run = trainer(line_model::write(directory.path()), setup, {&heard});
  CHECK(run.run() == 0);
  CHECK_THAT(heard, ContainsSubstring("after 2 ") && ContainsSubstring("after 5 end"));
}

TEST_CASE("CheckpointSaver: a listener that asks to stop ends the run, which can be continued", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  Setup setup{.out = (directory / "out").string(), .steps = 400};
  std::string heard;
  auto run = trainer(data, setup, {&heard, 4});
  CHECK(run.run() == 0);
  CHECK_THAT(heard, ContainsSubstring("asked to stop by a hook, enough: finishing the steps in flight, saving"));
  CHECK(run.result().stop_reason == "enough");
  CHECK_FALSE(run.result().complete);
  CHECK(run.result().steps >= 4);
  CHECK(run.result().steps < 400);
  auto rest = trainer(data, setup, {&heard});
  CHECK(rest.run() == 0);
  CHECK(rest.result().complete);
  CHECK(rest.result().stop_reason.empty());
}

TEST_CASE("CheckpointSaver: exactly one of steps and seconds, and in one process only", "[train]") {
  CHECK_THROWS_WITH(CheckpointSaver{{}}, ContainsSubstring("exactly one of"));
  CHECK_THROWS_WITH((CheckpointSaver{{.save_secs = 1, .save_steps = 1}}), ContainsSubstring("exactly one of"));
  const support::TempDirectory directory;
  const auto plan =
      line_job::builder(line_model::write(directory.path())).with_hooks(CheckpointSaver{{.save_steps = 1}}).plan();
  CHECK_THROWS_WITH(plan.cluster_job(*plan.model().open(), 1, 1, 1 << 20), ContainsSubstring("wants_checkpoint"));
}

TEST_CASE("CheckpointSaver: by seconds the first checkpoint is at the start", "[train]") {
  CheckpointSaver saver{{.save_secs = 1e6}};
  CHECK_FALSE(saver.wants_checkpoint());
  distrib::JobStart start;
  start.first_step = 7;
  saver.on_start(start);
  CHECK(saver.wants_checkpoint());
  CHECK_FALSE(saver.wants_checkpoint());
  saver.on_step({8, 0, 1});
  CHECK_FALSE(saver.wants_checkpoint());
}

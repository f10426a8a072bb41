// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/trainer.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

using line_job::builder;
using line_job::Heard;
using line_job::Setup;
using line_job::StopAfter;

TEST_CASE("Trainer: hooks receive the events in order; a job that is complete already only starts and ends",
          "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const distrib::SaveCheckpoint save{.directory = (directory / "out").string(), .every_steps = 20};
  std::string heard;
  auto trainer = builder(data).with_hooks(save, Heard{&heard}, distrib::Evaluate{data.batch(50), 0}).build();
  CHECK(trainer.run() == 0);
  CHECK(heard == "start 0\nsaved 20\nsaved 40\nevaluated 40\nend 40\n");
  CHECK(trainer.result().checkpoint == save.directory + "/model.ckpt-40");

  heard.clear();
  auto again = builder(data).with_hooks(save, Heard{&heard}).build();
  CHECK(again.run() == 0);
  CHECK_THAT(heard, ContainsSubstring("start 40\nend 40\n"));
  CHECK(again.result().parameters_sha256 == trainer.result().parameters_sha256);
}

TEST_CASE("Trainer: with every_steps 0 it saves only when it is stopped and at the end", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const distrib::SaveCheckpoint save{.directory = (directory / "out").string(), .every_steps = 0};
  std::string heard;
  auto first = builder(data).with_hooks(save, StopAfter{7}, Heard{&heard}).build();
  CHECK(first.run() == 1);
  const std::string stopped_at = std::to_string(first.result().steps);
  CHECK(heard.find("saved ") == heard.find("saved " + stopped_at + "\nend " + stopped_at));

  heard.clear();
  auto second = builder(data).with_hooks(save, Heard{&heard}).build();
  CHECK(second.run() == 0);
  CHECK_THAT(heard, ContainsSubstring("start " + stopped_at + "\nsaved 40\nend 40\n"));
}

TEST_CASE("Trainer: a second run with fewer steps than are done ends at once", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const distrib::SaveCheckpoint save{.directory = (directory / "out").string(), .every_steps = 20};
  auto first = builder(data).with_hooks(save).build();
  REQUIRE(first.run() == 0);
  auto second = builder(data, {.steps = 30}).with_hooks(save).build();
  CHECK(second.run() == 0);
  CHECK(second.result().steps == 40);
  CHECK(second.result().parameters_sha256 == first.result().parameters_sha256);
}

TEST_CASE("Trainer: an exception from a hook during a stop ends the job after all threads have left it", "[train]") {
  struct Refuse {
    void on_step(const distrib::StepDone& event) const {
      if (event.step == 3) std::raise(SIGTERM);
    }
    void on_event(const distrib::Event&) const { throw std::runtime_error{"no stop here"}; }
  };
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  distrib::IoPool pool{2};
  auto trainer = builder(data, {.steps = 400}).with_hooks(Refuse{}).build(pool);
  CHECK_THROWS_WITH(trainer.run(), "no stop here");
}

TEST_CASE("Trainer: a job that cannot start says why", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const auto code_of = [](auto&& trainer) {
    try {
      static_cast<void>(trainer.run());
    } catch (const std::system_error& error) {
      return error.code();
    }
    return std::error_code{};
  };
  const auto plain = distrib::train(LineModel{}).with_data(data.batch(10));
  CHECK(code_of(plain.build()) == distrib::train_errc::no_end);
  CHECK(code_of(plain.with_local_mode({.workers = 0}).build()) == distrib::train_errc::no_workers);
  CHECK(code_of(plain.with_data(data.repeat(1).batch(200)).with_local_mode({.workers = 2}).build()) ==
        distrib::train_errc::too_little_data);
  const auto backups = plain.with_hooks(distrib::StopAtStep{3})
                           .with_consistency(distrib::BulkSynchronousParallel{.replicas_to_aggregate = 3});
  CHECK(code_of(backups.with_local_mode({.workers = 2}).build()) == distrib::train_errc::too_few_workers);
  CHECK(code_of(backups.with_local_mode({.workers = 3}).build()) == std::error_code{});
  CHECK_THROWS_WITH(backups.build().run(),
                    "replicas_to_aggregate=3, 1 workers: replicas_to_aggregate is larger than the number of workers: "
                    "reduce it, or start more workers");
  auto one_epoch = plain.with_data(data.repeat(1).batch(10)).with_local_mode({.workers = 4}).build();
  CHECK(one_epoch.run() == 0);
  CHECK(one_epoch.result().steps == 7);  // 30 batches for 4 workers
}

TEST_CASE("Trainer: a corrupt record ends the job; the error names file, record and offset", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  std::fstream file{directory / "line-1", std::ios::in | std::ios::out | std::ios::binary};
  file.seekp(-10, std::ios::end);
  file.put('\x55');
  file.close();
  distrib::IoPool pool{2};
  auto trainer = builder(data).build(pool);
  CHECK_THROWS_WITH(trainer.run(), ContainsSubstring("line-1") && ContainsSubstring("record 99"));
}

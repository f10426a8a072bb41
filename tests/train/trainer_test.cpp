// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/trainer.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_model.hpp"

#include <distrib/optimizer/momentum.hpp>
#include <distrib/train/builder.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>

namespace {

struct Setup {
  std::uint32_t workers = 3, shards = 1;
  std::int64_t parts = 1;
  distrib::Step steps = 40;
};

template <class Data>
auto builder(const Data& data, const Setup& setup = {}) {
  return distrib::train(LineModel{})
      .with_data(data.shuffle(3).batch(10))
      .with_partitioner(distrib::FixedShardsPartitioner{setup.parts})
      .with_updater(distrib::Momentum{.learning_rate = 0.1F, .momentum = 0.5F})
      .with_hooks(distrib::StopAtStep{setup.steps})
      .with_seed(11)
      .with_local_mode({.workers = setup.workers, .shards = setup.shards});
}

struct StopAfter {
  distrib::Step step;
  void on_step(const distrib::StepDone& event) const {
    if (event.step == step) std::raise(SIGTERM);  // caught by run(), like Ctrl-C
  }
};

struct Heard {
  std::string* what;
  void on_start(const distrib::JobStart& event) const { *what += "start " + std::to_string(event.first_step) + "\n"; }
  void on_saved(const distrib::CheckpointSaved& event) const { *what += "saved " + std::to_string(event.step) + "\n"; }
  void on_evaluated(const distrib::Evaluated& event) const { *what += "evaluated " + std::to_string(event.step) + "\n"; }
  void on_event(const distrib::Event& event) const { *what += event.text + "\n"; }
  void on_end(const distrib::JobEnd& event) const { *what += "end " + std::to_string(event.result.steps) + "\n"; }
};

}  // namespace

TEST_CASE("Trainer: learns the line, and the same bits for any parts, shards and threads", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  distrib::IoPool pool{2};
  std::set<std::string> hashes;
  for (const Setup& setup : {Setup{.steps = 200}, Setup{.shards = 2, .steps = 200},
                             Setup{.shards = 3, .parts = 2, .steps = 200}, Setup{.shards = 2, .parts = 2, .steps = 200}}) {
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

TEST_CASE("Trainer: interrupted at any step and started again, it ends with the undisturbed hash", "[train]") {
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

TEST_CASE("Trainer: hooks hear the job in its order; a complete job starts and ends", "[train]") {
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

TEST_CASE("Trainer: a hook that throws at a stop ends the job when no thread is in it any more", "[train]") {
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

TEST_CASE("Trainer: asynchronous training learns the line too", "[train]") {
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

TEST_CASE("Trainer: what cannot begin says why", "[train]") {
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
  auto one_epoch = plain.with_data(data.repeat(1).batch(10)).with_local_mode({.workers = 4}).build();
  CHECK(one_epoch.run() == 0);
  CHECK(one_epoch.result().steps == 7);  // 30 batches for 4 workers
}

TEST_CASE("Trainer: a corrupt record ends the job and is named by file, record and offset", "[train]") {
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

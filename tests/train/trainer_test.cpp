// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/trainer.hpp>

#include <distrib/checkpoint/bundle_reader.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"
#include "train/table_model.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

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

TEST_CASE("Trainer: a job whose ranks and rate change goes on with the same bits in the middle of a warm-up",
          "[train]") {
  struct CountExamples {
    std::uint64_t* all;
    void on_step(const distrib::StepDone& event) const { *all += event.examples; }
  };
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const auto changing = [&](distrib::RankRate warm_up, distrib::RankRate then) {
    return builder(data).with_most_ranks(4).with_local_mode(
        {.workers = 2, .changes = {{5, 1, {0, 1, 3}, warm_up}, {30, 1, {0}, then}}});
  };
  const auto rates = changing({1, 1.5, 20}, {0.5, 0.5, 0});
  std::uint64_t examples = 0;
  auto straight = rates.with_hooks(CountExamples{&examples}).build();
  CHECK(straight.run() == 0);
  CHECK(examples == 10 * (4 * 2 + 25 * 3 + 11));

  const distrib::SaveCheckpoint save{.directory = (directory / "out").string(), .every_steps = 0};
  auto first = rates.with_hooks(save, StopAfter{12}).build();
  CHECK(first.run() == 1);
  CHECK(first.result().steps < 25);
  auto second = rates.with_hooks(save).build();
  CHECK(second.run() == 0);
  CHECK(second.result().parameters_sha256 == straight.result().parameters_sha256);

  auto plain = changing({}, {}).build();
  CHECK(plain.run() == 0);
  CHECK(plain.result().parameters_sha256 != straight.result().parameters_sha256);
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

TEST_CASE("Trainer: Evaluate with averages measures the averages that the checkpoint of the same step has", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  for (const std::uint32_t shards : {1U, 2U}) {
    const std::string out = (directory / ("out" + std::to_string(shards))).string();
    std::vector<std::pair<distrib::Step, distrib::Metrics>> all;
    auto trainer = builder(data, {.shards = shards, .parts = 2, .steps = 6})
                       .with_moving_average({.decay = 0.75F})
                       .with_hooks(distrib::SaveCheckpoint{.directory = out, .every_steps = 2},
                                   distrib::Evaluate{.data = data.batch(300), .every_steps = 2, .averages = true},
                                   table_model::Evaluations{&all})
                       .build();
    CHECK(trainer.run() == 0);
    REQUIRE(all.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(all[i].first == 2 * (i + 1));
      const auto reader = distrib::BundleReader::open(out + "/model.ckpt-" + std::to_string(all[i].first));
      const auto squared_error = [&](const std::string& suffix) {
        std::vector<float> weights(2), bias(1);
        reader.read("weights" + suffix, distrib::Slice::whole({2}), std::as_writable_bytes(std::span{weights}));
        reader.read("bias" + suffix, distrib::Slice::whole({}), std::as_writable_bytes(std::span{bias}));
        double squared = 0;
        for (std::size_t record = 0; record < 300; ++record) {  // as `line_model::write`
          const auto x0 = static_cast<float>(record * 37 % 100) / 50 - 1;
          const auto x1 = static_cast<float>(record * 61 % 100) / 50 - 1;
          const auto error = static_cast<double>((weights[0] - 2) * x0 + (weights[1] + 1) * x1 + bias[0] - 0.5F);
          squared += error * error;
        }
        return squared / 300;
      };
      const double measured = *all[i].second.find("squared_error");
      CHECK(measured == Approx(squared_error("/ExponentialMovingAverage")).epsilon(1e-4));
      CHECK(measured != Approx(squared_error("")).epsilon(0.01));
    }
    CHECK(trainer.result().metrics == all.back().second);
    auto plain = builder(data, {.shards = shards, .parts = 2, .steps = 6}).build();
    CHECK(plain.run() == 0);
    CHECK(plain.result().parameters_sha256 == trainer.result().parameters_sha256);
  }
}

TEST_CASE("Trainer: averages that follow the values at once measure what the values do, rows of tables included",
          "[train]") {
  const support::TempDirectory directory;
  const auto data = table_model::write(directory.path());
  const auto measured = [&](float decay, bool averages, distrib::FloatFormat kept_as, std::uint32_t shards) {
    auto trainer = distrib::train(TableModel{.kept_as = kept_as})
                       .with_data(data.shuffle(3).batch(10))
                       .with_updater(distrib::Sgd{.learning_rate = 0.5F})
                       .with_hooks(distrib::StopAtStep{30}, distrib::Evaluate{data.batch(64), 0, averages})
                       .with_local_mode({.workers = 2, .shards = shards})
                       .with_moving_average({.decay = decay})
                       .build();
    CHECK(trainer.run() == 0);
    return *trainer.result().metrics.find("squared_error");
  };
  for (const auto kept_as : {distrib::FloatFormat::float32, distrib::FloatFormat::bfloat16}) {
    const double of_values = measured(0, false, kept_as, 2);
    CHECK(measured(0, true, kept_as, 2) == Approx(of_values).epsilon(0.01));
    CHECK(measured(0.9F, true, kept_as, 2) != Approx(of_values).epsilon(0.02));
    CHECK(measured(0.9F, true, kept_as, 2) == measured(0.9F, true, kept_as, 1));
  }
}

TEST_CASE("Trainer: Evaluate with averages is refused without with_moving_average", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const auto averaging = builder(data).with_hooks(distrib::Evaluate{data.batch(50), 0, true});
  CHECK_THROWS_WITH(averaging.build(), ContainsSubstring("with_moving_average: there are no averages to measure"));
  CHECK_NOTHROW(averaging.with_moving_average({}).build());
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

// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/training_session.hpp>

#include <distrib/train/builder.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/line_job.hpp"
#include "train/table_model.hpp"

#include <csignal>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using namespace distrib;
using line_job::Heard;

namespace {

using LineValues = Values<LineModel::Variables>;
using LineGradients = Gradients<LineModel::Variables>;

/// The variables of the line model, for batches of the program's own.
struct OwnLine {
  using Variables = LineModel::Variables;
  auto variables() const -> Variables { return LineModel{}.variables(); }
};

template <class Data, class M = LineModel>
auto sessions(const Data& data, const line_job::Setup& setup = {}, M model = {}) {
  return session(std::move(model))
      .with_data(data.shuffle(3).batch(10))
      .with_partitioner(FixedShardsPartitioner{setup.parts})
      .with_updater(Momentum{.learning_rate = 0.1F, .momentum = 0.5F})
      .with_hooks(StopAtStep{setup.steps})
      .with_seed(11)
      .with_local_mode({.workers = setup.workers, .shards = setup.shards});
}
auto own_builder(Step steps) {
  return session(OwnLine{})
      .with_data(OwnBatches{.batch_size = 4})
      .with_updater(Sgd{.learning_rate = 0.25F})
      .with_hooks(StopAtStep{steps});
}

/// The step of the line model, as a loop of one's own has it.
const auto of_model = [](const auto& batch, const auto& values, auto& gradients, StepContext context) {
  return LineModel{}.gradients(batch, values, gradients, context);
};
/// Moves the bias towards `target`.
auto towards(float target) {
  return [target](const LineValues& values, LineGradients& gradients, StepContext) {
    const float error = get<"bias">(values)() - target;
    get<"bias">(gradients)() = error;
    return error * error;
  };
}

auto code_of(auto&& call) -> std::error_code {
  try {
    call();
  } catch (const std::system_error& error) {
    return error.code();
  }
  return {};
}

}  // namespace

TEST_CASE("TrainingSession: a loop of one's own ends with the bits of a trainer, and its hooks hear the same",
          "[train]") {
  for (const line_job::Setup setup :
       {line_job::Setup{}, {.workers = 1, .steps = 20}, {.workers = 4, .shards = 2, .parts = 2}}) {
    const support::TempDirectory directory;
    const auto data = line_model::write(directory.path());
    const auto save = [&](const char* name) {
      return SaveCheckpoint{.directory = (directory / name).string(), .every_steps = 10};
    };
    std::string of_trainer, of_session;
    auto trainer =
        line_job::builder(data, setup).with_hooks(save("a"), Evaluate{data.batch(50), 10}, Heard{&of_trainer}).build();
    REQUIRE(trainer.run() == 0);
    IoPool pool{1};
    std::vector<std::pair<Step, Rank>> made;
    const auto run = [&](auto session) {
      while (!session.should_stop())
        session.run([&](const auto& batch, const auto& values, auto& gradients, StepContext context) {
          made.emplace_back(context.step, context.rank);
          return of_model(batch, values, gradients, context);
        });
      CHECK(session.close() == 0);
      CHECK(session.close() == 0);
      return session.result();
    };
    const TrainingResult result =
        run(sessions(data, setup).with_hooks(save("b"), Evaluate{data.batch(50), 10}, Heard{&of_session}).open());
    CHECK(result.parameters_sha256 == trainer.result().parameters_sha256);
    CHECK(result.loss == trainer.result().loss);
    CHECK(result.metrics.values() == trainer.result().metrics.values());
    CHECK(result.complete);
    CHECK(of_session == of_trainer);
    REQUIRE(made.size() == setup.steps * setup.workers);
    for (std::size_t i = 0; i < made.size(); ++i) {  // each contribution once, the ranks in turn
      CHECK(made[i].first == i / setup.workers + 1);
      CHECK(made[i].second == i % setup.workers);
    }
    CHECK(run(sessions(data, setup).with_hooks(save("c")).open(pool)).parameters_sha256 == result.parameters_sha256);
  }
}

TEST_CASE("TrainingSession: asynchronous, with tables, with accumulation: the bits of a trainer", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const auto same = [](auto trainer, auto session) {
    REQUIRE(trainer.run() == 0);
    while (!session.should_stop()) session.run(of_model);
    CHECK(session.close() == 0);
    CHECK(session.result().parameters_sha256 == trainer.result().parameters_sha256);
  };
  same(line_job::builder(data).with_gradient_accumulation(3).build(),
       sessions(data).with_gradient_accumulation(3).open());
  same(line_job::builder(data).with_consistency(AsynchronousParallel{}).build(),
       sessions(data).with_consistency(AsynchronousParallel{}).open());

  const auto ratings = table_model::write(directory.path());
  auto trainer = table_model::builder(ratings, 3, 2, 40).build();
  REQUIRE(trainer.run() == 0);
  auto rows = session(TableModel{})
                  .with_data(ratings.shuffle(3).batch(10))
                  .with_updater(Adagrad{.learning_rate = 0.5F})
                  .with_updater("items", Sgd{.learning_rate = 0.5F})
                  .with_hooks(StopAtStep{40}, Evaluate{ratings.batch(64), 20})
                  .with_seed(11)
                  .with_local_mode({.workers = 3, .shards = 2})
                  .open();
  while (!rows.should_stop())
    rows.run([](const auto& batch, const auto& values, auto& gradients, StepContext context) {
      return TableModel{}.gradients(batch, values, gradients, context);
    });
  CHECK(rows.close() == 0);
  CHECK(rows.result().parameters_sha256 == trainer.result().parameters_sha256);
  CHECK(rows.result().metrics.values() == trainer.result().metrics.values());
}

TEST_CASE("P053 SingularMonitoredSession: one process, always the chief, continues from its checkpoint", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const SaveCheckpoint save{.directory = (directory / "out").string(), .every_steps = 0};
  auto whole = line_job::builder(data).build();
  REQUIRE(whole.run() == 0);
  auto first = sessions(data).with_hooks(save).open();
  CHECK(first.is_chief());
  CHECK(first.global_step() == 0);
  for (int i = 0; i < 7 * 3; ++i) {
    REQUIRE_FALSE(first.should_stop());
    first.run(of_model);
  }
  CHECK(first.global_step() == 7);
  CHECK(first.close() == 0);  // leaving the loop early is a normal end: what is done is saved
  CHECK(first.result().stop_reason == "the session was closed");
  CHECK(first.result().checkpoint == save.directory + "/model.ckpt-7");

  auto second = sessions(data).with_hooks(save).open();
  CHECK(second.global_step() == 7);
  while (!second.should_stop()) second.run(of_model);
  CHECK(second.close() == 0);
  CHECK(second.result().parameters_sha256 == whole.result().parameters_sha256);

  auto third = sessions(data).with_hooks(save).open();
  CHECK(third.should_stop());  // all is done
  CHECK(code_of([&] { third.run(of_model); }) == train_errc::session_over);
  CHECK(third.close() == 0);
}

TEST_CASE("P052 run_step_fn: a step may ask for the end; its contribution counts, and no further one is begun",
          "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  std::string heard;
  auto asked = sessions(data, {.workers = 1}).with_hooks(Heard{&heard}).open();
  int runs = 0;
  while (!asked.should_stop())
    asked.run([&](const auto& batch, const auto& values, auto& gradients, StepContext context) {
      ++runs;
      if (context.step == 5) asked.request_stop("enough");
      return of_model(batch, values, gradients, context);
    });
  CHECK(runs == 5);
  CHECK(asked.global_step() == 5);
  CHECK(asked.close() == 0);
  CHECK(asked.result().stop_reason == "enough");
  CHECK_FALSE(asked.result().complete);
  CHECK_THAT(heard, ContainsSubstring("asked to stop by the program, enough: finishing the steps in flight"));
  CHECK(code_of([&] { asked.run(of_model); }) == train_errc::session_over);
}

TEST_CASE("P050 a stop request of a hook: no further step is begun; a signal: the same, with code 1", "[train]") {
  struct Enough {
    Step step = 0;
    void on_step(const StepDone& event) { step = event.step; }
    auto stop_reason() const -> std::string { return step >= 6 ? "six steps" : ""; }
  };
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  auto hooked = sessions(data, {.workers = 1}).with_hooks(Enough{}).open();
  while (!hooked.should_stop()) hooked.run(of_model);
  CHECK(hooked.global_step() == 6);
  CHECK(hooked.close() == 0);
  CHECK(hooked.result().stop_reason == "six steps");

  auto interrupted = sessions(data, {.workers = 1}).with_hooks(line_job::StopAfter{4}).open();
  while (!interrupted.should_stop()) interrupted.run(of_model);
  CHECK(interrupted.global_step() == 4);
  CHECK(interrupted.close() == 1);

  auto between = sessions(data, {.workers = 1}).open();
  REQUIRE_FALSE(between.should_stop());
  std::raise(SIGTERM);
  between.run(of_model);  // should_stop() has asked for it
  CHECK(between.should_stop());
  CHECK(between.global_step() == 1);
  CHECK(between.close() == 1);
}

TEST_CASE("TrainingSession: what a step throws reaches the caller as it is, and ends the session", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  struct Mine : std::runtime_error {
    using runtime_error::runtime_error;
  };
  std::string heard;
  IoPool pool{2};
  auto thrown = sessions(data).with_hooks(Heard{&heard}).open(pool);
  const auto fail = [](const auto&, const auto&, auto&, StepContext) -> float { throw Mine{"no"}; };
  REQUIRE_FALSE(thrown.should_stop());
  CHECK_THROWS_AS(thrown.run(fail), Mine);
  CHECK(thrown.should_stop());
  CHECK(code_of([&] { thrown.run(of_model); }) == train_errc::session_over);
  CHECK(thrown.close() == 1);
  CHECK(heard == "start 0\n");  // P050: no end() after an exception
}

TEST_CASE("TrainingSession: an exception outside of a step makes should_stop true; close throws it", "[train]") {
  struct Refuse {
    void on_event(const Event&) const { throw std::runtime_error{"no stop here"}; }
  };
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  auto refused = sessions(data).with_hooks(Refuse{}).open();
  REQUIRE_FALSE(refused.should_stop());
  std::raise(SIGTERM);
  CHECK(refused.should_stop());
  CHECK_THROWS_WITH(refused.close(), "no stop here");
  CHECK_THROWS_WITH(refused.run(of_model), "no stop here");
}

TEST_CASE("P051 Scaffold: ready and local_init see the first values, once, before the first step", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  std::string order;
  auto with =
      sessions(data, {.steps = 3})
          .open({
              .ready =
                  [&](const LineValues& values) {
                    order += "ready " + std::to_string(get<"bias">(values)() == 0) + " ";
                    return std::string{};
                  },
              .local_init = [&](const LineValues&,
                                StepContext context) { order += "init at " + std::to_string(context.step) + " "; },
          });
  while (!with.should_stop()) {
    with.run(of_model);
    order += ".";
  }
  CHECK(order == "ready 1 init at 1 .........");

  auto without = sessions(data).open({.ready = [](const LineValues&) { return std::string{"weights"}; }});
  CHECK_THROWS_WITH(without.run(of_model), ContainsSubstring("weights"));
  auto again = sessions(data).open({.ready = [](const LineValues&) { return std::string{"weights"}; }});
  CHECK(code_of([&] { again.run(of_model); }) == train_errc::not_ready);
}

TEST_CASE("TrainingSession: batches of the program's own; after a restart they continue behind the checkpoint",
          "[train]") {
  const support::TempDirectory directory;
  const SaveCheckpoint save{.directory = (directory / "out").string(), .every_steps = 2};
  const auto target_of = [](Step step) { return static_cast<float>(step); };
  auto whole = own_builder(9).open();
  for (Step step = 1; !whole.should_stop(); ++step) CHECK(whole.run(towards(target_of(step))) >= 0);
  CHECK(whole.close() == 0);

  auto first = own_builder(9).with_hooks(save).open();
  for (Step step = 1; step <= 5; ++step) first.run(towards(target_of(step)));
  CHECK(first.close() == 0);
  auto second = own_builder(9).with_hooks(save).open();
  for (Step step = second.global_step() + 1; !second.should_stop(); ++step) {
    CHECK(step >= 6);
    second.run(towards(target_of(step)));
  }
  CHECK(second.close() == 0);
  CHECK(second.result().parameters_sha256 == whole.result().parameters_sha256);
}

TEST_CASE("TrainingSession: a session may be left at any time; what runs in the background is waited for", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  IoPool pool{2};
  for (int runs = 0; runs < 12; ++runs) {
    const SaveCheckpoint save{.directory = (directory / std::to_string(runs)).string(), .every_steps = 1};
    auto left = sessions(data, {.workers = 1}).with_hooks(save, Evaluate{data.batch(50), 1}).open(pool);
    for (int i = 0; i < runs; ++i) left.run(of_model);
  }
}

TEST_CASE("TrainingSession: two sessions of one builder share nothing", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const auto shared = sessions(data, {.workers = 1, .steps = 2});
  int begun = 0;
  const auto count = [&](const LineValues&, StepContext) { ++begun; };
  for (int i = 0; i < 2; ++i) {
    auto one = shared.open({.local_init = count});
    while (!one.should_stop()) one.run(of_model);
    CHECK(one.close() == 0);
  }
  CHECK(begun == 2);
}

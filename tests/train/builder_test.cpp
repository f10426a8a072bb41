// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/builder.hpp>

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/core/initializer.hpp>
#include <distrib/core/runtime_variables.hpp>
#include <distrib/optimizer/adagrad.hpp>
#include <distrib/optimizer/momentum.hpp>

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "train/counting_model.hpp"
#include "train/line_model.hpp"
#include "train/runtime_models.hpp"
#include "train/table_model.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {
struct Count {
  int* steps;
  void on_step(const distrib::StepDone&) { ++*steps; }
};

struct KeepNorms {
  std::vector<float>* norms;
  void on_step(const distrib::StepDone& done) const { norms->push_back(done.gradient_norm); }
};

struct CountExamples {
  std::uint64_t* examples;
  void on_start(const distrib::JobStart&) { *examples = 0; }
  void on_step(const distrib::StepDone& done) { *examples += done.examples; }
};

/// The line model with a running mean, as layers that normalise have them: a step sets it to the mean of the batch,
/// times 100. So what is written as its gradient is the change.
struct RunningModel : RuntimeLineModel {
  RunningModel() {
    std::vector<distrib::VariableInfo> variables = list.infos();
    variables.push_back(distrib::runtime_variable("mean", {}));
    list = distrib::RuntimeVariables{std::move(variables)};
  }
  auto updaters() const -> distrib::ModelUpdaters { return {{"mean", distrib::Sgd{.learning_rate = 1.0F}}}; }
  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext context) const -> float {
    float sum = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) sum += 100 * batch[i].x[0];
    get(gradients, "mean")() += get(values, "mean")() - sum / static_cast<float>(batch.size());
    return RuntimeLineModel::gradients(batch, values, gradients, context);
  }
};
}  // namespace

TEST_CASE("train: roles may be set in any order, hooks accumulate, the last setting of a role counts", "[train]") {
  const support::TempDirectory directory;
  int steps = 0, also = 0;
  const auto builder = distrib::train(LineModel{})
                           .with_hooks(distrib::StopAtStep{4}, Count{&steps})
                           .with_updater(distrib::Sgd{.learning_rate = 0.5F})
                           .with_data(line_model::write(directory.path()).batch(10))
                           .with_updater(distrib::Sgd{.learning_rate = 0.1F})
                           .with_hooks(Count{&also});
  auto trainer = builder.build();
  CHECK(trainer.run() == 0);
  CHECK(steps == 4);
  CHECK(also == 4);

  auto other = builder.with_updater(distrib::Sgd{.learning_rate = 0.1F}).build();
  CHECK(other.run() == 0);
  CHECK(other.result().parameters_sha256 == trainer.result().parameters_sha256);
  auto faster = builder.with_updater(distrib::Sgd{.learning_rate = 0.5F}).build();
  CHECK(faster.run() == 0);
  CHECK(faster.result().parameters_sha256 != trainer.result().parameters_sha256);
}

TEST_CASE("with_updater: a prefix selects the variables of an updater", "[train]") {
  const support::TempDirectory directory;
  const auto builder = distrib::train(LineModel{})
                           .with_data(line_model::write(directory.path()).batch(10))
                           .with_hooks(distrib::StopAtStep{4});
  const auto trained = [](const auto& with) {
    auto trainer = with.build();
    CHECK(trainer.run() == 0);
    return trainer.result().parameters_sha256;
  };
  const distrib::Sgd slow{.learning_rate = 0.1F};
  const distrib::Momentum other{.learning_rate = 0.1F, .momentum = 0.5F};
  const std::string name = LineModel{}.variables().infos().back().name;
  const std::string all_slow = trained(builder.with_updater(slow));
  CHECK(trained(builder.with_updater(other).with_updater(name, slow)) != all_slow);
  CHECK(trained(builder.with_updater(slow).with_updater(name, other)) != all_slow);
  CHECK(trained(builder.with_updater(slow).with_updater(name, slow)) == all_slow);
  CHECK(trained(builder.with_updater(slow).with_updater(name, other).with_updater(name, slow)) == all_slow);

  CHECK_THROWS_WITH(builder.with_updater("wdie/", slow).build(), ContainsSubstring("'wdie/'; the job has "));
  CHECK_THROWS_WITH(builder.with_updater("", slow).build(),
                    ContainsSubstring("no variable or table has this name or prefix"));
  CHECK_THROWS_WITH(distrib::train(CountingModel{})
                        .with_data(line_model::write(directory.path()).batch(10))
                        .with_hooks(distrib::StopAtStep{4})
                        .with_updater("se", slow)  // only a counter's name begins with it
                        .build(),
                    ContainsSubstring("'se'; the job has weights, bias"));
  CHECK_THROWS_WITH(builder.with_updater(distrib::Adagrad{.initial_accumulator_value = 0}),
                    ContainsSubstring("initial_accumulator_value must be positive"));
}

TEST_CASE("with_updater: a predicate selects the variables of an updater", "[train]") {
  const support::TempDirectory directory;
  const auto builder = distrib::train(LineModel{})
                           .with_data(line_model::write(directory.path()).batch(10))
                           .with_hooks(distrib::StopAtStep{4});
  const auto trained = [](const auto& with) {
    auto trainer = with.build();
    CHECK(trainer.run() == 0);
    return trainer.result().parameters_sha256;
  };
  const distrib::Sgd slow{.learning_rate = 0.1F};
  const distrib::Momentum other{.learning_rate = 0.1F, .momentum = 0.5F};
  const auto is_scalar = [](const auto& variable) { return variable.shape.rank() == 0; };
  const auto is_any = [](const distrib::VariableInfo&) { return true; };
  const std::string by_name = trained(builder.with_updater(slow).with_updater("bias", other));
  CHECK(by_name != trained(builder.with_updater(slow)));
  CHECK(trained(builder.with_updater(slow).with_updater(is_scalar, other)) == by_name);
  CHECK(trained(builder.with_updater(is_scalar, other).with_updater(slow)) == by_name);
  CHECK(trained(builder.with_updater(is_any, slow).with_updater(is_scalar, other)) == by_name);
  CHECK(trained(builder.with_updater(is_scalar, other).with_updater(is_any, slow)) ==
        trained(builder.with_updater(slow)));
  CHECK(trained(builder.with_updater("bias", other).with_updater(is_any, slow)) == by_name);

  const auto is_large = [](const distrib::VariableInfo& variable) { return variable.shape.elements() > 1000; };
  const auto mistaken = builder.with_updater(is_large, other);
  CHECK_THROWS_WITH(mistaken.build(),
                    ContainsSubstring("with_updater: the predicate of 'momentum learning_rate=0.1 momentum=0.5 ") &&
                        ContainsSubstring("; the job has weights, bias"));
  CHECK_THROWS_WITH(builder.with_updater(is_scalar, distrib::Adagrad{.initial_accumulator_value = 0}),
                    ContainsSubstring("initial_accumulator_value must be positive"));
}

TEST_CASE("build: a run-time list with tables needs lookups()", "[train]") {
  struct Silent : RuntimeLineModel {};
  Silent silent;
  silent.list = distrib::detail::run_time_list(TableModel{}.variables());
  const support::TempDirectory directory;
  const auto builder = distrib::train(silent)
                           .with_data(line_model::write(directory.path()).batch(10))
                           .with_hooks(distrib::StopAtStep{4});
  CHECK_THROWS_WITH(builder.build(),
                    "users: the model has tables, but no lookups() that says which rows a batch needs");
}

TEST_CASE("with_moving_average: each checkpoint has the averages of the values so far", "[train]") {
  const support::TempDirectory directory;
  const distrib::MovingAverage average{.decay = 0.75F, .warm_up = true};
  const auto data = line_model::write(directory.path());
  const auto builder = [&](const std::string& out, distrib::Step steps) {
    return distrib::train(LineModel{})
        .with_data(data.batch(10))
        .with_updater(distrib::Momentum{.learning_rate = 0.1F, .momentum = 0.5F})
        .with_hooks(distrib::StopAtStep{steps},
                    distrib::SaveCheckpoint{.directory = directory / out, .every_steps = 1, .max_to_keep = 10});
  };
  auto trainer = builder("a", 4).with_moving_average(average).build();
  CHECK(trainer.run() == 0);
  const auto read = [&](distrib::Step step, const std::string& name) {
    const auto reader = distrib::BundleReader::open(directory / ("a/model.ckpt-" + std::to_string(step)));
    std::vector<float> values(2);
    reader.read(name, distrib::Slice::whole({2}), std::as_writable_bytes(std::span{values}));
    return values;
  };
  std::vector<float> averages(2);
  const distrib::VariableInfo weights = LineModel{}.variables().infos().front();
  distrib::detail::fill(weights.initializer, 0, weights.name, weights.shape, distrib::Slice::whole({2}), averages);
  for (distrib::Step step = 1; step <= 4; ++step) {
    average.update(averages, read(step, "weights"), step);
    CHECK(read(step, "weights/ExponentialMovingAverage") == averages);
  }

  // Values are those of a job without averages; a restart continues the averages, on any number of shards.
  auto plain = builder("b", 4).build();
  CHECK(plain.run() == 0);
  CHECK(plain.result().parameters_sha256 == trainer.result().parameters_sha256);
  auto first = builder("a", 6).with_moving_average(average).with_local_mode({.shards = 2}).build();
  CHECK(first.run() == 0);
  for (distrib::Step step = 5; step <= 6; ++step) {
    average.update(averages, read(step, "weights"), step);
    CHECK(read(step, "weights/ExponentialMovingAverage") == averages);
  }

  // Another training may begin with the averages.
  const std::string prefix = directory / "a/model.ckpt-6";
  auto next = builder("c", 1)
                  .with_updater(distrib::Sgd{.learning_rate = 0.0F})
                  .with_initial_checkpoint(prefix, {.names = {{"weights/ExponentialMovingAverage", "weights"},
                                                              {"bias/ExponentialMovingAverage", "bias"}}})
                  .build();
  CHECK(next.run() == 0);
  const auto began = distrib::BundleReader::open(directory / "c/model.ckpt-1");
  std::vector<float> values(2);
  began.read("weights", distrib::Slice::whole({2}), std::as_writable_bytes(std::span{values}));
  CHECK(values == averages);

  CHECK_THROWS_WITH(builder("d", 1).with_moving_average({.decay = 1}),
                    ContainsSubstring("from 0 to below 1") && ContainsSubstring("decay=1"));
}

TEST_CASE("with_moving_average: tables have averages too, and evict and admit rows as without", "[train]") {
  const support::TempDirectory directory;
  const auto data = table_model::write(directory.path());
  const auto trained = [&](const auto& builder) {
    auto trainer = builder.build();
    CHECK(trainer.run() == 0);
    return trainer.result().parameters_sha256;
  };
  for (const auto kept_as : {distrib::FloatFormat::float32, distrib::FloatFormat::bfloat16}) {
    const TableModel model{.min_count = 2, .evict_after = 9, .kept_as = kept_as};
    const auto builder = table_model::builder(data, 2, 2, 30, model);
    CHECK(trained(builder.with_moving_average({})) == trained(builder));
  }
}

TEST_CASE("with_gradient_clipping: the same bits for any number of shards and threads, tables included", "[train]") {
  const support::TempDirectory directory;
  const auto data = table_model::write(directory.path());
  const auto trained = [&](const distrib::GradientClipping& clipping, std::uint32_t shards, bool pooled) {
    const auto builder = table_model::builder(data, 2, shards, 30).with_gradient_clipping(clipping);
    distrib::IoPool pool{2};
    auto trainer = pooled ? builder.build(pool) : builder.build();
    CHECK(trainer.run() == 0);
    return trainer.result().parameters_sha256;
  };
  const std::string whole = trained({}, 1, false);
  const std::string by_norm = trained(distrib::ClipByNorm{0.1F}, 1, false);
  const std::string by_value = trained(distrib::ClipByValue{0.01F}, 1, false);
  CHECK(by_norm != whole);
  CHECK(by_value != whole);
  CHECK(by_norm != by_value);
  for (const std::uint32_t shards : {1U, 3U})
    for (const bool pooled : {false, true}) {
      CHECK(trained(distrib::ClipByNorm{0.1F}, shards, pooled) == by_norm);
      CHECK(trained(distrib::ClipByValue{0.01F}, shards, pooled) == by_value);
    }
  CHECK_THROWS_WITH(table_model::builder(data, 2, 1, 30).with_gradient_clipping(distrib::ClipByNorm{-1}),
                    ContainsSubstring("must be positive and finite") && ContainsSubstring("norm -1"));
}

TEST_CASE("with_gradient_clipping: running means of a model are not clipped, and have averages", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path()).batch(10);
  std::vector<float> norms;
  const auto train = [&](const auto& model, const std::string& out, const distrib::GradientClipping& clipping) {
    norms.clear();
    auto trainer =
        distrib::train(model)
            .with_data(data)
            .with_updater(distrib::Momentum{.learning_rate = 0.1F, .momentum = 0.5F})
            .with_updater([](const distrib::VariableInfo& v) { return v.shape.rank() == 0; }, distrib::Sgd{})
            .with_gradient_clipping(clipping)
            .with_moving_average({.decay = 0.5F})
            .with_hooks(distrib::StopAtStep{4}, KeepNorms{&norms},
                        distrib::SaveCheckpoint{.directory = directory / out, .every_steps = 1, .max_to_keep = 10})
            .build();
    CHECK(trainer.run() == 0);
    return norms;
  };
  const auto read = [&](const std::string& out, distrib::Step step, const std::string& name, std::size_t size) {
    const auto reader = distrib::BundleReader::open(directory / (out + "/model.ckpt-" + std::to_string(step)));
    std::vector<float> values(size);
    const distrib::Shape shape = size == 1 ? distrib::Shape{} : distrib::Shape{static_cast<std::int64_t>(size)};
    reader.read(name, distrib::Slice::whole(shape), std::as_writable_bytes(std::span{values}));
    return values;
  };
  train(RunningModel{}, "free", {});
  for (const distrib::GradientClipping& clipping :
       {distrib::GradientClipping{distrib::ClipByNorm{0.1F}}, distrib::GradientClipping{distrib::ClipByValue{0.01F}}}) {
    const std::string kind = clipping.by_norm() != nullptr ? " norm" : " value";
    CAPTURE(kind);
    const auto expected = train(RuntimeLineModel{}, "line" + kind, clipping);
    const auto found = train(RunningModel{}, "running" + kind, clipping);
    for (std::size_t i = 0; i < 4; ++i) CHECK((found[i] == expected[i] || clipping.by_norm() == nullptr));
    CHECK(read("running" + kind, 4, "weights", 2) == read("line" + kind, 4, "weights", 2));
    CHECK(read("running" + kind, 4, "bias", 1) == read("line" + kind, 4, "bias", 1));
    CHECK(read("running" + kind, 4, "weights", 2) != read("free", 4, "weights", 2));
    float average = 0;
    for (distrib::Step step = 1; step <= 4; ++step) {
      const float mean = read("running" + kind, step, "mean", 1)[0];
      CHECK(std::abs(mean) > 0.5F);
      CHECK(mean == read("free", step, "mean", 1)[0]);
      average += (mean - average) * 0.5F;
      CHECK(read("running" + kind, step, "mean/ExponentialMovingAverage", 1)[0] == Approx(average));
    }
  }
}

TEST_CASE("with_gradient_accumulation: fewer and larger steps of the same data", "[train]") {
  const support::TempDirectory directory;
  const auto builder = distrib::train(LineModel{})
                           .with_data(line_model::write(directory.path(), 300).repeat(1).batch(10))
                           .with_updater(distrib::Sgd{.learning_rate = 0.1F});
  std::uint64_t examples = 0;
  const auto run = [&](const auto& with) {
    auto trainer = with.with_hooks(CountExamples{&examples}).build();
    const int code = trainer.run();  // not inside CHECK, which would catch an exception
    CHECK(code == 0);
    return trainer.result();
  };
  const auto one = run(builder);
  CHECK(one.steps == 30);
  CHECK(examples == 300);
  const auto four = run(builder.with_gradient_accumulation(4));
  CHECK(four.steps == 7);  // 30 batches are 7 contributions of 4
  CHECK(examples == 280);
  CHECK(four.parameters_sha256 != one.parameters_sha256);
  CHECK(run(builder.with_gradient_accumulation(4).with_gradient_accumulation(1)).parameters_sha256 ==
        one.parameters_sha256);
  CHECK(run(builder.with_gradient_accumulation(15).with_local_mode({.workers = 2})).steps == 1);
  CHECK_THROWS_WITH(run(builder.with_gradient_accumulation(31)), ContainsSubstring("not enough for one whole step"));
  for (const std::uint32_t bad : {0U, 4097U})
    CHECK_THROWS_WITH(run(builder.with_gradient_accumulation(bad)), ContainsSubstring("from 1 to 4096"));
}

namespace {

/// Notes which local steps it is asked about, and uses an input for each.
struct StepNotingModel : LineModel {
  std::vector<distrib::Step>* seen;

  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext context) const -> float {
    seen->push_back(context.step);
    CHECK(context.feed("step")[0] == static_cast<float>(context.step));
    return LineModel::gradients(batch, values, gradients, context);
  }
};

}  // namespace

TEST_CASE("with_local_steps: as many batches, fewer steps of the job", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path(), 300);
  const auto base = distrib::train(LineModel{}).with_data(data.repeat(1).batch(10));
  const auto builder = base.with_updater(distrib::Sgd{.learning_rate = 1.0F});
  std::uint64_t examples = 0;
  const auto run = [&](const auto& with) {
    auto trainer = with.with_hooks(CountExamples{&examples}).build();
    const int code = trainer.run();  // not inside CHECK, which would catch an exception
    CHECK(code == 0);
    return trainer.result();
  };
  const distrib::Sgd inner{.learning_rate = 0.1F};
  const auto four = run(builder.with_local_steps(4, inner));
  CHECK(four.steps == 7);  // 30 batches are 7 rounds of 4
  CHECK(examples == 280);
  CHECK(run(builder.with_local_steps(4, inner).with_hooks(distrib::StopAtStep{12})).steps == 3);
  CHECK(examples == 120);
  CHECK(run(builder.with_local_steps(4, inner).with_hooks(distrib::StopAtStep{.num_steps = 8})).steps == 2);
  CHECK(run(builder.with_local_steps(2, inner).with_gradient_accumulation(3)).steps == 5);
  CHECK(examples == 300);
  CHECK(run(builder.with_local_steps(5, inner).with_local_mode({.workers = 3})).steps == 2);

  // One worker whose whole change counts does what a plain job does, up to rounding.
  const auto measured = [&](const auto& with) {
    auto trainer = with.with_hooks(distrib::StopAtStep{28}, distrib::Evaluate{data.batch(10)}).build();
    CHECK(trainer.run() == 0);
    return *trainer.result().metrics.find("squared_error");
  };
  CHECK(measured(builder.with_local_steps(4, inner)) == Approx(measured(base.with_updater(inner))).epsilon(1e-3));
}

TEST_CASE("with_local_steps: models and inputs see the number of the local step", "[train]") {
  const support::TempDirectory directory;
  std::vector<distrib::Step> seen;
  const StepNotingModel model{{}, &seen};
  auto trainer = distrib::train(model)
                     .with_data(line_model::write(directory.path()).batch(10))
                     .with_local_steps(3, distrib::Sgd{})
                     .with_hooks(distrib::StopAtStep{9}, distrib::FeedFn{[](distrib::Step step, distrib::Rank) {
                                   return distrib::Feed{{"step", {static_cast<float>(step)}}};
                                 }})
                     .build();
  CHECK(trainer.run() == 0);
  CHECK(seen == std::vector<distrib::Step>{1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("with_local_steps: what has an updater of the model is updated with that one", "[train]") {
  const support::TempDirectory directory;
  const auto data = line_model::write(directory.path());
  const auto mean_after = [&](std::uint32_t local) {
    const std::string saved = (directory / ("local" + std::to_string(local))).string();
    auto trainer = distrib::train(RunningModel{})
                       .with_data(data.batch(10))
                       .with_updater(distrib::Sgd{.learning_rate = 1.0F})
                       .with_local_steps(local, distrib::Sgd{.learning_rate = 0.001F})
                       .with_hooks(distrib::StopAtStep{4}, distrib::SaveCheckpoint{.directory = saved})
                       .build();
    CHECK(trainer.run() == 0);
    const auto reader = distrib::BundleReader::open(trainer.result().checkpoint);
    float mean = 0;
    reader.read("mean", distrib::Slice::whole({}), std::as_writable_bytes(std::span{&mean, 1}));
    return mean;
  };
  // The running mean is that of the last batch: the fourth one in both.
  CHECK(mean_after(4) == Approx(mean_after(1)));
  CHECK(std::abs(mean_after(4)) > 0.5F);
}

TEST_CASE("with_local_steps: what a job cannot have is refused", "[train]") {
  const support::TempDirectory directory;
  const auto builder = distrib::train(LineModel{}).with_data(line_model::write(directory.path()).batch(10));
  for (const std::uint32_t bad : {0U, 65537U})
    CHECK_THROWS_WITH(builder.with_local_steps(bad, distrib::Sgd{}).build(),
                      ContainsSubstring("with_local_steps: " + std::to_string(bad) + " steps: ") &&
                          ContainsSubstring("from 1 to 65536"));
  CHECK_THROWS_WITH(builder.with_local_steps(4, distrib::Sgd{}).with_hooks(distrib::StopAtStep{10}).build(),
                    ContainsSubstring("with_local_steps: 4 steps, StopAtStep of 10: "));
  CHECK_THROWS_WITH(builder.with_local_steps(4, distrib::Sgd{}).with_hooks(distrib::StopAtStep{.num_steps = 6}).build(),
                    ContainsSubstring("StopAtStep of 6"));
  const support::TempDirectory tables;
  const auto table_builder = table_model::builder(table_model::write(tables.path()), 1, 1, 8);
  CHECK_THROWS_WITH(table_builder.with_local_steps(4, distrib::Sgd{}).build(),
                    ContainsSubstring("with_local_steps: 4 steps, table '") && ContainsSubstring("no tables"));
  CHECK_THROWS_AS(builder.with_local_steps(4, distrib::Sgd{.weight_decay = -1.0F}), std::system_error);
}

TEST_CASE("with_gradient_clipping: hooks are told the largest norm of the step", "[train]") {
  const support::TempDirectory directory;
  std::vector<float> norms;
  const auto builder = distrib::train(LineModel{})
                           .with_data(line_model::write(directory.path()).batch(10))
                           .with_hooks(distrib::StopAtStep{4}, KeepNorms{&norms});
  distrib::IoPool pool{2};
  const auto of = [&](std::uint32_t workers, const auto& with) {
    norms.clear();
    CHECK(with.with_local_mode({.workers = workers}).build(pool).run() == 0);
    CHECK(norms.size() == 4);
    return norms;
  };
  for (const float norm : of(2, builder)) CHECK(std::isnan(norm));
  for (const float norm : of(2, builder.with_gradient_clipping(distrib::ClipByValue{1}))) CHECK(std::isnan(norm));
  const auto clipped = builder.with_gradient_clipping(distrib::ClipByNorm{0.1F});
  const auto one = of(1, clipped);
  for (const float norm : one) CHECK(norm > 0.1F);
  const auto two = of(2, clipped);
  CHECK(two[0] >= one[0]);  // the first batch is that of rank 0
  CHECK(of(2, clipped) == two);
}

TEST_CASE("with_check_numerics: a gradient that is not finite ends the job", "[train]") {
  const support::TempDirectory directory;
  const auto builder = distrib::train(DivergingModel{})
                           .with_check_numerics()
                           .with_data(line_model::write(directory.path()).batch(10))
                           .with_hooks(distrib::StopAtStep{4});
  CHECK_THROWS_WITH(builder.build().run(),
                    ContainsSubstring("step 3 of rank 0, bias: ") && ContainsSubstring("not finite"));
  CHECK(builder.with_check_numerics(false).build().run() == 0);
}

TEST_CASE("with_wire_format: values and gradients are rounded as if they were sent, also in one process", "[train]") {
  const support::TempDirectory directory;
  const auto builder = distrib::train(LineModel{})
                           .with_data(line_model::write(directory.path()).batch(10))
                           .with_hooks(distrib::StopAtStep{4})
                           .with_updater(distrib::Sgd{.learning_rate = 0.1F});
  const auto trained = [](const auto& with) {
    auto trainer = with.build();
    CHECK(trainer.run() == 0);
    return trainer.result().parameters_sha256;
  };
  const std::string exact = trained(builder);
  const std::string rounded = trained(builder.with_wire_format(distrib::FloatFormat::bfloat16));
  CHECK(trained(builder.with_wire_format(distrib::FloatFormat::float32)) == exact);
  CHECK(rounded != exact);
  CHECK(trained(builder.with_wire_format(distrib::FloatFormat::float16)) != rounded);
  // With large steps it shows that the smaller of two gradients is rounded to a multiple of 1/127 of the larger one.
  const auto fast = builder.with_updater(distrib::Sgd{.learning_rate = 0.7F});
  const std::string int8 = trained(fast.with_wire_format(distrib::Int8Gradients{}));
  CHECK(int8 != trained(fast.with_wire_format(distrib::FloatFormat::bfloat16)));
  CHECK(trained(fast.with_wire_format(distrib::Int8Gradients{})) == int8);
  // It stays when another role is set after it.
  CHECK(
      trained(builder.with_wire_format(distrib::FloatFormat::bfloat16).with_placement(distrib::RoundRobinStrategy{})) ==
      rounded);
}

TEST_CASE("build: the trainer has the role that the flags give", "[train]") {
  const support::TempDirectory directory;
  distrib::IoPool pool{1};
  const auto builder = distrib::train(LineModel{}).with_data(line_model::write(directory.path()).batch(10));
  const char* const local[] = {"program"};
  CHECK_NOTHROW(builder.build(pool, distrib::ClusterFlags::parse(1, local)));
  const char* const task[] = {"program", "--job_name=ps", "--ps_hosts=a:1", "--worker_hosts=b:1"};
  CHECK_NOTHROW(builder.build(pool, distrib::ClusterFlags::parse(4, task)));
  distrib::ClusterFlags evaluator = distrib::ClusterFlags::parse(4, task);
  evaluator.job_name = "evaluator";
  CHECK_THROWS_WITH(builder.build(pool, evaluator).run(), ContainsSubstring("needs the hooks Evaluate"));
}

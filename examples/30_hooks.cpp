// SPDX-License-Identifier: Apache-2.0
// Hooks: extra input for the model, checkpoints by a cadence, a stop by a hook, the best checkpoint, a final value.
#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/data/tfrecords.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/train.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

struct Line {  // y = slope * x
  using Variables = distrib::VariableList<distrib::Variable<"slope", float, 0>>;
  struct Example {
    float x, y;
  };
  auto variables() const -> Variables { return {{{}}}; }
  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext context) const -> float {
    const float share = context.feed("scale")[0] / static_cast<float>(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i)
      distrib::get<"slope">(gradients)() += 2 * error(batch[i], values) * batch[i].x * share;
    return error(batch[0], values) * error(batch[0], values);
  }
  auto evaluate(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values) const
      -> distrib::Metrics {
    double sum = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) sum += double{error(batch[i], values) * error(batch[i], values)};
    return {batch.size(), {{"loss", sum / static_cast<double>(batch.size())}}};
  }
  static auto error(const Example& one, const distrib::Values<Variables>& values) -> float {
    return distrib::get<"slope">(values)() * one.x - one.y;
  }
};

constexpr auto schema =
    distrib::schema<Line::Example>(distrib::feature("x", &Line::Example::x), distrib::feature("y", &Line::Example::y));
const std::string out = "30_hooks.out";

struct Listener {  // TensorFlow's CheckpointSaverListener: hears of checkpoints, and may end the training after one
  bool is_enough = false;
  void on_saving(const distrib::CheckpointBegun& event) { std::printf("save %d\n", static_cast<int>(event.step)); }
  void on_evaluated(const distrib::Evaluated& event) { is_enough = event.metrics.find("loss") < 1e-6; }
  auto stop_reason() const -> std::string { return is_enough ? "the loss is small" : ""; }
};

auto main() -> int try {
  std::filesystem::create_directory(out);
  distrib::ExampleWriter example{schema};
  distrib::RecordWriter writer{out + "/data.tfrecord"};
  for (float x = -1; x < 1; x += 1.0F / 64) writer.append(example.write({x, 2 * x}));
  writer.close();
  const auto data = distrib::tfrecords(out + "/data.tfrecord").schema(schema).shuffle(1).batch(32);

  const distrib::FinalOps slope{[](const distrib::NamedValues& values) { return values.read("slope").front(); }};
  const auto half_at_first = [](distrib::Step step, distrib::Rank) -> distrib::Feed {
    return {{"scale", {step <= 10 ? 0.5F : 1.0F}}};
  };
  auto trainer =
      distrib::train(Line{})
          .with_data(data)
          .with_updater(distrib::Sgd{.learning_rate = 0.2F})
          .with_hooks(
              distrib::StopAtStep{100'000}, distrib::Evaluate{data, 50}, distrib::FeedFn{half_at_first},
              distrib::SaveCheckpoint{.directory = out, .every_steps = 0}, distrib::CheckpointSaver{{.save_steps = 50}},
              Listener{}, distrib::NanTensor{}, slope,
              distrib::KeepBestCheckpoint{{.directory = out + "/best", .metric = "loss", .lower_is_better = true}})
          .build();
  const int code = trainer.run();  // 0: done, or a hook has asked to stop
  std::printf("stopped: %s\nslope %.3f\n", trainer.result().stop_reason.c_str(), slope.final_ops_values().value_or(0));
  const bool has_best = distrib::latest_checkpoint(out + "/best").has_value();
  std::filesystem::remove_all(out);
  return code == 0 && has_best ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}

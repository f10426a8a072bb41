// SPDX-License-Identifier: Apache-2.0
// A job whose checkpoints a process of its own measures, and a trace of what every process did. Without flags the whole
// job is this process. tests/integration/evaluator.sh starts it as a cluster.
#include <distrib/checkpoint/latest_checkpoint.hpp>
#include <distrib/data/tfrecords.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/train.hpp>

#include <unistd.h>

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
                 distrib::Gradients<Variables>& gradients, distrib::StepContext) const -> float {
    const float share = 1 / static_cast<float>(batch.size());
    float loss = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const float error = distrib::get<"slope">(values)() * batch[i].x - batch[i].y;
      distrib::get<"slope">(gradients)() += 2 * error * batch[i].x * share;
      loss += error * error * share;
    }
    return loss;
  }
  auto evaluate(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values) const
      -> distrib::Metrics {
    distrib::Gradients<Variables> unused{variables()};
    return {batch.size(), {{"loss", double{gradients(batch, values, unused, {})}}}};
  }
};

// Each process writes the data under a name of its own, then gives them their common name.
auto data(const std::string& out) {
  const auto x = distrib::feature("x", &Line::Example::x);
  const auto y = distrib::feature("y", &Line::Example::y);
  const std::string own = out + "/data." + std::to_string(::getpid());
  std::filesystem::create_directories(out);
  distrib::ExampleWriter example{distrib::schema<Line::Example>(x, y)};
  distrib::RecordWriter writer{own};
  for (float at = -1; at < 1; at += 1.0F / 64) writer.append(example.write({at, 2 * at}));
  writer.close();
  std::filesystem::rename(own, out + "/data.tfrecord");
  return distrib::tfrecords(out + "/data.tfrecord").schema(x, y).shuffle(1).batch(32);
}

auto main(int argc, char** argv) -> int try {
  const auto flags = distrib::ClusterFlags::parse(argc, argv);
  const std::string out = "31_evaluator.out";
  const auto points = data(out);
  distrib::IoPool pool{2};
  auto trainer =
      distrib::train(Line{})
          .with_data(points)
          .with_updater(distrib::Sgd{.learning_rate = 0.2F})
          .with_hooks(
              distrib::StopAtStep{200}, distrib::SaveCheckpoint{.directory = out, .every_steps = 50},
              distrib::Evaluate{.data = points, .every_steps = 50, .by_evaluator = true},
              distrib::WriteSummaries{flags.job_name == "evaluator" ? out + "/eval" : out + "/events"},
              distrib::KeepBestCheckpoint{{.directory = out + "/best", .metric = "loss", .lower_is_better = true}},
              distrib::Profiler{{.output_dir = out + "/traces", .save_secs = 1}})
          .build(pool, flags);
  const int code = trainer.run();
  if (flags.local()) std::filesystem::remove_all(out);
  if (const auto loss = trainer.result().metrics.find("loss")) std::printf("loss %.3f\n", *loss);
  return code;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}

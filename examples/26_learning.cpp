// SPDX-License-Identifier: Apache-2.0
// How a model learns: PyTorch's Adam with a schedule, weight decay, clipped gradients, and steps made of small batches.
#include <distrib/data/tfrecords.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/optimizer/learning_rate.hpp>
#include <distrib/optimizer/torch_adam.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/train.hpp>

#include <cmath>
#include <cstdio>
#include <random>
#include <string>

namespace {

// Fits y = a * x + b.
struct Fit {
  using Variables = distrib::VariableList<distrib::Variable<"a", float, 0>, distrib::Variable<"b", float, 0>>;
  struct Example {
    float x;
    float y;
  };
  auto variables() const -> Variables { return {{{}}, {{}}}; }

  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext) const -> float {
    const float a = distrib::get<"a">(values)(), b = distrib::get<"b">(values)();
    const float share = 1 / static_cast<float>(batch.size());
    float loss = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const float error = a * batch[i].x + b - batch[i].y;
      distrib::get<"a">(gradients)() += 2 * share * error * batch[i].x;
      distrib::get<"b">(gradients)() += 2 * share * error;
      loss += share * error * error;
    }
    return loss;
  }
};

constexpr auto x = distrib::feature("x", &Fit::Example::x);
constexpr auto y = distrib::feature("y", &Fit::Example::y);

void write_records(const std::string& path) {
  distrib::ExampleWriter encode{distrib::schema<Fit::Example>(x, y)};
  distrib::RecordWriter writer{path};
  std::mt19937 random{1};
  for (int i = 0; i < 1000; ++i) {
    const float at = static_cast<float>(random() % 2000) / 1000 - 1;
    writer.append(encode.write({at, 3 * at - 1}));
  }
  writer.close();
}

// Keeps the last loss.
struct LastLoss {
  float* loss;
  void on_step(const distrib::StepDone& done) const { *loss = done.loss; }
};

}  // namespace

auto main() -> int {
  write_records("26_learning.tfrecord");
  float loss = 0;

  const distrib::LearningRate rate = distrib::WarmUp{
      .steps = 50, .start = 0.1, .then = distrib::CosineDecay{.first = 0.1F, .last = 0.0F, .steps = 350}};
  auto trainer = distrib::train(Fit{})
                     .with_data(distrib::tfrecords("26_learning.tfrecord").schema(x, y).shuffle(1).batch(8))
                     .with_updater(distrib::TorchAdam{
                         .learning_rate = rate, .weight_decay = 0.0001F, .decoupled_weight_decay = true})
                     .with_gradient_clipping(distrib::ClipByNorm{1})
                     .with_gradient_accumulation(4)
                     .with_hooks(distrib::StopAtStep{400}, LastLoss{&loss})
                     .build();

  std::printf("%s\n", rate.describe().c_str());
  for (const int update : {1, 26, 51, 226, 400})
    std::printf("update %3d: %.4f\n", update, double{rate.at(static_cast<std::uint64_t>(update))});
  const int code = trainer.run();
  std::printf("loss below 0.0001: %s\n", loss < 0.0001F ? "yes" : "no");
  return code;
}

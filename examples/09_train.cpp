// SPDX-License-Identifier: Apache-2.0
// A linear regression, trained by three workers in one process until it has found the weights that made the data.
#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/data/tfrecords.hpp>
#include <distrib/example/example_writer.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/record/record_writer.hpp>
#include <distrib/train/builder.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <span>
#include <string>

struct Regression {
  using Variables = distrib::VariableList<distrib::Variable<"weights", float, 1>, distrib::Variable<"bias", float, 0>>;
  struct Example {
    std::array<float, 3> x;
    float y;
  };
  auto variables() const -> Variables { return {{{3}}, {{}}}; }  // shapes; without an initializer, values start as 0

  // Returns the mean of (w.x + b - y)^2 over the batch, and writes its derivatives by the elements of w and b.
  auto gradients(const distrib::Batch<Example>& batch, const distrib::Values<Variables>& values,
                 distrib::Gradients<Variables>& gradients, distrib::StepContext) const -> float {
    const auto w = distrib::get<"weights">(values);
    const auto b = distrib::get<"bias">(values);
    auto dw = distrib::get<"weights">(gradients);
    auto db = distrib::get<"bias">(gradients);
    const float share = 1 / static_cast<float>(batch.size());
    float loss = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto [x, y] = batch[i];
      const float error = w(0) * x[0] + w(1) * x[1] + w(2) * x[2] + b() - y;
      for (std::size_t j = 0; j < 3; ++j) dw(j) += 2 * error * x[j] * share;
      db() += 2 * error * share;
      loss += error * error * share;
    }
    return loss;
  }
};

constexpr auto x = distrib::feature("x", &Regression::Example::x);
constexpr auto y = distrib::feature("y", &Regression::Example::y);

void write_data(const std::string& file) {
  distrib::ExampleWriter example{distrib::schema<Regression::Example>(x, y)};
  distrib::RecordWriter writer{file};
  distrib::Philox random{7, 0, 0};
  const auto number = [&random] { return 2 * distrib::uniform01(random()) - 1; };
  for (int i = 0; i < 1000; ++i) {
    const std::array at{number(), number(), number()};
    writer.append(example.write({at, 2 * at[0] - 3 * at[1] + 0.5F * at[2] + 1}));
  }
  writer.close();
}

auto main() -> int try {
  write_data("09_train.tfrecord");
  distrib::IoPool pool{2};
  auto trainer = distrib::train(Regression{})
                     .with_data(distrib::tfrecords("09_train.tfrecord").schema(x, y).shuffle(1).batch(32))
                     .with_updater(distrib::Momentum{.learning_rate = 0.05F, .momentum = 0.9F})
                     .with_hooks(distrib::StopAtStep{200}, distrib::SaveCheckpoint{.directory = "09_train.out"})
                     .with_local_mode({.workers = 3})
                     .build(pool);
  const int code = trainer.run();  // 0: done, 1: interrupted and saved

  std::array<float, 3> w{};
  const auto checkpoint = distrib::BundleReader::open(trainer.result().checkpoint);
  checkpoint.read("weights", distrib::Slice::whole({3}), std::as_writable_bytes(std::span{w}));
  for (const float weight : w) std::printf("%.3f\n", double{weight});
  std::filesystem::remove_all("09_train.out");
  std::filesystem::remove("09_train.tfrecord");
  return code == 0 && std::abs(w[0] - 2) + std::abs(w[1] + 3) + std::abs(w[2] - 0.5F) < 0.01F ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}

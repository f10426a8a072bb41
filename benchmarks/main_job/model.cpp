// SPDX-License-Identifier: Apache-2.0
// The CPU seconds of the main job's model alone: as many worker processes at once, each of which asks `Mlp` for the
// gradients of every step, OpenBLAS on one thread; one of them measures the model on the test data once, as the job
// does. Records are read and parsed before, and nothing is sent anywhere. The values are trained a little, as what a
// branch of the model costs depends on them.
#include "processes.hpp"

#include <fashion_mnist/mlp.hpp>

#include <distrib/core/initializer.hpp>
#include <distrib/data/tfrecords.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

extern "C" void openblas_set_num_threads(int);  // cblas.h and xtensor-blas declare the same things differently

namespace {

using Batch = distrib::Batch<FashionExample>;
using Values = distrib::Values<Mlp::Variables>;
using Gradients = distrib::Gradients<Mlp::Variables>;

constexpr std::uint64_t batches_read = 8;  // that take turns
constexpr int steps_before = 200;
constexpr float learning_rate = 0.1F;

auto read(const std::string& pattern, std::uint64_t batch, std::uint64_t most) -> std::vector<Batch> {
  const auto source = distrib::tfrecords(pattern).schema(image_feature, label_feature).batch(batch).open();
  std::vector<Batch> batches(std::min(most, source.in_order_batches()));
  for (std::uint64_t i = 0; i < batches.size(); ++i) source.fill_in_order(i, batches[i]);
  return batches;
}

auto trained_a_little(const std::vector<Batch>& batches) -> Values {
  const auto infos = Mlp{}.variables().infos();
  Values values{infos};
  Gradients gradients{infos};
  const auto floats = [&infos](auto& of, std::size_t v) {
    return std::span{reinterpret_cast<float*>(of.data(v)), static_cast<std::size_t>(infos[v].shape.elements())};
  };
  for (std::size_t v = 0; v < infos.size(); ++v)
    distrib::fill(infos[v].initializer, 1, infos[v].name, infos[v].shape, distrib::Slice::whole(infos[v].shape),
                  floats(values, v));
  for (int step = 0; step < steps_before; ++step) {
    gradients.zero();
    Mlp{}.gradients(batches[static_cast<std::size_t>(step) % batches.size()], values, gradients, {});
    for (std::size_t v = 0; v < infos.size(); ++v)
      for (std::size_t i = 0; i < floats(values, v).size(); ++i)
        floats(values, v)[i] -= learning_rate * floats(gradients, v)[i];
  }
  return values;
}

}  // namespace

int main(int argc, char** argv) try {
  std::string records;
  std::size_t workers = 3;
  std::uint64_t steps = 3000, batch = 64;
  CLI::App app{"Computes the gradients of the main job and prints what they cost."};
  app.add_option("records", records, "Directory of Fashion-MNIST as TFRecords")->required();
  app.add_option("--workers", workers, "Worker processes")->check(CLI::Range(1, 100))->capture_default_str();
  app.add_option("--steps", steps, "Steps of each worker")->check(CLI::Range(0, 1 << 30))->capture_default_str();
  app.add_option("--batch", batch, "Examples of a step")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 64;
  }
  openblas_set_num_threads(1);
  const std::vector<Batch> batches = read(records + "/train-*", batch, batches_read);
  const std::vector<Batch> test_batches = read(records + "/test-*", 500, batches_read * 500);
  const Values values = trained_a_little(batches);

  const auto descend = [&] {
    Gradients gradients{Mlp{}.variables()};  // to zero it is not the model's work; nobody looks at what adds up there
    for (std::uint64_t step = 0; step < steps; ++step)
      Mlp{}.gradients(batches[step % batches.size()], values, gradients, {});
  };
  std::vector<std::function<void()>> processes(workers, descend);
  processes.front() = [&] {
    descend();
    for (const Batch& test : test_batches) Mlp{}.evaluate(test, values);
  };
  return print(run_processes(processes));
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 70;
}

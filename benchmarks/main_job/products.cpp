// SPDX-License-Identifier: Apache-2.0
// Measures the CPU seconds of the main job's matrix products alone: as many worker processes at the same time, the
// products that Mlp::gradients computes, with the same shapes and types.
#include "processes.hpp"

#include <fashion_mnist/mlp.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

namespace {

using Matrix = xt::xtensor<float, 2, xt::layout_type::row_major>;

void multiply(std::size_t batch, std::uint64_t steps) {
  const auto matrix = [batch](std::int64_t columns) -> Matrix {
    return Matrix::from_shape({batch, static_cast<std::size_t>(columns)});
  };
  Matrix images = matrix(Mlp::pixels), activations = matrix(Mlp::hidden), error = matrix(Mlp::classes),
         hidden_error = matrix(Mlp::hidden);
  images.fill(0.5F);
  activations.fill(0);
  error.fill(0);
  distrib::Values<Mlp::Variables> values{Mlp{}.variables()};
  distrib::Gradients<Mlp::Variables> gradients{Mlp{}.variables()};
  for (std::size_t v = 0; v < Mlp::Variables::size; ++v)
    std::fill_n(reinterpret_cast<float*>(values.data(v)), values.shape(v).elements(), 1e-3F);

  // The first two products are added to `activations` and `error`, which are never reset here (the model puts the bias
  // there). So their values grow from step to step; they stay far below infinity and are not denormal.
  for (std::uint64_t step = 0; step < steps; ++step) {
    distrib::matmul_add(images, distrib::get<"hidden/weights">(std::as_const(values)), activations);
    distrib::matmul_add(activations, distrib::get<"output/weights">(std::as_const(values)), error);
    auto output_weights = distrib::get<"output/weights">(gradients);
    distrib::matmul(distrib::transposed(activations), error, output_weights);
    distrib::matmul(error, distrib::transposed(distrib::get<"output/weights">(std::as_const(values))), hidden_error);
    auto hidden_weights = distrib::get<"hidden/weights">(gradients);
    distrib::matmul(distrib::transposed(images), hidden_error, hidden_weights);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  std::size_t workers = 3, batch = 64;
  std::uint64_t steps = 3000;
  CLI::App app{"Computes the matrix products of the main job and prints the cost as JSON."};
  app.add_option("--workers", workers, "Worker processes")->check(CLI::Range(1, 100))->capture_default_str();
  app.add_option("--steps", steps, "Steps of each worker")->check(CLI::Range(0, 1 << 30))->capture_default_str();
  app.add_option("--batch", batch, "Examples in each step")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 64;
  }
  return print(run_processes(std::vector<std::function<void()>>(workers, [&] { multiply(batch, steps); })));
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 70;
}

// SPDX-License-Identifier: Apache-2.0
// A plain loop of LibTorch in one process, on one thread. usage: plain NET RECORDS STEPS. Prints steps per second.
#include "loop.hpp"
#include "nets.hpp"

#include <torch/optim/sgd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

namespace {

template <class Net> void run(const std::string& records, int steps) {
  Net net;
  Images images{records};
  torch::optim::SGD sgd{net.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9)};
  float loss = 0;
  const auto began = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; ++step) {
    const auto [x, y] = images.next(64, 0, 1);
    sgd.zero_grad();
    const auto of_batch = torch::cross_entropy_loss(net.forward(x), y);
    of_batch.backward();
    sgd.step();
    loss = of_batch.template item<float>();
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - began;
  std::printf("{\"steps_per_second\": %.3f, \"loss\": %.4f}\n", steps / spent.count(), static_cast<double>(loss));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) throw std::invalid_argument("usage: plain NET RECORDS STEPS");
  distrib::detail::set_intra_op_threads(1);
  torch::manual_seed(1);
  with_net(argv[1], [&]<class Net>() { run<Net>(argv[2], std::atoi(argv[3])); });
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}

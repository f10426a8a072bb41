// SPDX-License-Identifier: Apache-2.0
// The network of train.cpp in a plain loop of LibTorch, in one process and without distrib, to see what differs.
//
//     torch_plain DIRECTORY [STEPS]      DIRECTORY has the four files of Fashion-MNIST, unpacked
#include "fashion_net.hpp"

#include <torch/data/dataloader.h>
#include <torch/data/datasets/map.h>
#include <torch/data/datasets/mnist.h>
#include <torch/data/samplers/random.h>
#include <torch/data/transforms/stack.h>
#include <torch/optim/sgd.h>
#include <torch/serialize.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

using torch::data::datasets::MNIST;

auto load(const std::string& directory, MNIST::Mode mode, std::size_t batch) {
  auto data = MNIST(directory, mode).map(torch::data::transforms::Stack<>());
  return torch::data::make_data_loader<torch::data::samplers::RandomSampler>(std::move(data), batch);
}

void train(FashionNet& net, const std::string& directory, int steps) {
  torch::optim::SGD sgd{net.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9)};
  net.train();
  for (int step = 0; step < steps;)
    for (auto& batch : *load(directory, MNIST::Mode::kTrain, 64)) {
      if (step++ == steps) return;
      sgd.zero_grad();
      torch::cross_entropy_loss(net.forward(batch.data), batch.target).backward();
      sgd.step();
    }
}

auto accuracy(FashionNet& net, const std::string& directory) -> double {
  const torch::NoGradGuard no_gradients;
  net.eval();
  double right = 0;
  for (auto& batch : *load(directory, MNIST::Mode::kTest, 500))
    right += net.forward(batch.data).argmax(1).eq(batch.target).sum().item<double>();
  return right / 10'000;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) throw std::invalid_argument("usage: torch_plain DIRECTORY [STEPS]");
  torch::manual_seed(1);
  auto net = std::make_shared<FashionNet>();
  train(*net, argv[1], argc > 2 ? std::stoi(argv[2]) : 2000);
  std::printf("accuracy %.4f\n", accuracy(*net, argv[1]));
  torch::save(net, "net.pt");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}

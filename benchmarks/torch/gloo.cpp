// SPDX-License-Identifier: Apache-2.0
// Data-parallel training by hand, as C++ programs with LibTorch do it today: each rank computes on its share of a
// batch, and Gloo adds up the gradients, which lie in one flat tensor. usage: gloo NET RECORDS STEPS RANK WORLD PORT.
// Rank 0 prints steps per second.
#include "loop.hpp"
#include "nets.hpp"

#include <torch/optim/sgd.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

namespace {

auto connect(int rank, int world, int port) -> c10::intrusive_ptr<c10d::ProcessGroupGloo> {
  c10d::TCPStoreOptions at;
  at.port = static_cast<std::uint16_t>(port);
  at.isServer = rank == 0;
  at.numWorkers = world;
  const auto store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", at);
  const auto options = c10d::ProcessGroupGloo::Options::create();
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, world, options);
}

template <class Net> void run(const std::string& records, int steps, int rank, int world, int port) {
  const auto group = connect(rank, world, port);
  torch::manual_seed(1);  // the same parameters and the same order everywhere
  Net net;
  Images images{records};
  torch::optim::SGD sgd{net.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9)};
  std::int64_t size = 0;
  for (const auto& parameter : net.parameters()) size += parameter.numel();
  torch::Tensor flat = torch::zeros({size});
  std::int64_t at = 0;
  for (auto& parameter : net.parameters()) {
    parameter.mutable_grad() = flat.narrow(0, at, parameter.numel()).view_as(parameter);
    at += parameter.numel();
  }
  float loss = 0;
  const auto began = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; ++step) {
    const auto [x, y] = images.next(64, rank, world);
    flat.zero_();
    const auto of_batch = torch::cross_entropy_loss(net.forward(x), y);
    of_batch.backward();
    std::vector<torch::Tensor> sums{flat};
    group->allreduce(sums)->wait();
    flat.div_(world);
    sgd.step();
    loss = of_batch.template item<float>();
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - began;
  if (rank == 0)
    std::printf("{\"steps_per_second\": %.3f, \"loss\": %.4f}\n", steps / spent.count(), static_cast<double>(loss));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 7) throw std::invalid_argument("usage: gloo NET RECORDS STEPS RANK WORLD PORT");
  distrib::detail::set_intra_op_threads(1);
  const auto number = [&](int i) { return std::atoi(argv[i]); };
  with_net(argv[1], [&]<class Net>() { run<Net>(argv[2], number(3), number(4), number(5), number(6)); });
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 65;
}

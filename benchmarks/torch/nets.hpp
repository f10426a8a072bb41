// SPDX-License-Identifier: Apache-2.0
// The networks that are measured. None of them knows distrib.
#pragma once

#include "torch/fashion_net.hpp"

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <stdexcept>
#include <string>

/// 784 - 128 - 10, as in the main job: 101 770 parameters.
struct MlpNet : torch::nn::Module {
  MlpNet() {
    hidden = register_module("hidden", torch::nn::Linear(784, 128));
    output = register_module("output", torch::nn::Linear(128, 10));
  }
  auto forward(const torch::Tensor& x) -> torch::Tensor { return output(torch::relu(hidden(x.flatten(1)))); }

  torch::nn::Linear hidden{nullptr}, output{nullptr};
};

/// Two convolutions, two linear layers: 421 642 parameters.
struct CnnNet : torch::nn::Module {
  CnnNet() {
    conv1 = register_module("conv1", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 32, 3).padding(1)));
    conv2 = register_module("conv2", torch::nn::Conv2d(torch::nn::Conv2dOptions(32, 64, 3).padding(1)));
    fc1 = register_module("fc1", torch::nn::Linear(64 * 7 * 7, 128));
    fc2 = register_module("fc2", torch::nn::Linear(128, 10));
  }
  auto forward(torch::Tensor x) -> torch::Tensor {
    x = torch::max_pool2d(torch::relu(conv1(x)), 2);
    x = torch::max_pool2d(torch::relu(conv2(x)), 2);
    return fc2(torch::relu(fc1(x.flatten(1))));
  }

  torch::nn::Conv2d conv1{nullptr}, conv2{nullptr};
  torch::nn::Linear fc1{nullptr}, fc2{nullptr};
};

/// Calls `run.template operator()<Net>()` for the network of this name: "mlp", "cnn", or "norm" for the network of
/// examples/torch, with batch normalization and dropout.
auto with_net(const std::string& name, auto&& run) {
  if (name == "mlp") return run.template operator()<MlpNet>();
  if (name == "cnn") return run.template operator()<CnnNet>();
  if (name == "norm") return run.template operator()<FashionNet>();
  throw std::invalid_argument("no network '" + name + "'");
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../fashion_mnist/fashion_example.hpp"

#include <distrib/libtorch.hpp>

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include <memory>

/// A module of LibTorch that knows nothing of distrib: two convolutions with batch normalization, two linear layers
/// with dropout between them; 106 250 parameters.
struct FashionNet : torch::nn::Module {
  FashionNet() {
    conv1 = register_module("conv1", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 16, 3).padding(1)));
    bn1 = register_module("bn1", torch::nn::BatchNorm2d(16));
    conv2 = register_module("conv2", torch::nn::Conv2d(torch::nn::Conv2dOptions(16, 32, 3).padding(1)));
    bn2 = register_module("bn2", torch::nn::BatchNorm2d(32));
    fc1 = register_module("fc1", torch::nn::Linear(32 * 7 * 7, 64));
    drop = register_module("drop", torch::nn::Dropout(0.3));
    fc2 = register_module("fc2", torch::nn::Linear(64, 10));
  }

  auto forward(torch::Tensor x) -> torch::Tensor {
    x = torch::max_pool2d(torch::relu(bn1(conv1(x))), 2);
    x = torch::max_pool2d(torch::relu(bn2(conv2(x))), 2);
    return fc2(drop(torch::relu(fc1(x.flatten(1)))));
  }

  torch::nn::Conv2d conv1{nullptr}, conv2{nullptr};
  torch::nn::BatchNorm2d bn1{nullptr}, bn2{nullptr};
  torch::nn::Linear fc1{nullptr}, fc2{nullptr};
  torch::nn::Dropout drop{nullptr};
};

/// What is trained: the module, its data, its loss.
struct Fashion {
  using Example = FashionExample;

  auto make() const { return std::make_shared<FashionNet>(); }

  auto loss(FashionNet& net, const distrib::Batch<Example>& batch) const -> torch::Tensor {
    return torch::cross_entropy_loss(net.forward(images(batch)), distrib::torch_tensor(batch.column(&Example::label)));
  }

  auto evaluate(FashionNet& net, const distrib::Batch<Example>& batch) const -> distrib::Metrics {
    const auto logits = net.forward(images(batch));
    const auto labels = distrib::torch_tensor(batch.column(&Example::label));
    const auto right = logits.argmax(1).eq(labels).to(torch::kFloat64).mean();
    return {batch.size(),
            {{"accuracy", right.item<double>()}, {"loss", torch::cross_entropy_loss(logits, labels).item<double>()}}};
  }

  static auto images(const distrib::Batch<Example>& batch) -> torch::Tensor {
    return distrib::torch_tensor(batch.column(&Example::image), {1, 28, 28}).to(torch::kFloat32).div_(255);
  }
};

// SPDX-License-Identifier: Apache-2.0
// What the loops without distrib share: the training data in memory, and batches of it in a random order.
#pragma once

#include "fashion_mnist/fashion_example.hpp"

#include <distrib/data/tfrecords.hpp>
#include <distrib/libtorch/torch_tensor.hpp>

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <utility>

/// All images and labels, and an order of them.
class Images {
 public:
  /// Reads the records of this directory. The order follows from `torch::manual_seed`.
  explicit Images(const std::string& records) {
    const auto source =
        distrib::tfrecords(records + "/train-*").schema(image_feature, label_feature).batch(60'000).open();
    distrib::Batch<FashionExample> all;
    source.fill(0, all);
    images_ = distrib::torch_tensor(all.column(&FashionExample::image), {1, 28, 28});
    labels_ = distrib::torch_tensor(all.column(&FashionExample::label)).clone();
    order_ = torch::randperm(labels_.size(0));
  }

  /// Returns images and labels of share `rank` of the next `world` * `batch` examples.
  auto next(std::int64_t batch, std::int64_t rank, std::int64_t world) -> std::pair<torch::Tensor, torch::Tensor> {
    if (at_ + batch * world > labels_.size(0)) {
      order_ = torch::randperm(labels_.size(0));
      at_ = 0;
    }
    const auto pick = order_.narrow(0, at_ + rank * batch, batch);
    at_ += batch * world;
    return {images_.index_select(0, pick).to(torch::kFloat32).div_(255), labels_.index_select(0, pick)};
  }

 private:
  torch::Tensor images_, labels_, order_;
  std::int64_t at_ = 0;
};

// error: distrib: a task needs a type Example: one record of its data
// SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/torch_model.hpp>

struct Record {
  float x;
};

struct Task {
#ifndef DISTRIB_COMPILE_FAIL
  using Example = Record;
#endif
  auto make() const { return std::make_shared<torch::nn::Module>(); }
  auto loss(torch::nn::Module&, const distrib::Batch<Record>&) const -> torch::Tensor { return {}; }
};

auto model() { return distrib::TorchModel{Task{}}; }

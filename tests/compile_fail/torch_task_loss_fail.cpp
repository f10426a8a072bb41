// error: distrib: a task needs: auto loss\(Net&, const distrib::Batch<Example>&\) const -> torch::Tensor
// SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/torch_model.hpp>

struct Task {
  struct Example {
    float x;
  };
  auto make() const { return std::make_shared<torch::nn::Module>(); }
#ifdef DISTRIB_COMPILE_FAIL
  auto loss(torch::nn::Module&, const distrib::Batch<Example>&) const -> float { return 0; }
#else
  auto loss(torch::nn::Module&, const distrib::Batch<Example>&) const -> torch::Tensor { return {}; }
#endif
};

auto model() { return distrib::TorchModel{Task{}}; }

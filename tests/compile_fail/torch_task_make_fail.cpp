// error: distrib: a task needs: auto make\(\) const, which returns a std::shared_ptr of its torch::nn::Module
// SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/torch_model.hpp>

struct Task {
  struct Example {
    float x;
  };
#ifdef DISTRIB_COMPILE_FAIL
  auto make() const -> int { return 0; }
#else
  auto make() const { return std::make_shared<torch::nn::Module>(); }
#endif
  auto loss(torch::nn::Module&, const distrib::Batch<Example>&) const -> torch::Tensor { return {}; }
};

auto model() { return distrib::TorchModel{Task{}}; }

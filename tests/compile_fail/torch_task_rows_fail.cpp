// error: distrib: a task with Tables needs: auto loss\(Net&, const distrib::Batch<Example>&, const
// distrib::TorchRows<Tables>&\) SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/torch_model.hpp>

struct Task {
  struct Example {
    float x;
  };
  using Tables = distrib::VariableList<distrib::Embedding<"user", float, 4>>;
  auto tables() const -> Tables { return {{}}; }
  void lookups(const distrib::Batch<Example>&, distrib::Lookups<Tables>&) const {}
  auto make() const { return std::make_shared<torch::nn::Module>(); }
#ifdef DISTRIB_COMPILE_FAIL
  auto loss(torch::nn::Module&, const distrib::Batch<Example>&) const -> torch::Tensor { return {}; }
#else
  auto loss(torch::nn::Module&, const distrib::Batch<Example>&, const distrib::TorchRows<Tables>&) const
      -> torch::Tensor {
    return {};
  }
#endif
};

auto model() { return distrib::TorchModel{Task{}}; }

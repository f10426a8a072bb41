// error: distrib: the Tables of a task must be a VariableList of Embeddings, and of nothing else: the rest of what is
// trained SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/torch_model.hpp>

struct Task {
  struct Example {
    float x;
  };
#ifdef DISTRIB_COMPILE_FAIL
  using Tables = distrib::RuntimeVariables;
#else
  using Tables = distrib::VariableList<distrib::Embedding<"user", float, 4>>;
#endif
  auto tables() const -> Tables;
  void lookups(const distrib::Batch<Example>&, distrib::Lookups<Tables>&) const {}
  auto make() const { return std::make_shared<torch::nn::Module>(); }
  auto loss(torch::nn::Module&, const distrib::Batch<Example>&, const distrib::TorchRows<Tables>&) const
      -> torch::Tensor {
    return {};
  }
};

auto model() { return distrib::TorchModel{Task{}}; }

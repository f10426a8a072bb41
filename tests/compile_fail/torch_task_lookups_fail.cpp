// error: distrib: a task with Tables needs: void lookups\(const distrib::Batch<Example>&, distrib::Lookups<Tables>&\)
// const SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/torch_model.hpp>

struct Task {
  struct Example {
    float x;
  };
  using Tables = distrib::VariableList<distrib::Embedding<"user", float, 4>>;
  auto tables() const -> Tables { return {{}}; }
#ifndef DISTRIB_COMPILE_FAIL
  void lookups(const distrib::Batch<Example>&, distrib::Lookups<Tables>&) const {}
#endif
  auto make() const { return std::make_shared<torch::nn::Module>(); }
  auto loss(torch::nn::Module&, const distrib::Batch<Example>&, const distrib::TorchRows<Tables>& rows) const
      -> torch::Tensor {
    return distrib::get<"user">(rows);
  }
};

auto model() { return distrib::TorchModel{Task{}}; }

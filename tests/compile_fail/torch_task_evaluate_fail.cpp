// error: distrib: for the hook Evaluate\{\}, a task needs: auto evaluate\(Net&, const distrib::Batch<Example>&\) const
// -> distrib::Metrics SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/torch_model.hpp>

struct Task {
  struct Example {
    float x;
  };
  auto make() const { return std::make_shared<torch::nn::Module>(); }
  auto loss(torch::nn::Module&, const distrib::Batch<Example>&) const -> torch::Tensor { return {}; }
#ifdef DISTRIB_COMPILE_FAIL
  auto evaluate(torch::nn::Module&, const distrib::Batch<Example>&) const -> double { return 0; }
#else
  auto evaluate(torch::nn::Module&, const distrib::Batch<Example>&) const -> distrib::Metrics { return {}; }
#endif
};

auto measure(const distrib::Batch<Task::Example>& batch, const distrib::Values<distrib::RuntimeVariables>& values) {
  return distrib::TorchModel{Task{}}.evaluate(batch, values);
}

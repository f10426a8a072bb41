// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/libtorch/torch.hpp>

#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

struct ModuleTensor {
  std::string name;
  torch::Tensor tensor;
};

/// All parameters and buffers of a module, in order of registration, each under each name it has: "conv1.weight". A
/// tensor that is registered twice occurs twice.
struct ModuleTensors {
  std::vector<ModuleTensor> parameters;
  std::vector<ModuleTensor> buffers;
};

/// Returns the tensors of a module and of the modules in it: first its own, then those of each child.
[[nodiscard]] inline auto tensors_of(const torch::nn::Module& module) -> ModuleTensors {
  ModuleTensors tensors;
  for (const auto& item : module.named_parameters())
    if (item.value().defined()) tensors.parameters.push_back({item.key(), item.value()});
  for (const auto& item : module.named_buffers())
    if (item.value().defined()) tensors.buffers.push_back({item.key(), item.value()});
  return tensors;
}

/// True if both are the same tensor: each sees what the other does to values, gradient and `requires_grad`.
[[nodiscard]] inline auto is_same_tensor(const torch::Tensor& a, const torch::Tensor& b) noexcept -> bool {
  return a.unsafeGetTensorImpl() == b.unsafeGetTensorImpl();
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

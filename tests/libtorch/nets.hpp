// SPDX-License-Identifier: Apache-2.0
// Small modules that several tests of libtorch/ train, and their variables in memory.
#pragma once

#include <distrib/checkpoint/formats/named_tensor.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/runtime_variables.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/libtorch/bound_module.hpp>
#include <distrib/libtorch/module_tensors.hpp>
#include <distrib/libtorch/torch_options.hpp>
#include <distrib/tensor/runtime_values.hpp>

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace support {

// 4 - 3 - 1. `own` is its own parameter, registered after the first layer.
struct LineNet : torch::nn::Module {
  LineNet() {
    first = register_module("first", torch::nn::Linear(4, 3));
    own = register_parameter("own", torch::full({3}, 0.5));
    last = register_module("last", torch::nn::Linear(torch::nn::LinearOptions(3, 1).bias(false)));
  }
  auto forward(const torch::Tensor& x) -> torch::Tensor { return last(torch::tanh(first(x)) * own).squeeze(1); }

  torch::nn::Linear first{nullptr};
  torch::Tensor own;
  torch::nn::Linear last{nullptr};
};

// With buffers and random numbers.
struct NormNet : torch::nn::Module {
  NormNet() {
    first = register_module("first", torch::nn::Linear(4, 6));
    norm = register_module("norm", torch::nn::BatchNorm1d(6));
    drop = register_module("drop", torch::nn::Dropout(0.5));
    last = register_module("last", torch::nn::Linear(6, 1));
  }
  auto forward(const torch::Tensor& x) -> torch::Tensor { return last(drop(torch::relu(norm(first(x))))).squeeze(1); }

  torch::nn::Linear first{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
  torch::nn::Dropout drop{nullptr};
  torch::nn::Linear last{nullptr};
};

// The variables of a bound module in memory of their own: values as the module has them, gradients zero.
struct BoundMemory {
  explicit BoundMemory(const distrib::detail::BoundModule& bound)
      : values{distrib::RuntimeVariables{bound.variables()}}, gradients{values.variables()} {
    distrib::detail::VariableBlock initial{values.variables()};
    bound.copy_values(initial);
    for (std::size_t v = 0; v < values.size(); ++v)
      std::memcpy(values.data(v), std::as_const(initial).data(v), values.size_bytes(v));
  }

  [[nodiscard]] auto value(std::size_t v) -> float* { return reinterpret_cast<float*>(values.data(v)); }
  [[nodiscard]] auto gradient(std::size_t v) -> float* { return reinterpret_cast<float*>(gradients.data(v)); }
  [[nodiscard]] auto gradient_list(std::size_t v) -> std::vector<float> {
    return {gradient(v), gradient(v) + gradients.size_bytes(v) / sizeof(float)};
  }

  distrib::RuntimeValues values;
  distrib::RuntimeGradients gradients;
};

// The tensors of a module for a file of safetensors or PyTorch. Valid as long as the module.
[[nodiscard]] inline auto file_tensors_of(const torch::nn::Module& module) -> std::vector<distrib::NamedTensor> {
  std::vector<distrib::NamedTensor> list;
  const distrib::detail::ModuleTensors tensors = distrib::detail::tensors_of(module);
  for (const auto* const part : {&tensors.parameters, &tensors.buffers})
    for (const auto& [name, tensor] : *part) {
      const auto type = tensor.scalar_type() == torch::kInt64 ? distrib::DType::int64 : distrib::DType::float32;
      const distrib::Shape shape{std::span<const std::int64_t>{tensor.sizes().data(), tensor.sizes().size()}};
      list.push_back({name, type, shape, {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()}});
    }
  return list;
}

[[nodiscard]] inline auto names_of(const std::vector<distrib::VariableInfo>& variables) -> std::vector<std::string> {
  std::vector<std::string> names;
  for (const distrib::VariableInfo& variable : variables) names.push_back(variable.name);
  return names;
}

// Returns the failure that `call` throws; an empty one if it throws none.
[[nodiscard]] inline auto failure_of(const std::function<void()>& call) -> distrib::Error {
  try {
    call();
  } catch (const std::system_error& error) {
    return distrib::error_of(error);
  }
  return {};
}

}  // namespace support

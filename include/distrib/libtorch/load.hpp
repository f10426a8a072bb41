// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/bundle_reader.hpp>
#include <distrib/checkpoint/formats/tensor_file.hpp>
#include <distrib/checkpoint/stored_tensor.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/nearest_names.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/libtorch/error.hpp>
#include <distrib/libtorch/module_tensors.hpp>
#include <distrib/libtorch/torch.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Reads the tensor of a checkpoint that is called like `to`, which must be there. Sets `error` if it has another type
/// or shape, or cannot be read.
[[nodiscard]] inline auto read_tensor(const BundleReader& checkpoint, const ModuleTensor& to, Error& error)
    -> torch::Tensor {
  const StoredTensor& stored = *checkpoint.find(to.name);
  const torch::ScalarType type = to.tensor.scalar_type();
  const bool fits_type = (stored.dtype == DType::float32 && type == torch::kFloat32) ||
                         (stored.dtype == DType::int64 && type == torch::kInt64);
  if (!fits_type || !std::ranges::equal(stored.shape.extents(), to.tensor.sizes())) {
    error = {libtorch_errc::other_tensor, checkpoint.prefix() + ": '" + to.name + "' is " + stored.type_name() + " " +
                                              to_string(stored.shape) + ", in the module it is " + c10::toString(type) +
                                              " " + c10::str(to.tensor.sizes())};
    return {};
  }
  torch::Tensor read = torch::empty(to.tensor.sizes(), type);
  const std::span bytes{static_cast<std::byte*>(read.data_ptr()), read.nbytes()};
  checkpoint.read(stored.name, Slice::whole(stored.shape), bytes, error);
  return read;
}

}  // namespace detail

/// Loads parameters and buffers of the module, on any device, from a checkpoint of a job with this module, or from a
/// file
/// of safetensors or PyTorch: whatever `open_tensor_file` opens. Each tensor is found by its name in the module; for a
/// tied parameter any of its names will do. Frozen parameters and buffers that the file does not have stay as they are;
/// other tensors of the file are ignored. For a module inside another one: `load(*net->backbone,
/// "backbone.safetensors")`.
///
/// On failure sets `to` and leaves the module as it is: `libtorch_errc::not_in_checkpoint` if a parameter is missing,
/// with the names that are most alike; `libtorch_errc::other_tensor`; what `open_tensor_file` and `BundleReader::read`
/// report.
inline void load(torch::nn::Module& module, const std::string& path, ErrorRef to) {
  detail::ErrorOut error{to};
  const std::optional<TensorFile> file = open_tensor_file(path, static_cast<Error&>(error));
  if (!file) return;
  const BundleReader* const checkpoint = &file->reader;
  const detail::ModuleTensors tensors = detail::tensors_of(module);
  const auto is_there = [&](const detail::ModuleTensor& tensor) { return checkpoint->find(tensor.name) != nullptr; };
  for (const detail::ModuleTensor& parameter : tensors.parameters) {
    const auto has_value = [&](const detail::ModuleTensor& other) {
      return is_there(other) && detail::is_same_tensor(other.tensor, parameter.tensor);
    };
    if (!parameter.tensor.requires_grad() || std::ranges::any_of(tensors.parameters, has_value)) continue;
    std::vector<std::string_view> names;
    for (const StoredTensor& stored : checkpoint->tensors()) names.push_back(stored.name);
    error = {libtorch_errc::not_in_checkpoint, checkpoint->prefix() + ": '" + parameter.name +
                                                   "'; nearest: " + detail::nearest_names(names, parameter.name, 3)};
    return;
  }
  std::vector<std::pair<torch::Tensor, torch::Tensor>> copies;  // to, from
  for (const auto* const list : {&tensors.parameters, &tensors.buffers})
    for (const detail::ModuleTensor& tensor : *list)
      if (is_there(tensor)) {
        copies.emplace_back(tensor.tensor, detail::read_tensor(*checkpoint, tensor, error));
        if (error) return;
      }
  const torch::NoGradGuard no_gradients;
  for (auto& [tensor, read] : copies) tensor.copy_(read);
}
/// This overload throws the error as `std::system_error`.
inline void load(torch::nn::Module& module, const std::string& path) {
  Error error;
  load(module, path, error);
  throw_if(error);
}

}  // namespace v0
}  // namespace distrib

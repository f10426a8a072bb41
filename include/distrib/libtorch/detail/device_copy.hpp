// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/libtorch/torch.hpp>
#include <distrib/tensor/runtime_values.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The values and gradients of a module on another device. There all parameters and averaged buffers lie in one flat
/// tensor, their gradients in another, and counters in a third; each has a twin in pinned memory here. So a
/// contribution costs one copy there and one back for each, however many tensors the module has.
///
/// Threads: one at a time.
class DeviceCopy {
 public:
  /// Moves `parameters` and `buffers`, which are on `device` already, into the flat tensors. Their values stay.
  DeviceCopy(std::vector<torch::Tensor>& parameters, std::vector<torch::Tensor>& buffers, torch::Device device)
      : device_{device}, parameters_{parameters.size()} {
    const torch::NoGradGuard no_grad;
    for (const torch::Tensor& tensor : parameters) places_.push_back(place(floats_, tensor));
    trained_ = floats_;
    for (const torch::Tensor& tensor : buffers)
      places_.push_back(place(tensor.scalar_type() == torch::kInt64 ? counters_ : floats_, tensor));
    there_ = torch::zeros({floats_}, options(torch::kFloat32));
    gradients_there_ = torch::zeros({trained_}, options(torch::kFloat32));
    counters_there_ = torch::zeros({counters_}, options(torch::kInt64));
    here_ = torch::zeros({floats_}, pinned(torch::kFloat32));
    gradients_here_ = torch::zeros({trained_}, pinned(torch::kFloat32));
    counters_here_ = torch::zeros({counters_}, pinned(torch::kInt64));
    const auto move = [&](torch::Tensor& tensor, const Place& to) {
      torch::Tensor view = part(to.is_counter ? counters_there_ : there_, to, tensor);
      view.copy_(tensor.detach());
      tensor.set_data(view);
    };
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      move(parameters[p], places_[p]);
      gradient_views_.push_back(part(gradients_there_, places_[p], parameters[p]));
    }
    for (std::size_t b = 0; b < buffers.size(); ++b) move(buffers[b], places_[parameters.size() + b]);
  }

  /// Copies all values to the device.
  void upload(const RuntimeValues& values) {
    for (std::size_t v = 0; v < places_.size(); ++v)
      if (values.size_bytes(v) != 0) std::memcpy(here(places_[v]), values.data(v), values.size_bytes(v));
    there_.copy_(here_, true);
    counters_there_.copy_(counters_here_, true);
  }

  void zero_gradients() { gradients_there_.zero_(); }

  /// Returns the gradient of parameter `p`, on the device: a tensor with a version of its own, which is 0.
  [[nodiscard]] auto gradient(std::size_t p) const -> torch::Tensor { return gradient_views_[p].variable_data(); }

  /// Copies all gradients of parameters into `gradients`, and the buffers to where `buffer` finds them. Waits for the
  /// device.
  void download(RuntimeGradients& gradients) {
    const torch::NoGradGuard no_grad;
    gradients_here_.copy_(gradients_there_, true);
    here_.narrow(0, trained_, floats_ - trained_).copy_(there_.narrow(0, trained_, floats_ - trained_), true);
    counters_here_.copy_(counters_there_, true);
    if (device_.is_cuda()) torch::cuda::synchronize(device_.index());
    for (std::size_t p = 0; p < parameters_; ++p)
      if (gradients.size_bytes(p) != 0)
        std::memcpy(gradients.data(p), gradients_here_.data_ptr<float>() + places_[p].at, gradients.size_bytes(p));
  }

  /// Returns the values of buffer `b` after `download`, in memory of this object.
  [[nodiscard]] auto buffer(std::size_t b) const -> const void* { return here(places_[parameters_ + b]); }

 private:
  struct Place {
    std::int64_t at;  // first element
    bool is_counter;
  };

  // Reserves elements for a tensor, 64 bytes or a multiple.
  static auto place(std::int64_t& size, const torch::Tensor& tensor) -> Place {
    const Place found{size, tensor.scalar_type() == torch::kInt64};
    size += (tensor.numel() + 15) / 16 * 16;
    return found;
  }

  // A view shares the version of its base. `variable_data` is a view that does not.
  static auto part(const torch::Tensor& flat, const Place& place, const torch::Tensor& like) -> torch::Tensor {
    return flat.narrow(0, place.at, like.numel()).view(like.sizes()).variable_data();
  }

  [[nodiscard]] auto options(torch::ScalarType type) const -> torch::TensorOptions {
    return torch::TensorOptions{}.dtype(type).device(device_);
  }
  [[nodiscard]] auto pinned(torch::ScalarType type) const -> torch::TensorOptions {
    return torch::TensorOptions{}.dtype(type).pinned_memory(device_.is_cuda());
  }

  [[nodiscard]] auto here(const Place& place) const -> void* {
    if (place.is_counter) return counters_here_.data_ptr<std::int64_t>() + place.at;
    return here_.data_ptr<float>() + place.at;
  }

  torch::Device device_;
  std::size_t parameters_;
  std::int64_t floats_ = 0;  // elements of `there_`
  std::int64_t trained_ = 0;  // those of parameters, which come first
  std::int64_t counters_ = 0;  // elements of `counters_there_`
  std::vector<Place> places_;  // of parameters, then of buffers
  torch::Tensor there_, gradients_there_, counters_there_;
  torch::Tensor here_, gradients_here_, counters_here_;
  std::vector<torch::Tensor> gradient_views_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

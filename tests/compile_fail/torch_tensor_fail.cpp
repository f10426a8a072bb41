// error: distrib: torch_tensor takes a column of numbers or of std::array of numbers; for bytes also give the shape
// SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/torch_model.hpp>
#include <distrib/libtorch/torch_tensor.hpp>

struct Example {
  std::span<const std::byte> image;
};

auto images(const distrib::Batch<Example>& batch) -> torch::Tensor {
#ifdef DISTRIB_COMPILE_FAIL
  return distrib::torch_tensor(batch.column(&Example::image));
#else
  return distrib::torch_tensor(batch.column(&Example::image), {28, 28});
#endif
}

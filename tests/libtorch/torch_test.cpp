// SPDX-License-Identifier: Apache-2.0
#include <distrib/libtorch/torch.hpp>

#include "libtorch/catch.hpp"

#include <string>

using distrib::detail::AutocastScope;

namespace {

auto product_type() -> torch::ScalarType { return torch::ones({2, 2}).mm(torch::ones({2, 2})).scalar_type(); }

}  // namespace

TEST_CASE("AutocastScope: products of this thread in bfloat16, also in nested scopes", "[libtorch]") {
  CHECK(product_type() == torch::kFloat32);
  {
    const AutocastScope off{c10::DeviceType::CPU, false};
    CHECK(product_type() == torch::kFloat32);
    {
      const AutocastScope on{c10::DeviceType::CPU, true};
      CHECK(product_type() == torch::kBFloat16);
      {
        const AutocastScope nested{c10::DeviceType::CPU, true};
        CHECK(product_type() == torch::kBFloat16);
      }
      CHECK(product_type() == torch::kBFloat16);
    }
    CHECK(product_type() == torch::kFloat32);
  }
}

TEST_CASE("AutocastScope: parameters that have changed are converted again", "[libtorch]") {
  auto weight = torch::ones({2, 2}, torch::requires_grad());
  for (const float value : {1.0F, 3.0F}) {
    weight.set_data(torch::full({2, 2}, value));
    const AutocastScope on{c10::DeviceType::CPU, true};
    CHECK(torch::ones({2, 2}).mm(weight)[0][0].item<float>() == 2 * value);
  }
}

TEST_CASE("set_deterministic: operators without repeatable algorithm throw, and new tensors are not filled",
          "[libtorch]") {
  distrib::detail::set_deterministic(true);
  CHECK(at::globalContext().deterministicAlgorithms());
  CHECK(!at::globalContext().deterministicAlgorithmsWarnOnly());
#if TORCH_VERSION_MAJOR >= 2
  CHECK(!at::globalContext().deterministicFillUninitializedMemory());
#endif
  distrib::detail::set_deterministic(false);
  CHECK(!at::globalContext().deterministicAlgorithms());
}

TEST_CASE("torch_version: as LibTorch writes it", "[libtorch]") {
  CHECK(distrib::detail::torch_version() == TORCH_VERSION);
  CHECK_THAT(distrib::detail::torch_version(), ContainsSubstring("."));
}

// SPDX-License-Identifier: Apache-2.0
// Values and gradients of a model whose variables are known at run time, as a trainer has them.
#pragma once

#include <distrib/core/runtime_variables.hpp>
#include <distrib/tensor/initial_values.hpp>
#include <distrib/tensor/values.hpp>
#include <distrib/train/model.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace support {

struct ModelMemory {
  // With the initial values of this seed.
  template <class Model>
  explicit ModelMemory(const Model& model, std::uint64_t seed = 1)
      : values{model.variables()}, gradients{model.variables()} {
    distrib::InitialValues<distrib::RuntimeVariables> initial{model.variables()};
    model.initial_values(initial, seed);
    for (std::size_t v = 0; v < values.size(); ++v)
      std::memcpy(values.data(v), std::as_const(initial).data(v), values.size_bytes(v));
  }

  [[nodiscard]] auto gradient(std::size_t v) const -> std::vector<float> {
    const auto* const data = reinterpret_cast<const float*>(gradients.data(v));
    return {data, data + gradients.size_bytes(v) / sizeof(float)};
  }

  distrib::Values<distrib::RuntimeVariables> values;
  distrib::Gradients<distrib::RuntimeVariables> gradients;
};

[[nodiscard]] inline auto context_of(distrib::Step step, distrib::Rank rank = 0, std::uint64_t seed = 1)
    -> distrib::StepContext {
  return {.step = step, .rank = rank, .workers = 3, .seed = seed};
}

}  // namespace support

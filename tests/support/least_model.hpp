// SPDX-License-Identifier: Apache-2.0
// The smallest model, for compile-fail programs whose error is elsewhere.
#pragma once

#include <distrib/train/builder.hpp>

struct LeastModel {
  using Variables = distrib::VariableList<distrib::Variable<"w", float, 1>>;
  struct Example {
    float x;
  };
  auto variables() const -> Variables { return {{{3}}}; }
  auto gradients(const distrib::Batch<Example>&, const distrib::Values<Variables>&, distrib::Gradients<Variables>&,
                 distrib::StepContext) const -> float {
    return 0;
  }
};

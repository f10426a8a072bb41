// error: a model needs: auto gradients\(const distrib::Batch<Example>&, const distrib::Values<Variables>&,
// distrib::Gradients<Variables>&, distrib::StepContext\) const -> float SPDX-License-Identifier: Apache-2.0
#include <distrib/train/builder.hpp>

struct Model {
  using Variables = distrib::VariableList<distrib::Variable<"w", float, 1>>;
  struct Example {
    float x;
  };
  auto variables() const -> Variables { return {{{3}}}; }
#ifdef DISTRIB_COMPILE_FAIL
  auto gradient(const distrib::Batch<Example>&, const distrib::Values<Variables>&, distrib::Gradients<Variables>&,
                distrib::StepContext) const -> float {
    return 0;
  }
#else
  auto gradients(const distrib::Batch<Example>&, const distrib::Values<Variables>&, distrib::Gradients<Variables>&,
                 distrib::StepContext) const -> float {
    return 0;
  }
#endif
};

auto builder = distrib::train(Model{});

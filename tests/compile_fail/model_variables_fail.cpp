// error: a model needs: using Variables = distrib::VariableList<\.\.\.>
// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/builder.hpp>

struct Model {
#ifdef DISTRIB_COMPILE_FAIL
  using Parameters = distrib::VariableList<distrib::Variable<"w", float, 1>>;
#else
  using Variables = distrib::VariableList<distrib::Variable<"w", float, 1>>;
  struct Example {
    float x;
  };
  auto variables() const -> Variables { return {{{3}}}; }
  auto gradients(const distrib::Batch<Example>&, const distrib::Values<Variables>&, distrib::Gradients<Variables>&,
                 distrib::StepContext) const -> float {
    return 0;
  }
#endif
};

auto builder = distrib::train(Model{});

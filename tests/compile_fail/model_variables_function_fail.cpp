// error: a model needs: auto variables\(\) const -> Variables
// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/builder.hpp>

struct Model {
  using Variables = distrib::VariableList<distrib::Variable<"w", float, 1>>;
  struct Example {
    float x;
  };
#ifdef DISTRIB_COMPILE_FAIL
  auto variables() -> Variables { return {{{3}}}; }
#else
  auto variables() const -> Variables { return {{{3}}}; }
#endif
  auto gradients(const distrib::Batch<Example>&, const distrib::Values<Variables>&, distrib::Gradients<Variables>&,
                 distrib::StepContext) const -> float {
    return 0;
  }
};

auto builder = distrib::train(Model{});

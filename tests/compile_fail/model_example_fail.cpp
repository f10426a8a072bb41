// error: a model needs a type Example: one record of its data
// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/builder.hpp>

struct Model {
  using Variables = distrib::VariableList<distrib::Variable<"w", float, 1>>;
  struct Record {
    float x;
  };
#ifndef DISTRIB_COMPILE_FAIL
  using Example = Record;
#endif
  auto variables() const -> Variables { return {{{3}}}; }
  auto gradients(const distrib::Batch<Record>&, const distrib::Values<Variables>&, distrib::Gradients<Variables>&,
                 distrib::StepContext) const -> float {
    return 0;
  }
};

auto builder = distrib::train(Model{});

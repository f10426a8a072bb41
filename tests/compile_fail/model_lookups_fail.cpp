// error: a model with an Embedding needs: void lookups\(const distrib::Batch<Example>&,
// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/builder.hpp>

struct Model {
  using Variables = distrib::VariableList<distrib::Embedding<"user", float, 4>>;
  struct Example {
    std::int64_t user;
  };
  auto variables() const -> Variables { return {{}}; }
#ifndef DISTRIB_COMPILE_FAIL
  void lookups(const distrib::Batch<Example>&, distrib::Lookups<Variables>&) const {}
#endif
  auto gradients(const distrib::Batch<Example>&, const distrib::Values<Variables>&, distrib::Gradients<Variables>&,
                 distrib::StepContext) const -> float {
    return 0;
  }
};

auto builder = distrib::train(Model{});

// error: with_data: a model with an Embedding cannot use OwnBatches, because its lookups\(\) must see a batch
// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/builder.hpp>

struct Model {
#ifdef DISTRIB_COMPILE_FAIL
  using Variables = distrib::VariableList<distrib::Embedding<"user", float, 4>>;
  struct Example {
    std::int64_t user;
  };
  void lookups(const distrib::Batch<Example>&, distrib::Lookups<Variables>&) const {}
  auto variables() const -> Variables { return {{}}; }
#else
  using Variables = distrib::VariableList<distrib::Variable<"user", float, 0>>;
  auto variables() const -> Variables { return {{{}}}; }
#endif
};

auto made() { return distrib::session(Model{}).with_data(distrib::OwnBatches{}).open(); }

// error: the model of a session must be a class that is not final
// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/builder.hpp>

#ifdef DISTRIB_COMPILE_FAIL
struct Model final {
#else
struct Model {
#endif
  using Variables = distrib::VariableList<distrib::Variable<"w", float, 0>>;
  auto variables() const -> Variables { return {{{}}}; }
};

auto made() { return distrib::session(Model{}).with_data(distrib::OwnBatches{}).open(); }

// error: the model of a session needs: using Variables = distrib::VariableList<\.\.\.>, or distrib::RuntimeVariables
// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/builder.hpp>

struct Model {
#ifndef DISTRIB_COMPILE_FAIL
  using Variables = distrib::VariableList<distrib::Variable<"w", float, 0>>;
  auto variables() const -> Variables { return {{{}}}; }
#endif
};

auto made() {
  auto session = distrib::session(Model{}).with_data(distrib::OwnBatches{}).open();
  while (!session.should_stop()) session.run([](const auto&, auto&, distrib::StepContext) { return 0.0F; });
  return session.close();
}

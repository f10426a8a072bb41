// error: the model of a session needs: auto variables\(\) const -> Variables
// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/builder.hpp>

struct Model {
  using Variables = distrib::VariableList<distrib::Variable<"w", float, 0>>;
#ifndef DISTRIB_COMPILE_FAIL
  auto variables() const -> Variables { return {{{}}}; }
#endif
};

auto made() { return distrib::session(Model{}).with_data(distrib::OwnBatches{}).open(); }

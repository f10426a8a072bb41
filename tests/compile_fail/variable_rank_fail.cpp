// error: the number of extents of a Variable must equal its number of axes
// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/variables.hpp>

using Weights = distrib::Variable<"weights", float, 2>;

auto variables() -> distrib::VariableList<Weights> {
#ifdef DISTRIB_COMPILE_FAIL
  return {{{784}}};
#else
  return {{{784, 10}}};
#endif
}

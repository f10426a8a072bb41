// error: get<NAME>: the names of RuntimeVariables are known only at run time: call get\(gradients, "NAME"\)
// SPDX-License-Identifier: Apache-2.0
#include <distrib/tensor/values.hpp>

auto first_of(distrib::Gradients<distrib::RuntimeVariables>& gradients) {
#ifdef DISTRIB_COMPILE_FAIL
  return distrib::get<"w">(gradients);
#else
  return distrib::get(gradients, "w");
#endif
}

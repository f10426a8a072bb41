// error: get<NAME>: the names of RuntimeVariables are known only at run time: call get\(values, "NAME"\)
// SPDX-License-Identifier: Apache-2.0
#include <distrib/tensor/values.hpp>

auto first_of(const distrib::Values<distrib::RuntimeVariables>& values) {
#ifdef DISTRIB_COMPILE_FAIL
  return distrib::get<"w">(values);
#else
  return distrib::get(values, "w");
#endif
}

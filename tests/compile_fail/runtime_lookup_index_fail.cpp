// error: lookup_index<NAME>: the names of RuntimeVariables are known only at run time: call
// SPDX-License-Identifier: Apache-2.0
#include <distrib/tensor/values.hpp>

auto index_of(const distrib::Values<distrib::RuntimeVariables>& values) {
#ifdef DISTRIB_COMPILE_FAIL
  return distrib::lookup_index<"user">(values);
#else
  return distrib::lookup_index(values, "user");
#endif
}

// error: get<NAME>\(lookups\): the names of RuntimeVariables are known only at run time: call get\(lookups, "NAME"\)
// SPDX-License-Identifier: Apache-2.0
#include <distrib/tensor/lookups.hpp>

void add_key(distrib::Lookups<distrib::RuntimeVariables>& lookups) {
#ifdef DISTRIB_COMPILE_FAIL
  distrib::get<"user">(lookups).push_back(1);
#else
  distrib::get(lookups, "user").push_back(1);
#endif
}

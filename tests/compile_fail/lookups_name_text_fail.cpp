// error: get\(lookups, name\): the names of a VariableList are checked by the compiler: write
// SPDX-License-Identifier: Apache-2.0
#include <distrib/tensor/lookups.hpp>

using Variables = distrib::VariableList<distrib::Variable<"w", float, 1>, distrib::Embedding<"user", float, 4>>;

void use(distrib::Lookups<Variables>& lookups) {
#ifdef DISTRIB_COMPILE_FAIL
  static_cast<void>(distrib::get(lookups, "user"));
#else
  static_cast<void>(distrib::get<"user">(lookups));
#endif
}

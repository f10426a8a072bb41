// error: lookup_index\(values, name\): the names of a VariableList are checked by the compiler: write
// SPDX-License-Identifier: Apache-2.0
#include <distrib/tensor/values.hpp>

using Variables = distrib::VariableList<distrib::Variable<"w", float, 1>, distrib::Embedding<"user", float, 4>>;

void use(const distrib::Values<Variables>& values) {
#ifdef DISTRIB_COMPILE_FAIL
  static_cast<void>(distrib::lookup_index(values, "user"));
#else
  static_cast<void>(distrib::lookup_index<"user">(values));
#endif
}

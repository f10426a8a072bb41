// error: get\(values, name\): the names of a VariableList are checked by the compiler: write
// SPDX-License-Identifier: Apache-2.0
#include <distrib/tensor/initial_values.hpp>

using Variables = distrib::VariableList<distrib::Variable<"w", float, 1>, distrib::Embedding<"user", float, 4>>;

void use(distrib::InitialValues<Variables>& values) {
#ifdef DISTRIB_COMPILE_FAIL
  static_cast<void>(distrib::get(values, "w"));
#else
  static_cast<void>(distrib::get<"w">(values));
#endif
}

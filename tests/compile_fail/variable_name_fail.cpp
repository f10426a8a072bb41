// error: hidden/bias(.|\n)*the model has no variable of this NAME
// SPDX-License-Identifier: Apache-2.0
#include <distrib/tensor/values.hpp>

using Variables =
    distrib::VariableList<distrib::Variable<"hidden/weights", float, 2>, distrib::Variable<"hidden/bias", float, 1>>;

auto first(const distrib::Values<Variables>& values) {
#ifdef DISTRIB_COMPILE_FAIL
  return distrib::get<"hidden/wieghts">(values);
#else
  return distrib::get<"hidden/weights">(values);
#endif
}

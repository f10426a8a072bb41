// error: get<T>\(values, name\): T must be float or, for a counter, double or std::int64_t
// SPDX-License-Identifier: Apache-2.0
#include <distrib/tensor/values.hpp>

#include <cstdint>

#ifdef DISTRIB_COMPILE_FAIL
using Element = std::int32_t;
#else
using Element = std::int64_t;
#endif

void count(distrib::Gradients<distrib::RuntimeVariables>& gradients) {
  static_cast<void>(distrib::get<Element>(gradients, "seen"));
}

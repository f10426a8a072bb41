// error: the name of a Variable must not contain spaces, line ends or other control characters
// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/variables.hpp>

#ifdef DISTRIB_COMPILE_FAIL
using Weights = distrib::Variable<"hidden weights", float, 1>;
#else
using Weights = distrib::Variable<"hidden/weights", float, 1>;
#endif

const Weights weights{{3}};

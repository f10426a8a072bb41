// error: the element type of a Variable must be float or, for a counter, double or std::int64_t
// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/variables.hpp>

#ifdef DISTRIB_COMPILE_FAIL
using Number = int;
#else
using Number = float;
#endif

distrib::Variable<"weights", Number, 2> weights{{784, 10}};

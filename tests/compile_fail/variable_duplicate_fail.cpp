// error: two variables of one VariableList have the same name
// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/variables.hpp>

#ifdef DISTRIB_COMPILE_FAIL
using Bias = distrib::Variable<"layer", float, 1>;
#else
using Bias = distrib::Variable<"layer/bias", float, 1>;
#endif

distrib::VariableList<distrib::Variable<"layer", float, 2>, Bias> variables{{{784, 10}}, {{10}}};

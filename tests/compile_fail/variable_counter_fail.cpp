// error: a counter \(a Variable of double or std::int64_t\) must start at zeros
// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/variables.hpp>

#ifdef DISTRIB_COMPILE_FAIL
using Start = distrib::ConstantInitializer;
#else
using Start = distrib::ZerosInitializer;
#endif

distrib::Variable<"seen", std::int64_t, 1> seen{{10}, Start{}};

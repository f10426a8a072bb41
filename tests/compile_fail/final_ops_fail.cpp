// error: FinalOps takes a function of \(const distrib::NamedValues&\)
// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/hooks/final_ops.hpp>

#include <vector>

#ifdef DISTRIB_COMPILE_FAIL
const distrib::FinalOps last{[](const std::vector<double>& values) { return values.front(); }};
#else
const distrib::FinalOps last{[](const distrib::NamedValues& values) { return values.read("bias").front(); }};
#endif

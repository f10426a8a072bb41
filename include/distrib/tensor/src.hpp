// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of tensor/, for one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/tensor/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/tensor/impl/matmul.ipp>
#include <distrib/tensor/impl/runtime_values.ipp>

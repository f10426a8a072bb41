// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of data/order/, compiled once: for one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/data/order/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/data/order/impl/data_state.ipp>

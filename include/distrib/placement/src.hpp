// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of placement/, for one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/placement/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/placement/detail/impl/task_weights.ipp>
#include <distrib/placement/impl/device_scopes.ipp>
#include <distrib/placement/impl/random.ipp>

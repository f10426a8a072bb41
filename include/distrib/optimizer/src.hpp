// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of optimizer/, compiled once: include this in one unit of a program that defines
// DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/optimizer/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/optimizer/impl/averaged_updater.ipp>
#include <distrib/optimizer/impl/learning_rate.ipp>
#include <distrib/optimizer/impl/updater_list.ipp>

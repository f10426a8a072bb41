// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of tf/, compiled once: include this in one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/tf/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/tf/detail/impl/take_line.ipp>
#include <distrib/tf/impl/parameter_server_strategy.ipp>
#include <distrib/tf/impl/sparse_conditional_accumulator.ipp>
#include <distrib/tf/impl/sync_replicas.ipp>
#include <distrib/tf/impl/sync_replicas_plan.ipp>

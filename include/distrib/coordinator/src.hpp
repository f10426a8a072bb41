// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of coordinator/, compiled once: include this in one unit of a program that defines
// DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/coordinator/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/coordinator/detail/impl/coordinator_shell.ipp>
#include <distrib/coordinator/detail/impl/worker_shell.ipp>
#include <distrib/coordinator/impl/coordinator_core.ipp>
#include <distrib/coordinator/impl/function_context.ipp>
#include <distrib/coordinator/impl/messages.ipp>
#include <distrib/coordinator/impl/parameter_client.ipp>
#include <distrib/coordinator/impl/parameter_job.ipp>

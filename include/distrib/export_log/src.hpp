// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of export_log/, for one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/export_log/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/export_log/impl/directory_log.ipp>
#include <distrib/export_log/impl/export_core.ipp>
#include <distrib/export_log/impl/export_log.ipp>
#include <distrib/export_log/impl/follow_core.ipp>
#include <distrib/export_log/impl/log_objects.ipp>
#include <distrib/export_log/impl/log_part.ipp>

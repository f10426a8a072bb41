// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of hadoop/, compiled once: for one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/hadoop/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/hadoop/impl/file_split.ipp>
#include <distrib/hadoop/impl/job_conf.ipp>
#include <distrib/hadoop/impl/pipes_core.ipp>
#include <distrib/hadoop/impl/pipes_environment.ipp>
#include <distrib/hadoop/impl/pipes_link.ipp>
#include <distrib/hadoop/impl/pipes_messages.ipp>
#include <distrib/hadoop/impl/run_streaming.ipp>
#include <distrib/hadoop/impl/task_context.ipp>
#include <distrib/hadoop/impl/token.ipp>
#include <distrib/hadoop/impl/typed_bytes.ipp>

// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of stream_log/, for one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/stream_log/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/stream_log/impl/log_home.ipp>
#include <distrib/stream_log/impl/seen_source.ipp>
#include <distrib/stream_log/impl/stream_file.ipp>
#include <distrib/stream_log/impl/stream_item.ipp>
#include <distrib/stream_log/impl/stream_log.ipp>
#include <distrib/stream_log/impl/stream_log_files.ipp>
#include <distrib/stream_log/impl/stream_shard_core.ipp>
#include <distrib/stream_log/impl/stream_worker_core.ipp>

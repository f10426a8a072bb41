// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of data/, compiled once: for one unit of a program that defines DISTRIB_SEPARATE_COMPILATION.
#ifndef DISTRIB_SEPARATE_COMPILATION
#error "distrib: <distrib/data/src.hpp> is for programs that define DISTRIB_SEPARATE_COMPILATION in every unit"
#endif

#include <distrib/data/impl/find_files.ipp>
#include <distrib/data/impl/followed_files.ipp>
#include <distrib/data/impl/followed_stream.ipp>
#include <distrib/data/impl/piece_cache.ipp>
#include <distrib/data/impl/record_files.ipp>
#include <distrib/data/impl/remote_ranges.ipp>

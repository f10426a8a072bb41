// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <cstdint>

namespace distrib {
inline namespace v0 {

/// Allows this process to have `needed` open descriptors (files and connections): raises its own limit (RLIMIT_NOFILE,
/// often 1024) as far as necessary and as the hard limit permits. Never lowers it. Returns the limit that is in force
/// afterwards; less than `needed` if the hard limit is less. 2^64 - 1: there is no limit.
///
/// Trap: `select` cannot wait for descriptors above 1023, so the limit stays as it is while that is enough.
///
/// Threads: any, one at a time.
DISTRIB_DECL auto raise_descriptor_limit(std::uint64_t needed) noexcept -> std::uint64_t;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/net/impl/descriptor_limit.ipp>
#endif

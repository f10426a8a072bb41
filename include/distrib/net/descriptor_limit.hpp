// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <cstdint>
#include <optional>

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

/// How many descriptors a process has open, and how many it may have.
struct DescriptorUse {
  std::uint64_t open = 0;
  std::uint64_t limit = 0;  ///< 2^64 - 1: there is no limit.
};

/// Returns the use of this process. Empty: the system does not tell (/proc is not mounted). It reads a directory with an
/// entry for each descriptor.
///
/// Threads: any.
[[nodiscard]] DISTRIB_DECL auto descriptor_use() -> std::optional<DescriptorUse>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/net/impl/descriptor_limit.ipp>
#endif

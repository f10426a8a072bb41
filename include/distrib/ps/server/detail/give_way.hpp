// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Lowers the priority of the calling thread: it becomes a batch thread, five steps nicer than the first thread of the
/// process (sched(7): on Linux each thread has its own nice value). A change that the system refuses is skipped.
/// Calling it again changes nothing.
DISTRIB_DECL void give_way() noexcept;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/server/detail/impl/give_way.ipp>
#endif

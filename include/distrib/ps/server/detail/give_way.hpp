// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

/// From now on the calling thread lets others go first where processors are short: it becomes a batch thread, five steps
/// nicer than the process's first one (sched(7): on Linux each thread has a nice value of its own). What the system
/// refuses stays as it is; once more changes nothing.
DISTRIB_DECL void give_way() noexcept;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/server/detail/impl/give_way.ipp>
#endif

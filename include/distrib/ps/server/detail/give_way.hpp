// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

namespace distrib {
inline namespace v0 {
namespace detail {

/// From now on the calling thread lets others go first where processors are short: it becomes a batch thread, five steps
/// nicer than the process's first one (sched(7): on Linux each thread has a nice value of its own). What the system
/// refuses stays as it is; once more changes nothing.
inline void give_way() noexcept {
  const ::sched_param none{};
  ::sched_setscheduler(0, SCHED_BATCH, &none);
  const int first = ::getpriority(PRIO_PROCESS, static_cast<::id_t>(::getpid()));
  ::setpriority(PRIO_PROCESS, 0, std::min(19, first + 5));
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

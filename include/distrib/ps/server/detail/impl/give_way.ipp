// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/server/detail/give_way.hpp>

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL void give_way() noexcept {
  const ::sched_param none{};
  ::sched_setscheduler(0, SCHED_BATCH, &none);
  const int first = ::getpriority(PRIO_PROCESS, static_cast<::id_t>(::getpid()));
  ::setpriority(PRIO_PROCESS, 0, std::min(19, first + 5));
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/stop_at_step.hpp>

#include <distrib/train/error.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void StopAtStep::check(std::error_code& ec) const {
  ec.clear();
  if (last_step == 0 && num_steps == 0) ec = train_errc::no_end;
  if (last_step != 0 && num_steps != 0) ec = train_errc::bad_hook;
}

}  // namespace v0
}  // namespace distrib

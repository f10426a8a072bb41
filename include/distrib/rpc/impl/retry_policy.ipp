// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/retry_policy.hpp>

#include <distrib/rpc/error.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto RetryPolicy::again(const std::error_code& code, bool idempotent, unsigned attempts) noexcept -> bool {
  if (attempts >= options_.most_attempts) return false;
  if (code == rpc_errc::not_sent || code == rpc_errc::closed) return true;
  if (!idempotent || (code != rpc_errc::lost && code != rpc_errc::silent) || tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

}  // namespace v0
}  // namespace distrib

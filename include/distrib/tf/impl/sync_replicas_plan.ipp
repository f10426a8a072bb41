// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/tf/sync_replicas_plan.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto SyncReplicasPlan::initial_tokens(std::optional<std::int64_t> num_tokens,
                                                   std::error_code& ec) const noexcept -> std::int64_t {
  check(ec);
  const std::int64_t tokens = num_tokens.value_or(replicas_to_aggregate);
  if (!ec && tokens < minimum_initial_tokens()) ec = ps_errc::too_few_tokens;
  return ec ? 0 : tokens;
}

DISTRIB_DECL auto SyncReplicasPlan::initial_tokens(std::optional<std::int64_t> num_tokens) const -> std::int64_t {
  std::error_code ec;
  const std::int64_t tokens = initial_tokens(num_tokens, ec);
  if (ec)
    throw_error(ec, describe() + ", tokens " + std::to_string(num_tokens.value_or(replicas_to_aggregate)) +
                        " (given) vs " + std::to_string(minimum_initial_tokens()) + " (needed)");
  return tokens;
}

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/rpc_metrics.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto MethodMetrics::operator+=(const MethodMetrics& other) noexcept -> MethodMetrics& {
  started += other.started;
  ended += other.ended;
  request_bytes += other.request_bytes;
  reply_bytes += other.reply_bytes;
  for (std::size_t i = 0; i < outcomes.size(); ++i) outcomes[i] += other.outcomes[i];
  latency += other.latency;
  return *this;
}

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/placement/device_scopes.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto DeviceScopes::device(OpRequest request, std::error_code& ec) const -> std::string {
  ec.clear();
  std::string chosen{request.device};
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend() && !scope->keeps_out; ++scope) {
    request.device = chosen;
    if (scope->function) {
      chosen = scope->function(request);
      continue;
    }
    const DeviceSpec inner = DeviceSpec::parse(chosen, ec);
    if (ec) return {};
    chosen = to_string(scope->device.merged_with(inner));
  }
  return chosen;
}

DISTRIB_DECL auto DeviceScopes::device(const OpRequest& request) const -> std::string {
  std::error_code ec;
  std::string chosen = device(request, ec);
  if (ec) throw_error(ec, "the device of '" + std::string{request.name} + "'");
  return chosen;
}

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/client_rules.hpp>

#include <distrib/net/address.hpp>

#include <algorithm>
#include <string>
#include <system_error>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto client_rules(const ClusterSpec& cluster) -> ClientRules {
  ClientRules rules;
  for (const std::string& job : cluster.jobs())
    for (const auto& [index, task] : *cluster.find(job)) {
      std::error_code ec;
      const Address address = Address::parse(task, ec);
      if (!ec) rules.hosts.push_back(address.host);
    }
  std::ranges::sort(rules.hosts);
  const auto repeated = std::ranges::unique(rules.hosts);
  rules.hosts.erase(repeated.begin(), repeated.end());
  return rules;
}

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "answers.hpp"

#include <distrib/cluster/cluster_spec.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace conformance {

/// Returns a cluster as questions describe it: for each job a list of addresses, or a mapping of indices to addresses.
[[nodiscard]] inline auto cluster_of(const Json& jobs) -> distrib::ClusterSpec {
  std::map<std::string, distrib::ClusterSpec::Tasks> sparse;
  for (const auto& [job, hosts] : jobs.items()) {
    auto& tasks = sparse[job];
    for (const auto& [index, host] : hosts.items())  // a list counts from 0, a mapping names its indices
      tasks.emplace(static_cast<std::uint32_t>(std::stoul(index)), host.get<std::string>());
  }
  return distrib::ClusterSpec::from_sparse(sparse);
}

}  // namespace conformance

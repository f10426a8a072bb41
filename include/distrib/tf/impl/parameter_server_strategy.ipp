// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/tf/parameter_server_strategy.hpp>

namespace distrib {
inline namespace v0 {

namespace detail {

DISTRIB_DECL void check_parameter_server_cluster(const ClusterSpec& cluster) {
  std::error_code ec;
  check_parameter_server_cluster(cluster, ec);
  if (ec == cluster_errc::empty_job) throw_error(ec, "at least one worker and one ps are needed");
  if (ec) throw_error(ec, to_string(cluster));
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/net/transport.hpp>

namespace distrib {
inline namespace v0 {

/// Returns which clients a task of this cluster accepts: those whose certificate is for the host of one of its tasks.
[[nodiscard]] DISTRIB_DECL auto client_rules(const ClusterSpec& cluster) -> ClientRules;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/client_rules.ipp>
#endif

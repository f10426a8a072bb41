// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/core/decl.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Returns what `master` of a TensorFlow resolver returns: the address of `task`, with "LAYER://" before it unless
/// `rpc_layer` is "". Returns "" if `task` is empty.
///
/// Errors (without `ec` thrown as `std::system_error`): `cluster_errc::no_such_job` if the cluster does not have the
/// task's job, `no_such_task` if the job does not have its index; the result is then empty.
[[nodiscard]] DISTRIB_DECL auto master_url(const ClusterSpec& cluster, const std::optional<TaskId>& task,
                                           std::string_view rpc_layer, std::error_code& ec) -> std::string;
[[nodiscard]] DISTRIB_DECL auto master_url(const ClusterSpec& cluster, const std::optional<TaskId>& task,
                                           std::string_view rpc_layer) -> std::string;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/master_url.ipp>
#endif

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/ps/protocol/any_shard.hpp>
#include <distrib/ps/server/detail/server_task.hpp>
#include <distrib/ps/server/server_options.hpp>

#include <cstdint>
#include <memory>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Makes the task of a `Server` of job "ps", which listens already.
[[nodiscard]] DISTRIB_DECL auto make_server_task(IoPool& io, const ClusterSpec& cluster, std::uint32_t index,
                                                 ShardKinds kinds, ServerOptions options)
    -> std::unique_ptr<ServerTask>;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/server/detail/impl/make_server_task.ipp>
#endif

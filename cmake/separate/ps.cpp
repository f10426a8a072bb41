// SPDX-License-Identifier: Apache-2.0
// What depends on no model, compiled once: see ../DistribSeparate.cmake.
#include <distrib/ps/detail/server_task_shell.hpp>

namespace distrib::inline v0::detail {

template auto make_shard(const Job&, std::uint32_t, const Sgd&, const ConsistencyKind&, std::vector<Step>, const Cut*)
    -> std::unique_ptr<AnyShard>;
template auto make_shard(const Job&, std::uint32_t, const Momentum&, const ConsistencyKind&, std::vector<Step>,
                         const Cut*) -> std::unique_ptr<AnyShard>;
template auto make_shard(const Job&, std::uint32_t, const Adam&, const ConsistencyKind&, std::vector<Step>, const Cut*)
    -> std::unique_ptr<AnyShard>;

template auto make_server_task<Listener>(IoPool&, const ClusterSpec&, std::uint32_t, ShardKinds, ServerOptions)
    -> std::shared_ptr<ServerTask>;

}  // namespace distrib::inline v0::detail

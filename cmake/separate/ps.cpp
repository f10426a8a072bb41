// SPDX-License-Identifier: Apache-2.0
// What depends on no model, compiled once: see ../DistribSeparate.cmake.
#include <distrib/ps/cut/cut_store.hpp>
#include <distrib/ps/server/detail/task_shell.hpp>

namespace distrib {
inline namespace v0 {

extern template class CutStore<PosixFiles>;  // in checkpoint.cpp

namespace detail {

template auto make_server_task<Listener>(IoPool&, const ClusterSpec&, std::uint32_t, ShardKinds, ServerOptions)
    -> std::unique_ptr<ServerTask>;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

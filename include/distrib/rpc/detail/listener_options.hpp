// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/net/peer_listener.hpp>
#include <distrib/rpc/server_options.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Returns how the listener of a server with these options accepts connections. A client that speaks this protocol
/// without a secure layer gets an error frame of call 0.
[[nodiscard]] DISTRIB_DECL auto listener_options(const RpcServerOptions& options) -> PeerListenerOptions;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/detail/impl/listener_options.ipp>
#endif

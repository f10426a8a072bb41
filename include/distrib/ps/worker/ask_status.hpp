// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/address.hpp>
#include <distrib/ps/wire/ask_shard.hpp>
#include <distrib/ps/wire/shard_status.hpp>

#include <vector>

namespace distrib {
inline namespace v0 {

/// Returns the status of each shard of the task at `server`, in the order of their numbers. If the task knows no job
/// yet, of its first shard only. Blocks for at most twice `how.within` per shard; a refused connection is reported at
/// once. On failure the result is empty.
///
/// Errors: a `net_errc`, `rpc_errc` or `ps_errc`; the place names the shard and the server.
///
/// Threads: any.
[[nodiscard]] DISTRIB_DECL auto ask_status(const Address& server, const AskOptions& how, ErrorRef to)
    -> std::vector<ShardStatus>;
/// This overload throws the error as `std::system_error`.
[[nodiscard]] inline auto ask_status(const Address& server, const AskOptions& how = {}) -> std::vector<ShardStatus> {
  Error error;
  return detail::or_throw(ask_status(server, how, error), error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/worker/impl/ask_status.ipp>
#endif

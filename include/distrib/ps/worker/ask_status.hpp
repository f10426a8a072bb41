// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/transport.hpp>
#include <distrib/ps/wire/shard_status.hpp>
#include <distrib/rpc/shared_secret.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// How to ask a parameter server for its status.
struct AskOptions {
  std::chrono::milliseconds within{5'000};  ///< For each shard: the time to connect, and again the time to answer.
  SharedSecret secret;  ///< The secret of the server; not set: it has none.
  std::shared_ptr<const Transport> tls = {};  ///< `Tls::of_job()`, for a server that speaks TLS. Null: it does not.
  /// The host for which the server's certificate must be valid; empty: the host of the address.
  std::string host = {};
};

namespace detail {

/// Returns the status of one shard of a task; on failure a default one. Blocks for at most twice `how.within`; a
/// refused connection is reported at once.
///
/// Errors: a `net_errc`, `rpc_errc` or `ps_errc`; `where` names the shard and the server.
///
/// Threads: any.
[[nodiscard]] DISTRIB_DECL auto ask_shard(const Address& server, std::uint32_t shard, const AskOptions& how,
                                          Error& error) -> ShardStatus;

}  // namespace detail

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

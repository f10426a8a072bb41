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

namespace distrib {
inline namespace v0 {

struct EraseRequest;
struct EraseReply;
struct ScaleRequest;
struct ScaleReply;

/// How to ask a parameter server for its status, for other ranks, or to erase keys.
struct AskOptions {
  std::chrono::milliseconds within{5'000};  ///< For each shard: the time to connect, and again the time to answer.
  SharedSecret secret;  ///< The secret of the server; not set: it has none.
  std::shared_ptr<const Transport> tls = {};  ///< `Tls::of_job()`, for a server that speaks TLS. Null: it does not.
  /// The host for which the server's certificate must be valid; empty: the host of the address.
  std::string host = {};
  /// Who asks, for the reports of parameter servers that are asked for other ranks, or to erase keys: "alice at login3".
  /// They report the address, too.
  std::string who = {};
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

/// Asks one shard of a task for other ranks, or only for its log (`ScaleRequest`). As `ask_shard`.
[[nodiscard]] DISTRIB_DECL auto scale_shard(const Address& server, std::uint32_t shard, const ScaleRequest& request,
                                            const AskOptions& how, Error& error) -> ScaleReply;

/// Asks one shard of a task to erase keys. As `ask_shard`.
[[nodiscard]] DISTRIB_DECL auto erase_on_shard(const Address& server, std::uint32_t shard, const EraseRequest& request,
                                               const AskOptions& how, Error& error) -> EraseReply;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/wire/impl/ask_shard.ipp>
#endif

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/address.hpp>
#include <distrib/ps/wire/shard_status.hpp>
#include <distrib/rpc/shared_secret.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

namespace distrib {
inline namespace v0 {

/// How a parameter server is asked.
struct AskOptions {
  std::chrono::milliseconds within{5'000};  ///< For each shard: to be connected to, and as long to answer.
  SharedSecret secret;
};

namespace detail {

/// How one shard of a task is. Waits, at most twice `how.within`; what is not there is told at once. Fails with a
/// `net_errc`, `rpc_errc` or `ps_errc`, and `where` names whom it waited for. Threads: any.
[[nodiscard]] DISTRIB_DECL auto ask_shard(const Address& server, std::uint32_t shard, const AskOptions& how,
                                          Error& error) -> ShardStatus;

}  // namespace detail

/// How each shard of the task at `server` is, in their order; of one that knows no job yet, its first. Fails likewise,
/// and then the result is empty.
[[nodiscard]] DISTRIB_DECL auto ask_status(const Address& server, const AskOptions& how, ErrorRef to)
    -> std::vector<ShardStatus>;
/// The same; throws `std::system_error`.
[[nodiscard]] inline auto ask_status(const Address& server, const AskOptions& how = {}) -> std::vector<ShardStatus> {
  Error error;
  return detail::or_throw(ask_status(server, how, error), error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/worker/impl/ask_status.ipp>
#endif

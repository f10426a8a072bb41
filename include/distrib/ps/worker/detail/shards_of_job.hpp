// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/address.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/wire/ask_shard.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// A shard of a parameter server.
struct ShardAddress {
  Address server;
  std::uint32_t shard = 0;
};

/// Returns all shards of all servers: asks the first shard of each how many there are. On failure none.
///
/// Errors: as `ask_shard`; `no_job` if a server knows no job yet.
///
/// Blocks as `ask_shard`, for each server. Threads: any.
[[nodiscard]] DISTRIB_DECL auto shards_of_job(std::span<const Address> servers, const AskOptions& how, ps_errc no_job,
                                              Error& error) -> std::vector<ShardAddress>;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/worker/detail/impl/shards_of_job.ipp>
#endif

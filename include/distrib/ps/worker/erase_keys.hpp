// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/address.hpp>
#include <distrib/ps/job/erased_keys.hpp>
#include <distrib/ps/wire/ask_shard.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What became of a request to erase keys.
struct KeysErased {
  std::size_t shards = 0;  ///< How many shards there are.
  /// What the shards have in their logs, one entry for each that has some of the keys: after which step they go. With
  /// `LocalMode::erased` a job in one process does the same.
  std::vector<ErasedKeys> entries = {};

  /// Returns the number of keys in all entries.
  [[nodiscard]] DISTRIB_DECL auto keys() const noexcept -> std::size_t;
};

/// Asks all shards of all parameter servers of a running job (`TrainerBuilder::with_erasable_keys`) to erase keys of a
/// table. Each shard takes those keys that belong to it, whether they have a row or not. When this returns without an
/// error, the request is in the logs of the shards: it is in force whatever happens. The keys go after the step that
/// their entry names; usually that is the next one. From then on each is a key that was never seen, and it is in the
/// next export as one that is gone.
///
/// `servers`: all of the job, otherwise keys are missed: that is an error. More than `max_erased_at_once` keys are sent
/// in several calls. Asking again for the same keys does no harm: they are erased once more.
///
/// Errors: as `ask_status`; `ps_errc::no_such_table`; `not_erasable` if the keys of the table are numbered, the job does
/// not let keys be erased, or a server knows no job yet; `too_many_erased`; `shard_done` if the job ends before the step
/// after which the keys would go; `no_such_row` if no shard has taken some of the keys. The result then has what was
/// taken before.
///
/// Blocks as `ask_status`, for each shard and call. Threads: any.
DISTRIB_DECL auto erase_keys(std::span<const Address> servers, const std::string& table,
                             std::vector<std::uint64_t> keys, const AskOptions& how, ErrorRef to) -> KeysErased;
/// This overload throws the error as `std::system_error`.
inline auto erase_keys(std::span<const Address> servers, const std::string& table, std::vector<std::uint64_t> keys,
                       const AskOptions& how = {}) -> KeysErased {
  Error error;
  return detail::or_throw(erase_keys(servers, table, std::move(keys), how, error), error);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/worker/impl/erase_keys.ipp>
#endif

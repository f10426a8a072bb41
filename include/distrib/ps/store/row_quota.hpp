// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/table_info.hpp>
#include <distrib/ps/job/table_share.hpp>
#include <distrib/ps/rows/row_layout.hpp>
#include <distrib/sharding/virtual_shard.hpp>

#include <algorithm>
#include <cstdint>

namespace distrib {
inline namespace v0 {

/// How many keys of a table with `max_rows` each virtual shard keeps. Each is dealt the same share. A virtual shard is
/// never divided, so what it keeps does not depend on how many servers there are. A value.
struct RowQuota {
  std::uint64_t most = 0;  ///< Keys with a row after an update, at most.
  std::uint64_t left = 0;  ///< Keys with a row that are left if an update ends with more: an eighth goes at once.
  std::uint64_t most_counted = 0;  ///< Keys without a row, which are only counted, at most.
  std::uint64_t left_counted = 0;  ///< Keys without a row that are left if there are more.

  [[nodiscard]] auto operator==(const RowQuota&) const -> bool = default;
};

/// Returns the quota of a table, whose `max_rows` must not be 0.
[[nodiscard]] constexpr auto row_quota(const TableInfo& table) noexcept -> RowQuota {
  const std::uint64_t most = table.max_rows / num_virtual_shards + (table.max_rows % num_virtual_shards != 0 ? 1 : 0);
  const auto left_of = [](std::uint64_t all) { return all - std::max<std::uint64_t>(1, all / 8); };
  return {most, left_of(most), 4 * most, left_of(4 * most)};
}

/// Returns how many keys without a row one update may contain, all workers together, for which a table with `max_rows`
/// has memory set aside: `max_new_keys`; by default a sixteenth of `max_rows`, at least 65 536.
[[nodiscard]] constexpr auto new_keys_of(const TableInfo& table) noexcept -> std::uint64_t {
  return table.max_new_keys != 0 ? table.max_new_keys : std::max<std::uint64_t>(table.max_rows / 16, 65'536);
}

/// Returns how much memory a shard's share of a table with `max_rows` takes at most, as taken from its budget: for the
/// rows and the keys of its virtual shards, and for the new keys of one update.
[[nodiscard]] DISTRIB_DECL auto quota_bytes(const TableShare& share, const RowLayout& layout) -> std::uint64_t;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/impl/row_quota.ipp>
#endif

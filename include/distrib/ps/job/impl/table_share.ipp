// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/table_share.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL TableSharding::TableSharding(const TableInfo& table, std::uint32_t shards)
    : ranges_{static_cast<std::int64_t>(table.rows), shards} {
  if (!table.any_key()) return;
  const ConsistentHashSharding dealt{shards};
  owners_.assign(dealt.owners().begin(), dealt.owners().end());
}

}  // namespace v0
}  // namespace distrib

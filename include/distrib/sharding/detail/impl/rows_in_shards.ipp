// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sharding/detail/rows_in_shards.hpp>

#include <distrib/sharding/error.hpp>

#include <cassert>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL RowsInShards::RowsInShards(std::int64_t rows, std::uint32_t num_shards, std::error_code& ec) noexcept {
  assert(rows >= 0);
  ec.clear();
  if (num_shards < 1) {
    ec = sharding_errc::not_positive;
    return;
  }
  rows_ = rows;
  num_shards_ = num_shards;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

// error: a RowSharding needs rows\(\) const, and locate\(std::int64_t row\) const
// SPDX-License-Identifier: Apache-2.0
#include <distrib/sharding/row_sharding.hpp>

struct Halves {
  auto num_shards() const -> std::uint32_t { return 2; }
  auto shard(std::uint64_t key) const -> std::uint32_t { return key < 5 ? 0 : 1; }
  auto rows() const -> std::int64_t { return 10; }
#ifndef DISTRIB_COMPILE_FAIL
  auto locate(std::int64_t row) const -> distrib::ShardRow { return {row < 5 ? 0U : 1U, row % 5}; }
#endif
};

void look(std::span<const std::int64_t> rows, std::span<distrib::ShardRow> places) {
  distrib::locate_rows(Halves{}, rows, places);
}

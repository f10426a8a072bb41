// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/job/table_share.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/ps/rows/unique_keys.hpp>
#include <distrib/ps/store/key_lists.hpp>
#include <distrib/ps/store/pull_rows.hpp>
#include <distrib/ps/store/table_digest.hpp>
#include <distrib/ps/store/table_gradients.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Which rows of a job's tables one contribution needs: what is asked of each shard, where the rows lie in what comes
/// back, and where their gradients go. Each key is asked for once.
///
/// Threads: one at a time. Lifetime: `job` and `layouts`, one a shard, must outlive it. Memory of keys and rows
/// is used again; what is sent is new.
class BatchKeys {
 public:
  DISTRIB_DECL BatchKeys(const Job& job, std::span<const ShardLayout> layouts);
  BatchKeys(BatchKeys&&) = default;
  DISTRIB_DECL ~BatchKeys();

  /// The rows of `lookups`, of each table keys in any order with repeats, and of `others`, keys whose rows are wanted but
  /// change nothing; empty: none. `digests`: those of the tables are wanted, too. Throws `ps_errc::no_such_row`, naming
  /// table and key.
  DISTRIB_DECL void find(std::span<const std::vector<std::uint64_t>> lookups, const KeyLists& others,
                         bool digests = false);

  /// What each shard is asked for.
  [[nodiscard]] auto requests() const noexcept -> const std::vector<PullRows>& { return of_shards_; }
  /// The same, as they travel.
  [[nodiscard]] auto wanted() const noexcept -> const std::vector<WantedRows>& { return wanted_; }

  /// How many rows of a table there are.
  [[nodiscard]] auto rows(std::size_t table) const noexcept -> std::size_t {
    return tables_[table].unique->keys.size();
  }
  /// Of each lookup its row. Valid until the next `find`.
  [[nodiscard]] auto index(std::size_t table) const noexcept -> std::span<const std::int64_t> {
    return std::span{tables_[table].unique->index}.first(tables_[table].lookups);
  }
  /// Of each of the others its row, likewise.
  [[nodiscard]] auto index_of_others(std::size_t table) const noexcept -> std::span<const std::int64_t> {
    return std::span{tables_[table].unique->index}.subspan(tables_[table].lookups);
  }

  /// Takes a table's rows out of the values that came, one block a shard. `to` has `rows(table)` rows.
  DISTRIB_DECL void collect(std::span<const SharedBuffer> values, std::size_t table, float* to) const;

  /// Takes the digest of a table out of the values that came, when it was asked for: of the rows of all shards.
  [[nodiscard]] DISTRIB_DECL auto digest(std::span<const SharedBuffer> values, std::size_t table) const -> TableDigest;

  /// Gives a shard's contribution the size that it needs, and writes its keys.
  void begin(std::size_t shard, AlignedBuffer& contribution) const {
    contribution.resize(contributions_[shard].size_bytes());
    contributions_[shard].write_keys(contribution.bytes());
  }

  /// Writes the gradients of a table's rows, `rows(table)` of them, into the contributions of all shards.
  DISTRIB_DECL void deal_gradients(std::span<const std::shared_ptr<AlignedBuffer>> contributions, std::size_t table,
                                   const float* gradients) const;

 private:
  struct Table {
    Table(const TableInfo* table, TableSharding where) : info{table}, sharding{std::move(where)} {}

    const TableInfo* info;
    TableSharding sharding;
    detail::KeyIndexer indexer;
    const UniqueKeys* unique = nullptr;
    std::size_t lookups = 0;  // as many are of the batch; the others follow
    std::vector<unsigned char> is_pushed;  // of each key: whether the batch has it
    std::vector<std::uint32_t> shard_of;  // of each key
  };

  static void clear(KeyLists& lists) {
    for (std::vector<std::uint64_t>& keys : lists) keys.clear();
  }

  static void check(const TableInfo& table, std::span<const std::uint64_t> ascending) {
    if (!table.any_key() && !ascending.empty() && ascending.back() >= table.rows)
      throw_error(ps_errc::no_such_row, table.name + ": key " + std::to_string(ascending.back()) + " of " +
                                            std::to_string(table.rows) + " rows");
  }

  DISTRIB_DECL void deal(std::size_t number);

  DISTRIB_DECL void ask();

  // Where a table's rows begin in the values of a shard.
  [[nodiscard]] auto rows_at(std::size_t shard, std::size_t table) const -> std::size_t {
    std::size_t at = layouts_[shard].wire_block_bytes();
    for (std::size_t before = 0; before < table; ++before)
      at += detail::aligned_size(wire_row_bytes(layouts_[shard], before, of_shards_[shard].keys[before].size()));
    return at;
  }

  std::vector<Table> tables_;
  FloatFormat format_;
  std::span<const ShardLayout> layouts_;
  std::vector<PullRows> of_shards_;  // asked of each shard
  std::vector<KeyLists> pushed_;  // those of them that the batch has
  std::vector<WantedRows> wanted_;
  std::vector<ContributionLayout> contributions_;  // to each shard
  std::vector<std::uint64_t> list_;  // kept for its capacity
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/protocol/impl/batch_keys.ipp>
#endif

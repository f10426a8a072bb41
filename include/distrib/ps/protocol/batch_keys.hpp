// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/gradient_rounding.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/job/table_share.hpp>
#include <distrib/ps/job/wire_format.hpp>
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

/// The rows of a job's tables that one contribution needs: which keys to ask each shard for, where the rows lie in the
/// answers, and where their gradients are written in the contributions. Each key is asked for once.
///
/// Memory of keys and rows is used again; blocks to send are new.
///
/// Threads: one at a time. `job` and `layouts` (one per shard) must outlive it.
class BatchKeys {
 public:
  DISTRIB_DECL BatchKeys(const Job& job, std::span<const ShardLayout> layouts);
  BatchKeys(BatchKeys&&) = default;
  DISTRIB_DECL ~BatchKeys();

  /// Sets the rows. `lookups`: for each table its keys in any order, repeats allowed. `others`: for each table keys
  /// whose rows are wanted but get no gradient. Either may be empty: none. `digests`: also ask for the digests of the
  /// tables.
  ///
  /// Errors: throws `ps_errc::no_such_row`, naming table and key, if a table of numbered keys has no such key.
  DISTRIB_DECL void find(std::span<const std::vector<std::uint64_t>> lookups, const KeyLists& others,
                         bool digests = false);

  /// Returns what each shard is asked for.
  [[nodiscard]] auto requests() const noexcept -> const std::vector<PullRows>& { return of_shards_; }
  /// Returns what each shard is asked for, in the form in which it is sent.
  [[nodiscard]] auto wanted() const noexcept -> const std::vector<WantedRows>& { return wanted_; }

  /// Returns the number of different rows of a table, of `lookups` and `others` together.
  [[nodiscard]] auto rows(std::size_t table) const noexcept -> std::size_t {
    return tables_[table].unique->keys.size();
  }
  /// Returns for each lookup of the table the number of its row, in the order of `lookups`. Valid until the next
  /// `find`.
  [[nodiscard]] auto index(std::size_t table) const noexcept -> std::span<const std::int64_t> {
    return std::span{tables_[table].unique->index}.first(tables_[table].lookups);
  }
  /// Returns for each key of `others` of the table the number of its row, in the order of `others`. Valid until the
  /// next `find`.
  [[nodiscard]] auto index_of_others(std::size_t table) const noexcept -> std::span<const std::int64_t> {
    return std::span{tables_[table].unique->index}.subspan(tables_[table].lookups);
  }

  /// Copies a table's rows from the answers (`values`, one block per shard) to `to`, in the order of their numbers.
  /// `to` must have space for `rows(table)` rows.
  DISTRIB_DECL void collect(std::span<const SharedBuffer> values, std::size_t table, float* to) const;

  /// Returns the digest of a table, of the rows of all shards, from the answers. Only if `find` asked for digests.
  [[nodiscard]] DISTRIB_DECL auto digest(std::span<const SharedBuffer> values, std::size_t table) const -> TableDigest;

  /// Sets the size of a shard's contribution and writes the keys into it.
  void begin(std::size_t shard, AlignedBuffer& contribution) const {
    contribution.resize(contributions_[shard].size_bytes());
    contributions_[shard].write_keys(contribution.bytes());
  }

  /// Writes the gradients of a table's rows into the contributions of all shards, for which `begin` was called.
  /// `gradients` has `rows(table)` rows, in the order of their numbers; rows that only `others` has are skipped.
  /// `rounding`: of the contribution; not used unless gradients travel as int8 numbers.
  DISTRIB_DECL void deal_gradients(std::span<const std::shared_ptr<AlignedBuffer>> contributions, std::size_t table,
                                   const float* gradients, const GradientRounding& rounding = {}) const;

 private:
  struct Table {
    Table(const TableInfo* table, TableSharding where) : info{table}, sharding{std::move(where)} {}

    const TableInfo* info;
    TableSharding sharding;
    detail::KeyIndexer indexer;
    const UniqueKeys* unique = nullptr;
    std::size_t lookups = 0;  // of the keys: the first ones are lookups, the others follow
    std::vector<unsigned char> is_pushed;  // for each key: true if it is in `lookups`
    std::vector<std::uint32_t> shard_of;  // for each key
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

  // Where a table's rows begin in a shard's answer.
  [[nodiscard]] auto rows_at(std::size_t shard, std::size_t table) const -> std::size_t {
    std::size_t at = layouts_[shard].wire_block_bytes();
    for (std::size_t before = 0; before < table; ++before)
      at += detail::aligned_size(wire_row_bytes(layouts_[shard], before, of_shards_[shard].keys[before].size()));
    return at;
  }

  std::vector<Table> tables_;
  WireFormat format_;
  std::span<const ShardLayout> layouts_;
  std::vector<PullRows> of_shards_;  // for each shard
  std::vector<KeyLists> pushed_;  // for each shard: the keys that are in `lookups`
  std::vector<WantedRows> wanted_;
  std::vector<ContributionLayout> contributions_;  // for each shard
  std::vector<std::uint64_t> list_;  // kept for its capacity
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/protocol/impl/batch_keys.ipp>
#endif

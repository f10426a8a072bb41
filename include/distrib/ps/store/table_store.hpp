// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/float_codec.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/export_log/row_digest.hpp>
#include <distrib/ps/job/erased_keys.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/row_mean.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/rows/memory_budget.hpp>
#include <distrib/ps/store/detail/shard_table.hpp>
#include <distrib/ps/store/exported_rows.hpp>
#include <distrib/ps/store/key_lists.hpp>
#include <distrib/ps/store/table_copy.hpp>
#include <distrib/ps/store/table_cut.hpp>
#include <distrib/ps/store/table_digest.hpp>
#include <distrib/ps/store/table_gradients.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The size of one shard's share of a table.
struct TableSize {
  std::uint64_t rows = 0;   ///< Keys that have a row.
  std::uint64_t keys = 0;  ///< Keys with and without a row.
  std::uint64_t bytes = 0;  ///< Memory, as taken from the budget.

  [[nodiscard]] auto operator==(const TableSize&) const -> bool = default;
};

/// The rows of one shard's tables: for tables what `DenseStore` is for dense variables. There are no versions: an
/// update changes rows in place, and only the rows that a gradient names (see `check_table_updaters`).
///
/// The contents of a table are a function of the updates, in their order; asking for values changes nothing. If the
/// table has no row for a key, the key has its initial row, which is computed when it is asked for. Movable.
///
/// Memory: that of the tables, at most the budget; beside it what the largest update needed: its keys, and with
/// `keep_previous` its rows.
///
/// Threads: one at a time.
class TableStore {
 public:
  /// Starts with the initial state. Tables with numbered keys take their memory at once. Throws `std::system_error`
  /// with the name of the table: `ps_errc::budget_exceeded` if that is more than `budget_bytes`, or an error of the
  /// operating system.
  TableStore(const Job& job, const ShardLayout& layout, const JobUpdaters& updaters, std::uint64_t budget_bytes)
      : budget_{std::make_unique<MemoryBudget>(budget_bytes)},
        without_quota_{std::make_unique<MemoryBudget>(
            budget_bytes - std::min(budget_bytes, quotas_bytes(layout, updaters)), *budget_)},
        row_mean_{job.row_mean},
        wire_format_{job.wire_format.values()} {
    tables_.reserve(layout.tables().size());
    for (const TableShare& share : layout.tables())
      tables_.emplace_back(share, updaters[share.updater()], job.seed,
                           share.info().max_rows != 0 ? *budget_ : *without_quota_);
  }

  TableStore(TableStore&&) noexcept = default;
  DISTRIB_DECL auto operator=(TableStore&& other) noexcept -> TableStore&;

  /// True if the job has no tables.
  [[nodiscard]] auto empty() const noexcept -> bool { return tables_.empty(); }

  /// Sets whether the next updates keep the rows as they were before them, for `previous_values`. False also forgets
  /// the rows that are kept. At first no rows are kept.
  void keep_previous(bool keep) noexcept {
    keeps_previous_ = keep;
    if (!keep) forget_previous();
  }

  /// Applies the `count`-th update (from 1): updates each row that some gradient names, once. `of_ranks` are in rank
  /// order, and were read with the shard's layout. The gradients of one key are added in that order, then divided as
  /// the job's `RowMean` says. If all ranks have a key, its gradient is what `reduce_mean` computes, bit by bit.
  ///
  /// In a table where any 64 bits are a key, an update counts a key once, however many ranks have it. Until a key has
  /// been counted `min_count` times it has no row, and its gradients are dropped. Every 64th update evicts the keys
  /// that none of the last `evict_after` updates contained (0: no key is evicted). Such a key is evicted at most 126
  /// updates too late. Limit: a key that is used after 67 million updates (2^20 times 64) is no longer evicted.
  ///
  /// In a table with `max_rows` each virtual shard keeps `row_quota(table)` keys. If an update ends with more, keys go
  /// in the order of `detail::place_in_shard`; such a key may be of this very update. An update that comes after `load`
  /// looks at all virtual shards, because the cut may be of a job with a larger `max_rows`.
  ///
  /// With `evict_in_turns` the `count`-th update evicts, of the keys that none of the last `evict_after` updates
  /// contained, those of the virtual shards v with v mod 64 = count mod 64. That, too, is at most 126 updates too late.
  ///
  /// `erased`: keys that go after the update, with their rows and counts, as evicted keys do: each is then one that was
  /// never seen. Keys that the table does not have, also those of other shards, are passed over; and so is a table that
  /// this job does not have, or whose keys are numbered.
  ///
  /// Errors: `ps_errc::budget_exceeded`, or an error of the operating system. The tables may have taken more memory
  /// then; otherwise nothing has changed. Tables with `max_rows` have memory of their own, so this happens to them only
  /// if an update has more new keys than the job says, or a budget is smaller than `quotas_bytes`.
  DISTRIB_DECL void apply(std::uint64_t count, std::span<const TableGradients* const> of_ranks, std::error_code& ec,
                          std::span<const ErasedKeys> erased = {});

  /// Writes the weights of `keys` to `out`, in the job's `FloatFormat`: `dim` elements for each key. The rows of each
  /// table begin at a multiple of `tensor_alignment`; gaps are zeros, also after the last table. `check` must have
  /// accepted `keys`. `out` must have `rows_bytes` bytes and be aligned for floats.
  void values(const KeyLists& keys, std::span<std::byte> out) const {
    write(keys, out, [](const auto& table, auto of, auto to) { table.values(of, to); });
  }

  /// Writes to `out` what `values` wrote before the last update. Needs `keep_previous` before that update; otherwise
  /// writes the current values. A key whose row the update made gets its initial values; a key whose row it evicted
  /// gets the values of that row.
  void previous_values(const KeyLists& keys, std::span<std::byte> out) const {
    write(keys, out, [](const auto& table, auto of, auto to) { table.previous_values(of, to); });
  }

  /// Writes to `out`, as `values` does, the moving averages of the weights of `keys`. The updater of every table must be
  /// `averaged`.
  void averages(const KeyLists& keys, std::span<std::byte> out) const {
    write(keys, out, [](const auto& table, auto of, auto to) { table.averages(of, to); });
  }

  /// Forgets the rows of before the last update: until the next update `previous_values` are `values`.
  void forget_previous() noexcept {
    for (detail::ShardTable& table : tables_) table.forget_previous();
  }

  /// Checks `keys`, which may come from an unknown client. Returns `ps_errc::no_such_row` if the number of lists is not
  /// the number of tables, or a table does not have a key, or not on this shard.
  [[nodiscard]] auto check(const KeyLists& keys) const noexcept -> std::error_code {
    if (keys.size() != tables_.size()) return ps_errc::no_such_row;
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (!tables_[i].share().owns_all(keys[i])) return ps_errc::no_such_row;
    return {};
  }

  /// Begins a copy of the current state, which `copy_some` makes in pieces; updates may go on meanwhile. There is one
  /// copy at a time: a copy that was begun before is dropped.
  ///
  /// `number`: of the copy, ascending from 1. From the first copy with a number on, the keys that change are listed.
  /// `changed`: copies only the keys that may have changed since the newest copy that is durable, and which keys may
  /// have gone. Only if `changed_bytes` says that they are known.
  void begin_copy(std::uint64_t number = 0, bool changed = false) {
    for (detail::ShardTable& table : tables_) table.begin_copy(number, changed);
  }
  /// The copy of this number is durable: changes are counted from there. 0: does nothing. `load` forgets all copies.
  void copy_is_durable(std::uint64_t number) {
    for (detail::ShardTable& table : tables_) table.copy_is_durable(number);
  }
  /// Returns the bytes of a cut of all tables.
  [[nodiscard]] auto copy_bytes() const noexcept -> std::uint64_t {
    std::uint64_t bytes = 0;
    for (const detail::ShardTable& table : tables_) bytes += table.copy_bytes();
    return bytes;
  }
  /// Returns about the bytes of a cut of what has changed since the newest copy that is durable; empty: that is not
  /// known, or more than the tables have.
  [[nodiscard]] auto changed_bytes() const noexcept -> std::optional<std::uint64_t> {
    std::uint64_t bytes = 0;
    for (const detail::ShardTable& table : tables_) {
      const std::optional<std::uint64_t> of_table = table.changed_bytes();
      if (!of_table) return std::nullopt;
      bytes += *of_table;
    }
    return bytes;
  }
  /// Copies about `most_bytes` more. True if the copy is complete.
  auto copy_some(std::size_t most_bytes) -> bool {
    for (detail::ShardTable& table : tables_)
      if (!table.copy_some(most_bytes)) return false;
    return true;
  }
  /// Returns the copy: one `TableCopy` for each table, in the job's order. Only after `copy_some` has returned true.
  /// Equal states give equal cuts, byte by byte.
  [[nodiscard]] auto take_copy() -> std::vector<TableCopy> {
    std::vector<TableCopy> copies;
    for (detail::ShardTable& table : tables_) copies.push_back(table.take_copy());
    return copies;
  }
  /// Ends the copy that was begun; it is not wanted any more.
  void drop_copy() noexcept {
    for (detail::ShardTable& table : tables_) table.drop_copy();
  }

  /// Replaces the state by that of a cut of this shard's tables. No tables at all, or a table whose buffers are all
  /// null: the initial state. The cut may come from a run with another `min_count`: all rows of the cut stay. Throws
  /// `std::system_error` with the name of the table: `ps_errc::budget_exceeded`, an error of the operating system, or
  /// `wrong_size`, `unsorted_keys`, `no_such_row` if the cut is not of these tables. The state is unspecified then:
  /// load again before other calls.
  DISTRIB_DECL void load(std::span<const TableCut> tables);

  /// Returns a digest of each table, in the job's order. Reads all rows.
  [[nodiscard]] auto digests() const -> std::vector<TableDigest> {
    std::vector<TableDigest> digests;
    for (const detail::ShardTable& table : tables_) digests.push_back(table.digest());
    return digests;
  }

  /// From now on marks the rows that change, and keeps a digest of each table: for exports. Reads all rows once.
  /// `rows_as`: float32 or bfloat16; digests and exported rows are of rows rounded to that.
  void track_changes(FloatFormat rows_as = FloatFormat::float32) {
    for (detail::ShardTable& table : tables_) table.track_changes(rows_as);
  }
  /// Returns a fast digest of each table, in the job's order. Only after `track_changes`. Reads the rows that have
  /// changed since the last `take_changes`.
  [[nodiscard]] auto tracked_digests() -> std::vector<RowDigest> {
    std::vector<RowDigest> digests;
    for (detail::ShardTable& table : tables_) digests.push_back(table.tracked_digest());
    return digests;
  }
  /// Returns of each table, in the job's order, all rows, or those that have changed since the last call; then changes
  /// are counted from here. Also `load` counts from its state on. Only after `track_changes`.
  [[nodiscard]] auto take_changes(bool all) -> std::vector<ExportedRows> {
    std::vector<ExportedRows> taken;
    for (detail::ShardTable& table : tables_) taken.push_back(table.take_changes(all));
    return taken;
  }

  /// Returns the size of each table, in the job's order.
  [[nodiscard]] auto sizes() const -> std::vector<TableSize> {
    std::vector<TableSize> sizes;
    for (const detail::ShardTable& table : tables_) sizes.push_back({table.rows(), table.keys(), table.bytes()});
    return sizes;
  }

  /// Memory of all tables in bytes, as taken from the budget.
  [[nodiscard]] auto bytes() const noexcept -> std::uint64_t { return budget_->used_bytes(); }

  /// Memory that the tables with `max_rows` take at most; it is kept from the other tables.
  [[nodiscard]] DISTRIB_DECL static auto quotas_bytes(const ShardLayout& layout, const JobUpdaters& updaters)
      -> std::uint64_t;

 private:
  void write(const KeyLists& keys, std::span<std::byte> out, auto write_table) const {
    assert(keys.size() == tables_.size());
    std::size_t at = 0;
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      const std::size_t floats = keys[i].size() * tables_[i].share().info().dim;
      if (wire_format_ == FloatFormat::float32)
        write_table(tables_[i], std::span{keys[i]}, std::span{reinterpret_cast<float*>(out.data() + at), floats});
      else write_encoded(tables_[i], keys[i], out.data() + at, write_table);
      const std::size_t end = at + floats * element_bytes(wire_format_);
      at = detail::aligned_size(end);
      std::fill(out.begin() + static_cast<std::ptrdiff_t>(end), out.begin() + static_cast<std::ptrdiff_t>(at),
                std::byte{0});
    }
    assert(at == out.size());
  }

  // Encodes a few rows at a time, so that they are still in the cache when they are encoded.
  void write_encoded(const detail::ShardTable& table, std::span<const std::uint64_t> keys, std::byte* out,
                     auto& write_table) const {
    const std::size_t dim = table.share().info().dim;
    const std::size_t most = std::max<std::size_t>(1, (std::size_t{16} << 10) / sizeof(float) / dim);
    weights_.resize(std::min(most, keys.size()) * dim);
    for (; !keys.empty(); keys = keys.subspan(std::min(most, keys.size()))) {
      const auto some = keys.first(std::min(most, keys.size()));
      const auto weights = std::span{weights_}.first(some.size() * dim);
      write_table(table, some, weights);
      encode_elements(wire_format_, weights, out);
      out += weights.size() * element_bytes(wire_format_);
    }
  }

  // in memory of its own, because the tables point to it also after a move; outlives them
  std::unique_ptr<MemoryBudget> budget_;
  std::unique_ptr<MemoryBudget> without_quota_;  // part of it, for the tables without `max_rows`
  RowMean row_mean_;
  FloatFormat wire_format_;
  std::vector<detail::ShardTable> tables_;
  bool keeps_previous_ = false;
  mutable std::vector<float> weights_;  // rows that are being encoded
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/impl/table_store.ipp>
#endif

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/float_codec.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/row_mean.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/rows/memory_budget.hpp>
#include <distrib/ps/store/detail/shard_table.hpp>
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
#include <span>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

/// How large one shard's share of a table is.
struct TableSize {
  std::uint64_t rows = 0;   ///< Keys that have a row.
  std::uint64_t keys = 0;   ///< Keys with and without one.
  std::uint64_t bytes = 0;  ///< As taken from the budget.

  [[nodiscard]] auto operator==(const TableSize&) const -> bool = default;
};

/// The rows of one shard's tables: the sparse sibling of `DenseStore`. There are no versions; an update changes rows in
/// place, and only those that a gradient names (see `check_table_updaters`).
///
/// What a table holds is a function of the updates, in their order; who asks for values changes nothing. A key that a
/// table has no row for has its initial one, which is computed. Movable. Threads: one at a time. Memory: the tables',
/// at most the budget's; beside it what the largest update needed: its keys, and with `keep_previous` its rows.
class TableStore {
 public:
  /// The initial state. Numbered tables take their memory; where it is more than `budget_bytes`, throws
  /// `std::system_error` (`ps_errc::budget_exceeded`), saying which.
  TableStore(const Job& job, const ShardLayout& layout, const JobUpdaters& updaters, std::uint64_t budget_bytes)
      : budget_{std::make_unique<MemoryBudget>(budget_bytes)}, row_mean_{job.row_mean}, wire_format_{job.wire_format} {
    tables_.reserve(layout.tables().size());
    for (const TableShare& share : layout.tables())
      tables_.emplace_back(share, updaters[share.updater()], job.seed, *budget_);
  }

  TableStore(TableStore&&) noexcept = default;
  DISTRIB_DECL auto operator=(TableStore&& other) noexcept -> TableStore&;

  /// Whether the job has no tables.
  [[nodiscard]] auto empty() const noexcept -> bool { return tables_.empty(); }

  /// Whether rows as they were before the last update are kept from the next one on. Not, unless told.
  void keep_previous(bool keep) noexcept {
    keeps_previous_ = keep;
    if (!keep) forget_previous();
  }

  /// The `count`-th update (from 1): each row that some gradient names, once. `of_ranks` are in rank order and were
  /// read with the shard's layout. Gradients of one key are added in that order and divided as the job's `RowMean`
  /// says; where all had it that is what `reduce_mean` gives, bit for bit.
  ///
  /// Where any 64 bits are a key, each key is counted once, however many ranks had it, and its gradient is dropped until
  /// it was counted `min_count` times. Every 64th update evicts the keys that no update had for `evict_after` updates or
  /// more, at latest when it is 126 more; after 67 million updates no more.
  ///
  /// Fails with `ps_errc::budget_exceeded` or what the system says; nothing has changed then but how much memory the
  /// tables took.
  DISTRIB_DECL void apply(std::uint64_t count, std::span<const TableGradients* const> of_ranks, std::error_code& ec);

  /// Writes the weights of `keys`, which `check` found good, in the job's `FloatFormat`: of each table, from the next
  /// multiple of `tensor_alignment` on, `dim` elements for each of its keys; zeros between tables. `out` has
  /// `rows_bytes`, and an address for floats.
  void values(const KeyLists& keys, std::span<std::byte> out) const {
    write(keys, out, [](const auto& table, auto of, auto to) { table.values(of, to); });
  }

  /// The same, as they were before the last update, if that was told to keep them: rows that it made are initial ones,
  /// rows that it evicted are still there.
  void previous_values(const KeyLists& keys, std::span<std::byte> out) const {
    write(keys, out, [](const auto& table, auto of, auto to) { table.previous_values(of, to); });
  }

  /// From here to the next update `previous_values` are `values`.
  void forget_previous() noexcept {
    for (detail::ShardTable& table : tables_) table.forget_previous();
  }

  /// Whether `keys`, a stranger's perhaps, are lists of this shard's tables. `ps_errc::no_such_row`: there is another
  /// number of lists, or a key that a table does not have, or not on this shard.
  [[nodiscard]] auto check(const KeyLists& keys) const noexcept -> std::error_code {
    if (keys.size() != tables_.size()) return ps_errc::no_such_row;
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (!tables_[i].share().owns_all(keys[i])) return ps_errc::no_such_row;
    return {};
  }

  /// Begins a copy of this moment, which `copy_some` makes in pieces; updates may go on meanwhile. There is one at a time.
  void begin_copy() {
    for (detail::ShardTable& table : tables_) table.begin_copy();
  }
  /// Copies on, `most_bytes` or a little more. Whether the copy is whole.
  auto copy_some(std::size_t most_bytes) -> bool {
    for (detail::ShardTable& table : tables_)
      if (!table.copy_some(most_bytes)) return false;
    return true;
  }
  /// The copy, once it is whole: of each table, in the job's order. Equal states give equal cuts, byte for byte.
  [[nodiscard]] auto take_copy() -> std::vector<TableCopy> {
    std::vector<TableCopy> copies;
    for (detail::ShardTable& table : tables_) copies.push_back(table.take_copy());
    return copies;
  }
  /// What was begun is not wanted any more.
  void drop_copy() noexcept {
    for (detail::ShardTable& table : tables_) table.drop_copy();
  }

  /// Goes to the state of a cut of this shard's tables; of no tables at all, and of one whose buffers are null, to the
  /// initial state. A run may ask for another `min_count` than that which made the cut: rows that there are stay. Throws
  /// `std::system_error` (`ps_errc::budget_exceeded`; `wrong_size`, `unsorted_keys`, `no_such_row` of a cut that is not of
  /// these tables), saying which table; the state is unspecified then, to be loaded anew.
  DISTRIB_DECL void load(std::span<const TableCut> tables);

  /// Of each table, in the job's order. Reads all rows.
  [[nodiscard]] auto digests() const -> std::vector<TableDigest> {
    std::vector<TableDigest> digests;
    for (const detail::ShardTable& table : tables_) digests.push_back(table.digest());
    return digests;
  }

  /// Of each table, in the job's order.
  [[nodiscard]] auto sizes() const -> std::vector<TableSize> {
    std::vector<TableSize> sizes;
    for (const detail::ShardTable& table : tables_) sizes.push_back({table.rows(), table.keys(), table.bytes()});
    return sizes;
  }

  /// Of all tables, as taken from the budget.
  [[nodiscard]] auto bytes() const noexcept -> std::uint64_t { return budget_->used_bytes(); }

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

  // So many rows at a time that they are still in the cache when they are encoded.
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

  std::unique_ptr<MemoryBudget> budget_;  // where tables find it after a move; it outlives them
  RowMean row_mean_;
  FloatFormat wire_format_;
  std::vector<detail::ShardTable> tables_;
  bool keeps_previous_ = false;
  mutable std::vector<float> weights_;  // that are being encoded
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/impl/table_store.ipp>
#endif

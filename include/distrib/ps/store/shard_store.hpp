// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/store/block_pool.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/store/dense_store.hpp>
#include <distrib/ps/store/pull_rows.hpp>
#include <distrib/ps/store/shard_action.hpp>
#include <distrib/ps/store/table_digest.hpp>
#include <distrib/ps/store/table_gradients.hpp>
#include <distrib/ps/store/table_store.hpp>
#include <distrib/ps/store/wire_block.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A contribution that was read: float32, the dense block first, and views of what it says of the tables.
struct ReadContribution {
  SharedBuffer block;
  TableGradients tables;
};

// Members are templates so that only who serves a shard pays for compiling them.

/// All that one shard keeps of a job: the dense block and the rows of its tables. Threads: one at a time; blocks that it
/// gives may be read from any.
class ShardStore {
 public:
  /// Starts with the job's initial values. `table_budget_bytes`: what the tables may take together. Throws
  /// `ps_errc::budget_exceeded` when those of numbered keys need more.
  DISTRIB_DECL ShardStore(const Job& job, std::uint32_t shard, const JobUpdaters& updaters,
                          std::uint64_t table_budget_bytes);

  /// Whether rows as they were before the last update are kept, for `previous_values`. Not, unless told.
  void keep_previous(bool keep) {
    if (tables_ != nullptr) tables_->keep_previous(keep);
  }

  [[nodiscard]] auto layout() const noexcept -> const ShardLayout& { return layout_; }
  /// The dense block as it is now; it never changes.
  [[nodiscard]] auto dense() const noexcept -> const SharedBuffer& { return dense_.values(); }
  /// Null: the job has none.
  [[nodiscard]] auto tables() const noexcept -> const TableStore* { return tables_.get(); }

  /// Reads a contribution, decoding what is no float32. Errors as `TableGradients::read`; of a job that asks for it, as
  /// `check_numerics`.
  [[nodiscard]] DISTRIB_DECL auto read(SharedBuffer block) -> std::pair<ReadContribution, Error>;

  /// The `count`-th update (from 1), by the mean of these contributions in their order; to counters each is added. On
  /// failure (`ps_errc::budget_exceeded`) nothing has changed.
  DISTRIB_DECL void apply(std::uint64_t count, std::span<const ReadContribution> contributions, std::error_code& ec);

  /// Whether a pull may ask for these rows: `ps_errc::no_such_row` when one is not of this shard.
  [[nodiscard]] auto check(const PullRows& rows) const -> std::error_code {
    return rows.keys.empty() ? std::error_code{} : tables_->check(rows.keys);
  }

  /// The dense block, and behind it what is asked of the tables, as they are now, in the job's `FloatFormat`.
  [[nodiscard]] auto values(const PullRows& rows) -> SharedBuffer {
    if (rows.keys.empty()) return to_send(dense_.values());
    return answer(dense_.values(), rows, [&](std::span<std::byte> to) { tables_->values(rows.keys, to); });
  }

  /// The same as they were before the last update; `dense` is the block of then. Digests are those of now.
  [[nodiscard]] auto previous_values(const SharedBuffer& dense, const PullRows& rows) -> SharedBuffer {
    if (rows.keys.empty()) return to_send(dense);
    return answer(dense, rows, [&](std::span<std::byte> to) { tables_->previous_values(rows.keys, to); });
  }

  /// Begins a cut of this moment. The dense block is in it at once; tables are copied by `copy_cut`, while updates go on.
  void begin_cut(Step step, std::vector<Step> applied = {}) {
    cut_ = dense_.cut(step, std::move(applied));
    if (tables_ != nullptr) tables_->begin_copy();
  }
  /// Copies on, `most_bytes` or a little more. Whether the cut is whole.
  auto copy_cut(std::size_t most_bytes) -> bool { return tables_ == nullptr || tables_->copy_some(most_bytes); }
  /// The cut, once it is whole.
  [[nodiscard]] auto take_cut() -> SaveCut {
    SaveCut taken{std::exchange(cut_, {})};
    if (tables_ != nullptr) taken.tables = tables_->take_copy();
    return taken;
  }
  /// What was begun is not wanted any more.
  void drop_cut() {
    cut_ = {};
    if (tables_ != nullptr) tables_->drop_copy();
  }

  /// Begins with these dense values, a block of the layout, when nothing was applied yet.
  void begin(SharedBuffer dense) noexcept { dense_.begin(std::move(dense)); }

  /// Goes to the state of a cut of the same layout.
  void load(const Cut& cut) {
    dense_.load(cut);
    if (tables_ != nullptr) tables_->load(cut.tables);
  }

 private:
  // A block for everybody who asks for these values.
  DISTRIB_DECL auto to_send(const SharedBuffer& dense) -> SharedBuffer;

  // The dense block, and the rows behind it.
  DISTRIB_DECL auto decode(const AlignedBuffer& contribution, TableGradients& tables) -> SharedBuffer;

  auto answer(const SharedBuffer& dense, const PullRows& rows, auto write_rows) -> SharedBuffer {
    const std::size_t dense_bytes = layout_.wire_block_bytes();
    auto block = blocks_.take(dense_bytes + answer_bytes(layout_, rows));
    encode_block(layout_, dense->bytes(), block->bytes().first(dense_bytes));
    const std::size_t digests_at = dense_bytes + rows_bytes(layout_, rows.keys);
    write_rows(block->bytes().subspan(dense_bytes, digests_at - dense_bytes));
    const std::span<std::byte> digests = block->bytes().subspan(digests_at);
    std::fill(digests.begin(), digests.end(), std::byte{0});
    if (rows.digests) {
      const std::vector<TableDigest> of_tables = tables_->digests();
      const ByteView bytes = std::as_bytes(std::span{of_tables});
      std::copy(bytes.begin(), bytes.end(), digests.begin());
    }
    return block;
  }

  ShardLayout layout_;
  bool checks_numerics_;
  DenseStore dense_;
  std::unique_ptr<TableStore> tables_;  // null: the job has none
  BlockPool blocks_;  // of values that are not the dense block itself
  Cut cut_;  // that was begun
  SharedBuffer sent_;  // the last of them without rows,
  SharedBuffer sent_of_;  // and the dense block that it is of
  BlockPool decoded_;  // of contributions
  std::vector<ByteView> of_blocks_;  // these two are kept for their capacity
  std::vector<const TableGradients*> of_tables_;
};

/// What is left for the tables of a shard when its dense values have what they need, in bytes. Fails with
/// `ps_errc::too_large` when those and the rows of numbered keys, which are there from the start, need more than
/// `memory_bytes`; other rows come with their keys.
[[nodiscard]] DISTRIB_DECL auto table_budget(const Job& job, std::uint32_t shard, const JobUpdaters& updaters,
                                             std::uint64_t memory_bytes, Error& error) -> std::uint64_t;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/impl/shard_store.ipp>
#endif

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/job/erased_keys.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/store/block_pool.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/store/cut_chain.hpp>
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

/// A contribution after reading: all floats are float32. `tables` has views of the rows, which lie in `block` after the
/// dense block.
struct ReadContribution {
  SharedBuffer block;
  TableGradients tables;
};

class ShardStore;

/// Is told when the state of a `ShardStore` has changed, for exports.
class StoreObserver {
 public:
  virtual ~StoreObserver() = default;
  /// The `count`-th update was applied to `store`. May take the changes of its tables.
  virtual void applied(std::uint64_t count, ShardStore& store) = 0;
  /// The state was replaced by that of `cut`.
  virtual void loaded(const Cut& cut, ShardStore& store) = 0;
};

/// All that one shard keeps of a job: the dense block and the rows of its tables.
///
/// Threads: one at a time. The blocks that it returns may be read on any thread.
class ShardStore {
 public:
  /// Starts with the job's initial values. `table_budget_bytes`: most memory of all tables together. Throws
  /// `ps_errc::budget_exceeded` if the tables with numbered keys need more.
  DISTRIB_DECL ShardStore(const Job& job, std::uint32_t shard, const JobUpdaters& updaters,
                          std::uint64_t table_budget_bytes);

  /// Sets whether the next updates keep the rows as they were before them, for `previous_values`. False also forgets
  /// the rows that are kept. At first no rows are kept.
  void keep_previous(bool keep) {
    if (tables_ != nullptr) tables_->keep_previous(keep);
  }

  /// Returns where the shard's parts lie in the dense block, and its shares of the tables.
  [[nodiscard]] auto layout() const noexcept -> const ShardLayout& { return layout_; }
  /// Returns the current dense block. It never changes: an update publishes another one.
  [[nodiscard]] auto dense() const noexcept -> const SharedBuffer& { return dense_.values(); }
  /// Returns the tables; null if the job has none. Valid as long as this object.
  [[nodiscard]] auto tables() const noexcept -> const TableStore* { return tables_.get(); }
  [[nodiscard]] auto tables() noexcept -> TableStore* { return tables_.get(); }

  /// Tells `observer` of each change from now on; null: nobody. It must outlive this object, or the next call.
  void observe(StoreObserver* observer) noexcept { observer_ = observer; }

  /// Reads a contribution, and decodes it if it does not travel as float32. Returns it with an empty error. A null
  /// `block` is `ps_errc::wrong_size`; other errors as `TableGradients::read`, and if the job checks numerics, as
  /// `check_numerics`. After an error the contribution must not be applied.
  [[nodiscard]] DISTRIB_DECL auto read(SharedBuffer block) -> std::pair<ReadContribution, Error>;

  /// Reads the sum of contributions that a worker has made with `sum_blocks`: the dense block in float32. Only in a job
  /// without tables. Errors: `ps_errc::wrong_size`, and if the job checks numerics, as `check_numerics`.
  [[nodiscard]] DISTRIB_DECL auto read_sum(SharedBuffer block) -> std::pair<ReadContribution, Error>;

  /// Applies the `count`-th update (from 1): by the mean of `contributions`, in their order; to counters each is added.
  /// `contributions` were read with `read`. On failure (`ps_errc::budget_exceeded`, or an error of the operating
  /// system) nothing has changed. `rate_factor`: see `UpdateStep`; 1 in a job with tables. `erased`: keys that go after
  /// this update, as `TableStore::apply` says.
  DISTRIB_DECL void apply(std::uint64_t count, std::span<const ReadContribution> contributions, std::error_code& ec,
                          double rate_factor = 1, std::span<const ErasedKeys> erased = {});

  /// Returns the sum of two contributions, or of two sums, which were read with `read` or `read_sum`, by `sum_blocks`.
  /// Only in a job without tables.
  [[nodiscard]] DISTRIB_DECL auto sum(const ReadContribution& left, const ReadContribution& right) -> ReadContribution;
  /// As `apply` of `number` contributions whose sum is `summed`. Only in a job without tables.
  DISTRIB_DECL void apply_sum(std::uint64_t count, const ReadContribution& summed, std::size_t number,
                              double rate_factor = 1);

  /// Checks that a pull may ask for `rows`. Returns `ps_errc::no_such_row` if the tables do not have one of them on
  /// this shard. An object that was moved from has no tables.
  [[nodiscard]] auto check(const PullRows& rows) const -> std::error_code {
    if (rows.keys.empty()) return {};
    return tables_ == nullptr ? ps_errc::no_such_row : tables_->check(rows.keys);
  }

  /// Returns the current dense block and, after it, what `rows` asks of the tables, in the job's `FloatFormat`. `check`
  /// must have accepted `rows`.
  [[nodiscard]] auto values(const PullRows& rows) -> SharedBuffer {
    if (rows.keys.empty()) return to_send(dense_.values());
    return answer(dense_.values(), rows, [&](std::span<std::byte> to) { tables_->values(rows.keys, to); });
  }

  /// Returns what `values` returned before the last update. `dense` must be the dense block of that time. Rows need
  /// `keep_previous`. Trap: digests are of the current rows.
  [[nodiscard]] auto previous_values(const SharedBuffer& dense, const PullRows& rows) -> SharedBuffer {
    if (rows.keys.empty()) return to_send(dense);
    return answer(dense, rows, [&](std::span<std::byte> to) { tables_->previous_values(rows.keys, to); });
  }

  /// Returns what `values` returns, with the moving averages of the values in place of the values. Every updater of the
  /// job must be `averaged`. Trap: digests are of the values.
  [[nodiscard]] auto averages(const PullRows& rows) -> SharedBuffer {
    const SharedBuffer dense = dense_.averages();
    if (rows.keys.empty()) return wire_block(layout_, dense);
    return answer(dense, rows, [&](std::span<std::byte> to) { tables_->averages(rows.keys, to); });
  }

  /// Begins a cut of the current state. Dense values and slots are in it at once; tables are copied by calls of
  /// `copy_cut`. Updates may go on meanwhile. `whole`: it must be whole, also after `make_links`.
  DISTRIB_DECL void begin_cut(Step step, std::vector<Step> applied = {}, bool whole = false);
  /// The cut of `step` is durable, so others may stand on it.
  void cut_is_durable(Step step) {
    if (chain_) tables_->copy_is_durable(chain_->durable(step));
  }
  /// From now on cuts of tables may be links, as `CutChain` decides. For the arguments see there.
  void make_links(std::function<bool(Step)> is_kept, Step newest) {
    if (tables_ != nullptr) chain_.emplace(std::move(is_kept), newest);
  }
  /// Copies about `most_bytes` more of the tables. True if the cut is complete.
  auto copy_cut(std::size_t most_bytes) -> bool { return tables_ == nullptr || tables_->copy_some(most_bytes); }
  /// Returns the cut. Only after `copy_cut` has returned true.
  [[nodiscard]] auto take_cut() -> SaveCut {
    SaveCut taken{std::exchange(cut_, {})};
    if (tables_ != nullptr) taken.tables = tables_->take_copy();
    return taken;
  }
  /// Ends the cut that was begun; it is not wanted any more.
  void drop_cut() {
    cut_ = {};
    if (tables_ != nullptr) tables_->drop_copy();
  }

  /// Replaces the dense values by `dense`, a block of the layout. Only before the first update.
  void begin(SharedBuffer dense) { dense_.begin(std::move(dense)); }

  /// Replaces the state by that of a cut of the same layout. Throws as `TableStore::load`.
  void load(const Cut& cut) {
    dense_.load(cut);
    if (tables_ != nullptr) tables_->load(cut.tables);
    if (chain_) chain_->loaded(cut.step);
    if (observer_ != nullptr) observer_->loaded(cut, *this);
  }

 private:
  // Returns the values as they travel: one block for all pulls of the same values.
  DISTRIB_DECL auto to_send(const SharedBuffer& dense) -> SharedBuffer;

  // Returns a block with the dense block and, after it, the rows of `tables`, all as float32. `tables` then has views
  // of it.
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
  std::unique_ptr<TableStore> tables_;  // null: the job has no tables
  std::optional<CutChain> chain_;  // empty: all cuts are whole
  StoreObserver* observer_ = nullptr;  // null: nobody wants to know
  BlockPool blocks_;  // blocks of answers, unless an answer is the dense block itself
  Cut cut_;  // the cut that was begun
  SharedBuffer sent_;  // the dense values last sent without rows, encoded,
  SharedBuffer sent_of_;  // and the dense block that `sent_` encodes
  BlockPool decoded_;  // blocks of decoded contributions
  BlockPool sums_;  // blocks of sums of contributions
  std::vector<ByteView> of_blocks_;  // this and `of_tables_` are members only to keep their capacity
  std::vector<const TableGradients*> of_tables_;
};

/// Returns how much memory is left for the tables of a shard when its dense values have theirs, in bytes. Rows of
/// numbered keys exist from the start; other rows are made with their keys and not counted here. If the dense values
/// and the numbered rows need more than `memory_bytes`, sets `error` to `ps_errc::too_large` and returns 0.
[[nodiscard]] DISTRIB_DECL auto table_budget(const Job& job, std::uint32_t shard, const JobUpdaters& updaters,
                                             std::uint64_t memory_bytes, Error& error) -> std::uint64_t;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/impl/shard_store.ipp>
#endif

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/table_info.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/optimizer/updater.hpp>
#include <distrib/ps/job/row_mean.hpp>
#include <distrib/ps/job/table_share.hpp>
#include <distrib/ps/rows/dense_id_table.hpp>
#include <distrib/ps/rows/embedding_table.hpp>
#include <distrib/ps/rows/memory_budget.hpp>
#include <distrib/ps/rows/row_layout.hpp>
#include <distrib/ps/store/detail/merged_gradients.hpp>
#include <distrib/ps/store/detail/previous_rows.hpp>
#include <distrib/ps/store/detail/row_packing.hpp>
#include <distrib/ps/store/table_copy.hpp>
#include <distrib/ps/store/table_cut.hpp>
#include <distrib/ps/store/table_digest.hpp>
#include <distrib/ps/store/table_gradients.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Updates of one unit of a key's last use: its 20 bits last for 67 million updates. Rows are evicted once a unit.
inline constexpr std::uint64_t steps_per_use = 64;

/// The unit of the `count`-th update.
[[nodiscard]] constexpr auto use_of(std::uint64_t count) noexcept -> std::uint32_t {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(count / steps_per_use, KeyUse::max_last_use));
}

/// One shard's share of one table, and how it is trained. An update is `prepare`, `count`, which may fail, and `update`,
/// which does not; until `update` it can be taken back. Movable. Threads: one at a time.
class ShardTable {
 public:
  /// Throws `std::system_error`. The budget must outlive it.
  DISTRIB_DECL ShardTable(TableShare share, AnyUpdater updater, std::uint64_t seed, MemoryBudget& budget);

  [[nodiscard]] auto share() const noexcept -> const TableShare& { return share_; }

  /// Lets go of what it holds, and gives memory back; numbered rows stay as they are, to be written.
  DISTRIB_DECL void clear();

  /// Goes to the initial state.
  void reset() {
    clear();
    if (numbered_) numbered_->for_each([this](std::uint64_t key, float* row) { init(key, row); });
  }

  /// Merges what ranks say of table number `table`, and takes all memory that the update needs beside the table's.
  DISTRIB_DECL void prepare(std::span<const TableGradients* const> of_ranks, std::size_t table, RowMean mean,
                            bool keep);

  /// Finds the rows of all keys, where any 64 bits are a key makes and counts them. Where `ec` is set nothing was. What
  /// they were goes into the copy that is being made: from here on they change.
  DISTRIB_DECL void count(std::uint64_t count, std::error_code& ec);

  /// Takes back `count`.
  void uncount() {
    if (any_) any_->uncount(merged_.keys(), before_);
  }

  /// Updates the rows, and lets go of those that nobody used for long.
  DISTRIB_DECL void update(std::uint64_t count, bool keep);

  /// Writes the weights of keys.
  DISTRIB_DECL void values(std::span<const std::uint64_t> keys, std::span<float> to) const;

  /// The same, as they were before the last update.
  void previous_values(std::span<const std::uint64_t> keys, std::span<float> to) const {
    values(keys, to);
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (const float* const row = previous_.find(keys[i])) std::copy_n(row, layout_.dim, to.data() + i * layout_.dim);
  }

  void forget_previous() noexcept { previous_.clear(); }

  /// Of all rows.
  [[nodiscard]] DISTRIB_DECL auto digest() const -> TableDigest;

  /// Begins a copy of this moment; updates may go on while it is made.
  DISTRIB_DECL void begin_copy();

  /// Copies on, about `most_bytes`, and takes from them what it did. Whether the copy is whole.
  auto copy_some(std::size_t& most_bytes) -> bool {
    while (!is_copied()) {
      if (most_bytes == 0) return false;
      copy_piece(most_bytes);
    }
    return true;
  }

  /// The copy, once it is whole.
  [[nodiscard]] auto take_copy() -> TableCopy {
    TableCopy copy = std::move(*copy_);
    copy_.reset();
    return copy;
  }
  /// What was begun is not wanted any more.
  void drop_copy() noexcept { copy_.reset(); }

  /// After `clear`: goes to the state of a cut. Throws `std::system_error`; what the table holds then is unspecified.
  DISTRIB_DECL void load(const TableCut& cut);

  [[nodiscard]] auto rows() const noexcept -> std::size_t { return any_ ? any_->size() : numbered_->size(); }
  [[nodiscard]] auto keys() const noexcept -> std::size_t { return any_ ? any_->keys() : numbered_->size(); }
  [[nodiscard]] auto bytes() const noexcept -> std::size_t { return any_ ? any_->bytes() : numbered_->bytes(); }

 private:
  struct ToCopy {
    std::uint64_t key;
    KeyUse use;
    const float* row;  // null: it has none
  };

  [[noreturn]] void fail(std::error_code ec) const { throw_error(ec, "table " + share_.info().name); }

  // To the nearest, so that a pull of a key without a row gives what the row will be.
  void init(std::uint64_t key, float* row) const {
    float* const made = packing_.packs() ? one_.data() : row;
    initial_(key, {made, layout_.dim});
    float* to = made + layout_.dim;
    for (const Slot& slot : updater_.slots()) to = std::fill_n(to, layout_.dim, slot.initial);
    if (packing_.packs()) packing_.pack(made, row);
  }
  void initial_weights(std::uint64_t key, std::span<float> weights) const {
    initial_(key, weights);
    packing_.round(weights);
  }

  // Until this is called again.
  [[nodiscard]] auto weights_of(const float* row) const -> const float* {
    if (!packing_.packs()) return row;
    packing_.weights(row, one_.data());
    return one_.data();
  }

  // --- the copy: in the order of the index, or of numbers ---

  [[nodiscard]] auto position_in_copy(std::uint64_t key) const noexcept -> std::uint64_t {
    return any_ ? EmbeddingTable::position_of(key) : key - share_.first();
  }
  [[nodiscard]] auto is_copied() const noexcept -> bool {
    return copy_position_ >= (any_ ? std::uint64_t{1} << 32 : numbered_->size());
  }
  auto is_to_be_copied(std::uint64_t key) const noexcept -> bool { return position_in_copy(key) >= copy_position_; }
  // Whether it is known to be: it has changed since the copy was begun. Of use of that time one cannot tell.
  [[nodiscard]] auto is_in_copy(std::uint64_t key, KeyUse use) const noexcept -> bool {
    return numbered_ ? in_copy_[key - share_.first()] : use.last_use > newest_use_before_copy_;
  }
  // Before it was counted.
  [[nodiscard]] auto had_row(std::size_t i) const noexcept -> bool {
    return numbered_ || before_[i].frequency >= min_count();
  }

  // What is there of a segment, or of a range of numbers, and was not copied yet. Gives how many keys were looked at.
  DISTRIB_DECL auto list_to_copy() -> std::size_t;

  DISTRIB_DECL void copy_piece(std::size_t& most_bytes);

  [[nodiscard]] auto cut_row_bytes() const noexcept -> std::size_t { return layout_.floats() * sizeof(float); }

  [[nodiscard]] auto min_count() const noexcept -> std::uint32_t {
    return std::min(share_.info().min_count, KeyUse::max_frequency);
  }

  /// Rows that are updated by one call: few enough to stay in the first cache with all that they need.
  [[nodiscard]] auto chunk_rows() const noexcept -> std::size_t {
    return std::clamp<std::size_t>((std::size_t{4} << 10) / share_.info().row_bytes(), 4, 256);
  }

  DISTRIB_DECL void update_chunk(std::uint64_t count, std::size_t first, std::size_t size, bool keep);

  /// Whether a cut is one of this table: it may come from a file of another run.
  [[nodiscard]] DISTRIB_DECL auto check(const TableCut& cut) const -> std::error_code;

  TableShare share_;
  AnyUpdater updater_;
  RowInitializer initial_;
  MemoryBudget* budget_;
  RowLayout layout_;
  RowPacking packing_;
  std::optional<EmbeddingTable> any_;  // one of these two
  std::optional<DenseIdTable> numbered_;
  MergedGradients merged_;
  std::vector<float*> rows_;  // of the merged keys; null below min_count
  std::vector<KeyUse> before_;
  PreviousRows previous_;
  std::vector<float*> chunk_;
  std::vector<float> gradients_;
  std::vector<float> unpacked_;  // rows of a chunk, where they are kept otherwise
  mutable std::vector<float> one_;  // a row
  std::optional<TableCopy> copy_;  // that is being made, of keys before this position, and of those that changed since
  std::uint64_t copy_position_ = 0;
  std::uint64_t next_position_ = 0;  // behind these, which are not in it yet
  std::vector<ToCopy> to_copy_;
  std::uint32_t newest_use_ = 0;  // of any key
  std::uint32_t newest_use_before_copy_ = 0;
  std::vector<bool> in_copy_;  // those of numbered keys that have changed since it was begun
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/detail/impl/shard_table.ipp>
#endif

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/table_info.hpp>
#include <distrib/export_log/row_digest.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/optimizer/updater.hpp>
#include <distrib/ps/job/row_mean.hpp>
#include <distrib/ps/job/table_share.hpp>
#include <distrib/ps/rows/dense_id_table.hpp>
#include <distrib/ps/rows/embedding_table.hpp>
#include <distrib/ps/rows/key_index.hpp>
#include <distrib/ps/rows/memory_budget.hpp>
#include <distrib/ps/rows/row_layout.hpp>
#include <distrib/ps/store/detail/merged_gradients.hpp>
#include <distrib/ps/store/detail/previous_rows.hpp>
#include <distrib/ps/store/detail/row_packing.hpp>
#include <distrib/ps/store/exported_rows.hpp>
#include <distrib/ps/store/row_quota.hpp>
#include <distrib/ps/store/table_copy.hpp>
#include <distrib/ps/store/table_cut.hpp>
#include <distrib/ps/store/table_digest.hpp>
#include <distrib/ps/store/table_gradients.hpp>
#include <distrib/sharding/virtual_shard.hpp>

#include <algorithm>
#include <cassert>
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

/// A key's last use is kept in units of this many updates, so its 20 bits are enough for 67 million updates. Rows are
/// evicted once in each unit.
inline constexpr std::uint64_t steps_per_use = 64;

/// Returns the unit that the `count`-th update belongs to; at most `KeyUse::max_last_use`.
[[nodiscard]] constexpr auto use_of(std::uint64_t count) noexcept -> std::uint32_t {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(count / steps_per_use, KeyUse::max_last_use));
}

/// One shard's share of one table, and how it is trained. An update consists of `prepare`; `count`, which may fail; and
/// `update`, which does not. Before `update` it can be taken back by `uncount`. Movable.
///
/// Threads: one at a time.
class ShardTable {
 public:
  /// Starts with the initial state. The budget must outlive it. Throws `std::system_error` with the name of the table:
  /// `ps_errc::budget_exceeded`, or an error of the operating system.
  DISTRIB_DECL ShardTable(TableShare share, AnyUpdater updater, std::uint64_t seed, MemoryBudget& budget);

  [[nodiscard]] auto share() const noexcept -> const TableShare& { return share_; }

  /// Frees all rows and keys. Rows of numbered keys keep their memory and their contents, which the caller must
  /// overwrite.
  DISTRIB_DECL void clear();

  /// Goes to the initial state.
  void reset() {
    clear();
    if (numbered_) numbered_->for_each([this](std::uint64_t key, float* row) { init(key, row); });
    count_changes_from_here();
  }

  /// From now on, also after `load`, marks the rows that change, and keeps a digest. Costs a hash of each row that
  /// changes for the first time, and 8 bytes. `rows_as`: float32 or bfloat16; digests are of rows rounded to that, and so
  /// are the rows that `take_changes` returns.
  void track_changes(FloatFormat rows_as = FloatFormat::float32) {
    changes_.emplace();
    if (rows_as == FloatFormat::bfloat16) changes_->rounded.resize(layout_.dim);
    count_changes_from_here();
  }
  /// Returns the digest of all rows now. Only after `track_changes`. Reads the rows that have changed.
  [[nodiscard]] DISTRIB_DECL auto tracked_digest() -> RowDigest;
  /// Returns all rows, or those that have changed since the last call; from now on, changes are counted from here. Only
  /// after `track_changes`.
  [[nodiscard]] DISTRIB_DECL auto take_changes(bool all) -> ExportedRows;

  /// Merges the gradients of table number `table`, and takes all memory that the update needs besides that of the
  /// table.
  DISTRIB_DECL void prepare(std::span<const TableGradients* const> of_ranks, std::size_t table, RowMean mean,
                            bool keep);

  /// Finds the rows of all keys. Where any 64 bits are a key, also counts the keys and makes their rows. If a copy is
  /// being made, adds the old state of the keys to it: from here on they change. If `ec` is set, nothing has changed.
  DISTRIB_DECL void count(std::uint64_t count, std::error_code& ec);

  /// Takes back the last `count`.
  void uncount() {
    if (any_) any_->uncount(merged_.keys(), before_, new_marks());
  }

  /// Updates the rows. Then evicts the keys that no update has contained for long enough, if it is time for that; and
  /// those beyond the quotas.
  DISTRIB_DECL void update(std::uint64_t count, bool keep);

  /// Removes those of `keys` that the table has, with their rows and counts, as part of the last update, whose
  /// gradients must still be there: `keep` as there. They go as evicted keys do, and a key that comes back begins anew.
  /// Only where any 64 bits are a key.
  DISTRIB_DECL void erase(std::span<const std::uint64_t> keys, bool keep);

  /// Writes the weights of `keys` to `to`, `dim` floats for each key.
  DISTRIB_DECL void values(std::span<const std::uint64_t> keys, std::span<float> to) const;

  /// Writes the weights that `keys` had before the last update to `to`, `dim` floats for each key. That update must
  /// have had `keep`.
  void previous_values(std::span<const std::uint64_t> keys, std::span<float> to) const {
    values(keys, to);
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (const float* const row = previous_.find(keys[i])) std::copy_n(row, layout_.dim, to.data() + i * layout_.dim);
  }

  /// Writes the moving averages of the weights of `keys` to `to`, `dim` floats for each key. The updater must be
  /// `averaged`. A key without a row has its initial weights.
  DISTRIB_DECL void averages(std::span<const std::uint64_t> keys, std::span<float> to) const;

  /// Forgets the rows of before the last update.
  void forget_previous() noexcept { previous_.clear(); }

  /// Returns the digest of all rows.
  [[nodiscard]] DISTRIB_DECL auto digest() const -> TableDigest;

  /// Begins a copy of the current state; updates may go on while it is made. `number`: see `TableStore::begin_copy`.
  DISTRIB_DECL void begin_copy(std::uint64_t number, bool changed);
  /// See `TableStore::copy_is_durable`.
  void copy_is_durable(std::uint64_t number) {
    std::erase_if(since_, [number](const Changed& changed) { return changed.until != 0 && changed.until <= number; });
  }
  /// See `TableStore::copy_bytes`.
  [[nodiscard]] auto copy_bytes() const noexcept -> std::uint64_t {
    return keys() * sizeof(KeySlot) + rows() * cut_row_bytes();
  }
  /// See `TableStore::changed_bytes`.
  [[nodiscard]] DISTRIB_DECL auto changed_bytes() const noexcept -> std::optional<std::uint64_t>;

  /// Copies about `most_bytes` more, and subtracts from `most_bytes` what it has copied. True if the copy is complete.
  auto copy_some(std::size_t& most_bytes) -> bool {
    while (!is_copied()) {
      if (most_bytes == 0) return false;
      copy_piece(most_bytes);
    }
    return true;
  }

  /// Returns the copy. Only after `copy_some` has returned true.
  [[nodiscard]] auto take_copy() -> TableCopy {
    TableCopy copy = std::move(*copy_);
    copy_.reset();
    return copy;
  }
  /// Ends the copy that was begun; it is not wanted any more.
  void drop_copy() noexcept {
    copy_.reset();
    listed_ = {};
  }

  /// Fills a table that was cleared with `clear` from a cut. Throws `std::system_error` with the name of the table; the
  /// contents of the table are unspecified then.
  DISTRIB_DECL void load(const TableCut& cut);

  /// Number of keys that have a row.
  [[nodiscard]] auto rows() const noexcept -> std::size_t { return any_ ? any_->size() : numbered_->size(); }
  /// Number of keys with and without a row.
  [[nodiscard]] auto keys() const noexcept -> std::size_t { return any_ ? any_->keys() : numbered_->size(); }
  /// Memory, as taken from the budget.
  [[nodiscard]] auto bytes() const noexcept -> std::size_t { return any_ ? any_->bytes() : numbered_->bytes(); }

 private:
  // Number of keys of a virtual shard.
  struct SizeOfShard {
    std::uint64_t rows = 0;
    std::uint64_t counted = 0;  // without a row
  };
  struct Quota {
    RowQuota of_shard;
    std::vector<SizeOfShard> sizes = std::vector<SizeOfShard>(num_virtual_shards);
    std::vector<std::uint32_t> to_check;  // virtual shards that may have too many keys

    // Takes note of the virtual shard if it has too many keys.
    void check(std::uint32_t number) {
      const SizeOfShard& size = sizes[number];
      if (size.rows > of_shard.most || size.counted > of_shard.most_counted) to_check.push_back(number);
    }
  };

  // What has changed since the last export.
  struct Changes {
    RowDigest unchanged;  // of the rows that have no mark
    std::vector<std::uint64_t> keys;  // keys that got a mark; a key that went and came back may be there twice
    std::vector<std::uint64_t> gone;  // evicted keys whose rows were there at the last export
    std::vector<RowMark> of_numbered;  // marks of numbered rows
    std::vector<RowMark> of_merged;  // for each merged key the mark that it got by the last `count`
    std::vector<float> rounded;  // room for one row; empty: rows are exported as they are
  };

  // What has changed between two copies.
  struct Changed {
    std::uint64_t until = 0;  // the number of the copy that ends it; 0: it has not ended
    std::vector<std::uint64_t> keys;  // a key may be there more than once, and may have gone since
    std::vector<std::uint64_t> gone;  // evicted keys
    bool too_many = false;  // more than the table has, so they are not listed
  };

  struct ToCopy {
    std::uint64_t key;
    KeyUse use;
    const float* row;  // null: the key has no row
  };

  [[noreturn]] void fail(std::error_code ec) const { throw_error(ec, "table " + share_.info().name); }

  // Writes the initial row of a key. Rounds to the nearest, so that a pull of a key without a row returns what the row
  // will be.
  void init(std::uint64_t key, float* row) const {
    float* const made = packing_.packs() ? one_.data() : row;
    initial_weights(key, {made, layout_.dim});
    float* to = made + layout_.dim;
    for (const Slot& slot : updater_.slots())
      to = slot.begins_as_value ? std::copy_n(made, layout_.dim, to) : std::fill_n(to, layout_.dim, slot.initial);
    if (packing_.packs()) packing_.pack(made, row);
  }
  void initial_weights(std::uint64_t key, std::span<float> weights) const {
    initial_(key, weights);
    packing_.round(weights);
  }

  // Returns the weights of a kept row as floats. Valid until the next call.
  [[nodiscard]] auto weights_of(const float* row) const -> const float* {
    if (!packing_.packs()) return row;
    packing_.weights(row, one_.data());
    return one_.data();
  }

  // Calls write(row, to) for each of `keys` that has a row, and writes the initial weights of the others.
  void write_each(std::span<const std::uint64_t> keys, std::span<float> to, auto write) const {
    const auto write_some = [&](std::size_t first, std::span<const float* const> rows) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        float* const row = to.data() + (first + i) * layout_.dim;
        if (rows[i] != nullptr) write(rows[i], row);
        else initial_weights(keys[first + i], {row, layout_.dim});
      }
    };
    if (any_) return any_->visit(keys, write_some);
    std::error_code ec;
    std::as_const(*numbered_).visit(keys, write_some, ec);
    assert(!ec);
  }

  // --- the copy: in the order of the key index, or of the numbers ---

  [[nodiscard]] auto position_in_copy(std::uint64_t key) const noexcept -> std::uint64_t {
    return any_ ? any_->position_of(key) : key - share_.first();
  }
  [[nodiscard]] auto is_copied() const noexcept -> bool {
    if (copies_changed_) return listed_.empty();
    return copy_position_ >= (any_ ? std::uint64_t{1} << 32 : numbered_->size());
  }
  auto is_to_be_copied(std::uint64_t key) const noexcept -> bool {
    return copies_changed_ || position_in_copy(key) >= copy_position_;
  }
  // True if the copy is known to have the key, because the key has changed since the copy was begun. A key whose last
  // use is in the unit in which the copy was begun may have changed before or after that: false.
  [[nodiscard]] auto is_in_copy(std::uint64_t key, KeyUse use) const noexcept -> bool {
    return numbered_ ? in_copy_[key - share_.first()] : use.last_use > newest_use_before_copy_;
  }
  // True if merged key number i had a row before it was counted.
  [[nodiscard]] auto had_row(std::size_t i) const noexcept -> bool {
    return numbered_ || before_[i].frequency >= min_count();
  }

  // Counts the keys and rows that this update has made, and evicts those beyond the quotas.
  DISTRIB_DECL void count_made();
  DISTRIB_DECL void evict_unused(std::uint64_t count, bool keep);
  DISTRIB_DECL void evict_beyond_quotas(bool keep);

  // --- the export ---

  // The weights of a row as they are exported. Valid until the next call.
  [[nodiscard]] DISTRIB_DECL auto exported(const float* row) noexcept -> std::span<const float>;
  [[nodiscard]] auto digest_of(std::uint64_t key, const float* row) noexcept -> RowDigest {
    return row_digest(key, std::as_bytes(exported(row)));
  }
  // The marks that `count` has set; empty if nobody exports.
  [[nodiscard]] auto new_marks() noexcept -> std::span<RowMark> {
    if (!changes_) return {};
    return std::span{changes_->of_merged}.first(merged_.keys().size());
  }
  DISTRIB_DECL void count_changes_from_here();
  // Lists the merged keys whose rows change now for the first time.
  DISTRIB_DECL void list_changes();
  // Lists each key with a mark once, ascending.
  DISTRIB_DECL void order_changes();
  // Calls f(key, row) for each key of `keys` that has a row, and removes its mark.
  template <class F>
  void take_marked(std::span<const std::uint64_t> keys, F f) {
    const auto pass = [&](std::size_t first, std::span<const float* const> rows) {
      for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i] != nullptr) f(keys[first + i], rows[i]);
    };
    if (any_) return any_->take_marks(keys, pass);
    std::error_code ec;
    std::as_const(*numbered_).visit(keys, pass, ec);
    assert(!ec);
    for (const std::uint64_t key : keys) changes_->of_numbered[key - share_.first()] = RowMark::none;
  }

  // Called for each key before it is evicted.
  void before_evicted(std::uint64_t key, KeyUse use, const float* row, RowMark mark, bool keep) {
    if (changes_ && row != nullptr) {
      if (mark == RowMark::none) changes_->unchanged -= digest_of(key, row);
      if (mark != RowMark::made) changes_->gone.push_back(key);
    }
    if (copy_ && is_to_be_copied(key) && !is_in_copy(key, use)) copy_->add(key, use, row);
    if (!since_.empty() && !since_.back().too_many) since_.back().gone.push_back(key);
    // if this very update has the key, its row of before the update is already kept
    if (keep && row != nullptr && !std::ranges::binary_search(merged_.keys(), key)) previous_.add(key, weights_of(row));
    if (!quota_) return;
    SizeOfShard& size = quota_->sizes[virtual_shard(key)];
    --(row != nullptr ? size.rows : size.counted);
  }

  // Lists the keys of the next segment, or range of numbers, that the copy does not have yet. Returns how many keys it
  // has looked at.
  DISTRIB_DECL auto list_to_copy() -> std::size_t;

  DISTRIB_DECL void copy_piece(std::size_t& most_bytes);
  DISTRIB_DECL void copy_listed(std::size_t& most_bytes);

  // Lists the merged keys that change now, most of them only the first time.
  DISTRIB_DECL void list_changed();
  [[nodiscard]] DISTRIB_DECL auto is_listed(std::size_t i) -> bool;
  // Removes what a list has twice. False if it is still longer than the table.
  [[nodiscard]] DISTRIB_DECL auto shorten(std::vector<std::uint64_t>& keys) const -> bool;

  [[nodiscard]] auto cut_row_bytes() const noexcept -> std::size_t { return layout_.floats() * sizeof(float); }

  [[nodiscard]] auto min_count() const noexcept -> std::uint32_t {
    return std::min(share_.info().min_count, KeyUse::max_frequency);
  }

  /// Number of rows that are updated by one call: few enough to stay in the first cache with all that they need.
  [[nodiscard]] auto chunk_rows() const noexcept -> std::size_t {
    return std::clamp<std::size_t>((std::size_t{4} << 10) / share_.info().row_bytes(), 4, 256);
  }

  DISTRIB_DECL void update_chunk(std::uint64_t count, std::size_t first, std::size_t size, bool keep);

  /// Checks that a cut fits this table: the cut may come from a file of another run.
  [[nodiscard]] DISTRIB_DECL auto check(const TableCut& cut) const -> std::error_code;

  TableShare share_;
  AnyUpdater updater_;
  RowInitializer initial_;
  MemoryBudget* budget_;
  RowLayout layout_;
  RowPacking packing_;
  std::optional<EmbeddingTable> any_;  // one of `any_` and `numbered_` exists
  std::optional<DenseIdTable> numbered_;
  std::optional<Quota> quota_;  // if the table has `max_rows`
  MergedGradients merged_;
  std::vector<float*> rows_;  // rows of the merged keys; null: counted less than `min_count` times
  // uses of the merged keys before they were counted
  std::vector<KeyUse> before_;
  PreviousRows previous_;
  std::vector<float*> chunk_;
  std::vector<float> gradients_;
  std::vector<float> unpacked_;  // rows of a chunk as floats, if the table keeps them packed
  mutable std::vector<float> one_;  // one row as floats
  // the copy that is being made, of keys before `copy_position_` and of keys that have changed since it was begun
  std::optional<TableCopy> copy_;
  std::uint64_t copy_position_ = 0;
  std::uint64_t next_position_ = 0;  // end of the keys in `to_copy_`, which the copy does not have yet
  std::vector<ToCopy> to_copy_;
  std::uint32_t newest_use_ = 0;  // newest last use of any key
  std::uint32_t newest_use_before_copy_ = 0;
  std::vector<bool> in_copy_;  // numbered keys that have changed since the copy was begun
  std::optional<Changes> changes_;  // if the table is exported
  // What has changed since the copies that are not known to be durable, and since the newest one that is; empty: nobody
  // wants to know.
  std::vector<Changed> since_;
  std::uint32_t newest_use_at_copy_ = 0;  // newest last use when the last of `since_` began
  std::vector<bool> listed_numbers_;  // numbered keys in the last of `since_`
  std::vector<std::uint32_t> recent_;  // by hash: position + 1 in the keys of the last of `since_`
  bool copies_changed_ = false;  // the copy that is being made has only keys that were listed,
  std::vector<std::uint64_t> listed_;  // and these are still to be copied
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/detail/impl/shard_table.ipp>
#endif

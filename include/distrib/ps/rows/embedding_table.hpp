// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/rows/key_index.hpp>
#include <distrib/ps/rows/memory_budget.hpp>
#include <distrib/ps/rows/prefetch.hpp>
#include <distrib/ps/rows/row_layout.hpp>
#include <distrib/ps/rows/row_slabs.hpp>
#include <distrib/sharding/virtual_shard.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {
/// Copies the rows of each window into one array.
template <class Row>
struct CopyRows {
  std::span<Row> to;

  void operator()(std::size_t first, std::span<const Row> rows) const noexcept {
    std::copy(rows.begin(), rows.end(), to.begin() + static_cast<std::ptrdiff_t>(first));
  }
};
}  // namespace detail

/// When an `EmbeddingTable` gives a key a row.
struct EmbeddingTableOptions {
  /// A key gets a row when it has been counted this many times; until then it has only a slot of 16 bytes, which counts
  /// it. 0 counts as 1; above `KeyUse::max_frequency` it counts as that number, because a key is counted no further.
  std::uint32_t min_count = 1;
  /// Each time that this many units of time have passed, the counts of keys with a row become half; see `counted_use`.
  /// 0: counts stay.
  std::uint32_t half_life = 0;
  /// True: the index keeps the keys of a virtual shard together, as `evict_beyond` and `evict_unused_of` need it.
  bool by_virtual_shard = false;
};

namespace detail {

/// Number of the half-life that a unit of time belongs to.
[[nodiscard]] constexpr auto half_life_of(std::uint32_t unit, std::uint32_t half_life) noexcept -> std::uint32_t {
  return half_life == 0 ? 0 : unit / half_life;
}

/// Returns the use of a key that is counted once more at `unit`. A count of a key with a row first becomes half for each
/// half-life that has begun since its last use, and is never below `min_count`, because the key keeps its row.
[[nodiscard]] constexpr auto counted_use(KeyUse use, std::uint32_t unit, std::uint32_t half_life,
                                         std::uint32_t min_count) noexcept -> KeyUse {
  std::uint32_t frequency = use.frequency;
  if (half_life != 0 && frequency >= min_count) {
    const std::uint32_t now = half_life_of(unit, half_life);
    const std::uint32_t then = half_life_of(use.last_use, half_life);
    frequency = std::max(frequency >> std::min(12U, now - std::min(now, then)), min_count - 1);
  }
  return {std::min(frequency + 1, KeyUse::max_frequency), unit};
}

/// Where a key stands among the rows of a virtual shard when some of them must go: the first goes first. The first
/// number of a key with a row is that of its count, halved for each half-life since its last use, which does not depend
/// on now: f * 2^e as (e + width of f, f from its first bit on), then the last use. That of a key without a row is its
/// last use. Then the hash of the key, because its bits may mean something.
using PlaceInShard = std::pair<std::uint64_t, std::uint64_t>;

[[nodiscard]] constexpr auto place_in_shard(std::uint64_t key, KeyUse use, bool has_row,
                                            std::uint32_t half_life) noexcept -> PlaceInShard {
  if (!has_row) return {use.last_use, hash_key(key)};
  const std::uint32_t frequency = std::max(use.frequency, 1U);
  const auto width = static_cast<std::uint32_t>(std::bit_width(frequency));
  const std::uint64_t first = std::uint64_t{half_life_of(use.last_use, half_life)} + width;
  return {first << 32 | std::uint64_t{frequency << (12 - width)} << 20 | use.last_use, hash_key(key)};
}

}  // namespace detail

/// Rows of any 64-bit keys: one shard's share of an embedding table.
///
/// All operations work on batches of keys, in windows of 16 and in three passes: while the rows of one window are
/// passed to the caller, the next window is searched and its rows are prefetched, and the slots of the window after
/// that are prefetched. So little time is spent waiting for memory: about twice as fast as key by key. A batch may
/// contain a key more than once, unless a function says otherwise.
///
/// A row keeps its address until it is erased or evicted. Memory of removed rows and keys is used again, but not
/// returned to the budget. The contents and the order of a table are a function of the calls alone: addresses and
/// timing have no influence. Movable.
///
/// Threads: one at a time.
class EmbeddingTable {
 public:
  /// Takes no memory yet. The budget must outlive the table.
  EmbeddingTable(RowLayout layout, MemoryBudget& budget, EmbeddingTableOptions options = {}) noexcept
      : index_{budget, options.by_virtual_shard},
        rows_{layout, budget},
        min_count_{std::clamp(options.min_count, std::uint32_t{1}, KeyUse::max_frequency)},
        half_life_{options.half_life} {}

  [[nodiscard]] auto layout() const noexcept -> const RowLayout& { return rows_.layout(); }

  /// Reads the rows of keys: calls `hand(first, rows)` for each window in turn. `rows`, a `std::span<const float*
  /// const>`, has the rows of keys[first], keys[first + 1] ...; null for a key without a row. Changes nothing.
  template <class Hand>
  void visit(std::span<const std::uint64_t> keys, Hand hand) const {
    in_windows(
        keys, layout().weight_bytes(),
        [&](std::size_t i, KeySlot* begin, float*& row) {
          const KeySlot* const slot = index_.find(keys[i], begin);
          row = slot == nullptr || !slot->has_row() ? nullptr : rows_.at(slot->row());
          return true;
        },
        [&](std::size_t first, std::span<float* const> rows) {
          hand(first, std::span<const float* const>{rows.data(), rows.size()});
        });
  }

  /// Finds the rows of all keys at once, for reading: sets rows[i] to the row of keys[i], or to null if it has none.
  /// `rows` must be at least as long as `keys`.
  void find(std::span<const std::uint64_t> keys, std::span<const float*> rows) const {
    assert(rows.size() >= keys.size());
    visit(keys, detail::CopyRows<const float*>{rows});
  }

  /// Counts one use for each element of `keys` (a key that stands twice is counted twice), with `step` as the time of
  /// use, in units of the owner (at most `KeyUse::max_last_use`). Passes the rows to `hand(first, rows)` for writing,
  /// as `visit` does. When a key's count reaches `min_count` it gets a row: `init(key, row)` must then write all of it,
  /// a `std::span<float>` of `layout().row_bytes()`. Until then its row is null.
  ///
  /// Returns how many keys were served: all, if `ec` is not set.
  ///
  /// Errors: if memory runs out, sets `ec` to `ps_errc::budget_exceeded`, or to an error of the operating system. The
  /// keys before the returned index are counted; that key and those after it are not. Free memory, then call again with
  /// the rest.
  template <class Init, class Hand>
  auto visit_or_make(std::span<const std::uint64_t> keys, std::uint32_t step, Init init, Hand hand, std::error_code& ec)
      -> std::size_t {
    return use_or_make(
        keys, layout().row_bytes(), [this, step](std::size_t, KeyUse use) { return counted(use, step); }, init, hand,
        ec);
  }

  /// Counts and serves all keys as `visit_or_make` does, but passes all rows at once: sets rows[i] to the row of
  /// keys[i], or to null if it has none. `rows` must be at least as long as `keys`.
  template <class Init>
  auto find_or_make(std::span<const std::uint64_t> keys, std::uint32_t step, std::span<float*> rows, Init init,
                    std::error_code& ec) -> std::size_t {
    assert(rows.size() >= keys.size());
    return visit_or_make(keys, step, init, detail::CopyRows<float*>{rows}, ec);
  }
  /// This overload throws the error as `std::system_error` that names the key for which there was no memory. The keys
  /// before it were served.
  template <class Init>
  void find_or_make(std::span<const std::uint64_t> keys, std::uint32_t step, std::span<float*> rows, Init init) {
    std::error_code ec;
    const std::size_t served = find_or_make(keys, step, rows, init, ec);
    if (ec) throw_error(ec, "key " + std::to_string(keys[served]));
  }

  /// Counts and serves all keys as `find_or_make` does, or none: if `ec` is set, no key was counted. No key may stand
  /// twice in `keys`. Sets before[i] to the use that keys[i] had, or to all 0 if the table did not have the key; pass
  /// it to `uncount`. If `ec` is set, `before` is unspecified.
  ///
  /// `marks`: empty, or at least as long as `keys`. Then each row gets a mark, because it will change, and marks[i] is
  /// set to that of keys[i] if it had none before; otherwise, and for a key without a row, to `none`.
  template <class Init>
  void count(std::span<const std::uint64_t> keys, std::uint32_t step, std::span<float*> rows, std::span<KeyUse> before,
             Init init, std::error_code& ec, std::span<RowMark> marks = {}) {
    assert(rows.size() >= keys.size() && before.size() >= keys.size());
    const auto mark = [marks](std::size_t i, KeySlot& slot, bool is_made) {
      if (marks.empty()) return;
      marks[i] = RowMark::none;
      if (!slot.has_row() || slot.mark() != RowMark::none) return;
      slot.set_mark(marks[i] = is_made ? RowMark::made : RowMark::changed);
    };
    // Do not prefetch rows: in a large batch they would leave the cache again before the caller uses them.
    const std::size_t served = use_or_make(
        keys, 0, [this, step, before](std::size_t i, KeyUse use) { return counted(before[i] = use, step); }, init,
        detail::CopyRows<float*>{rows}, ec, mark);
    if (ec) uncount(keys.first(served), before, marks);
  }

  /// Takes back the last `count` with the same arguments: removes the keys and rows that it made, and restores the
  /// uses and marks. The memory that it took stays with the table.
  void uncount(std::span<const std::uint64_t> keys, std::span<const KeyUse> before,
               std::span<const RowMark> marks = {}) {
    in_windows(
        keys, 0,
        [&](std::size_t i, KeySlot* begin, float*& row) {
          row = nullptr;
          KeySlot* const slot = index_.find(keys[i], begin);
          if (!marks.empty() && marks[i] != RowMark::none) slot->set_mark(RowMark::none);
          if (slot->has_row() && before[i].frequency < min_count_) {
            rows_.free(slot->row());
            slot->drop_row();
          }
          if (before[i] == KeyUse{}) index_.erase(slot);
          else slot->set_use(before[i]);
          return true;
        },
        [](std::size_t, std::span<float* const>) {});
  }

  /// Passes the rows of keys to `hand` as `visit` does, and removes their marks.
  template <class Hand>
  void take_marks(std::span<const std::uint64_t> keys, Hand hand) {
    in_windows(
        keys, layout().weight_bytes(),
        [&](std::size_t i, KeySlot* begin, float*& row) {
          KeySlot* const slot = index_.find(keys[i], begin);
          row = nullptr;
          if (slot == nullptr || !slot->has_row()) return true;
          slot->set_mark(RowMark::none);
          row = rows_.at(slot->row());
          return true;
        },
        [&](std::size_t first, std::span<float* const> rows) {
          hand(first, std::span<const float* const>{rows.data(), rows.size()});
        });
  }

  /// Sets uses[i] to the use of keys[i], or to all 0 if the table does not have the key. `uses` must be at least as
  /// long as `keys`.
  void uses(std::span<const std::uint64_t> keys, std::span<KeyUse> uses) const {
    assert(uses.size() >= keys.size());
    in_windows(
        keys, 0,
        [&](std::size_t i, KeySlot* begin, float*& row) {
          row = nullptr;
          const KeySlot* const slot = index_.find(keys[i], begin);
          uses[i] = slot == nullptr ? KeyUse{} : slot->use();
          return true;
        },
        [](std::size_t, std::span<float* const>) {});
  }

  /// Puts keys back with the uses that they had when they were saved; a key that the table has gets the new use. Sets
  /// rows[i] to the row of keys[i], which the caller must write, or to null if its frequency is below `min_count`.
  /// Returns how many keys were served, and fails, as `find_or_make`.
  auto restore(std::span<const std::uint64_t> keys, std::span<const KeyUse> uses, std::span<float*> rows,
               std::error_code& ec) -> std::size_t {
    assert(rows.size() >= keys.size() && uses.size() >= keys.size());
    return use_or_make(
        keys, layout().row_bytes(), [uses](std::size_t i, KeyUse) { return uses[i]; },
        [](std::uint64_t, std::span<float>) {}, detail::CopyRows<float*>{rows}, ec);
  }
  /// This overload throws the error as `std::system_error` that names the key for which there was no memory.
  void restore(std::span<const std::uint64_t> keys, std::span<const KeyUse> uses, std::span<float*> rows) {
    std::error_code ec;
    const std::size_t served = restore(keys, uses, rows, ec);
    if (ec) throw_error(ec, "key " + std::to_string(keys[served]));
  }

  /// Removes keys, with their rows and counts. Returns how many keys were removed.
  auto erase(std::span<const std::uint64_t> keys) -> std::size_t {
    return erase(keys, [](std::uint64_t, KeyUse, const float*) {});
  }
  /// Does the same, but first calls `last(key, use, row, mark)` for each key that the table has, as
  /// `evict_unused_since`.
  template <class Last>
  auto erase(std::span<const std::uint64_t> keys, Last last) -> std::size_t {
    const std::size_t before = index_.size();
    in_windows(
        keys, layout().row_bytes(),
        [&](std::size_t i, KeySlot* begin, float*& row) {
          row = nullptr;
          KeySlot* const slot = index_.find(keys[i], begin);
          if (slot == nullptr) return true;
          tell(last, *slot);
          if (slot->has_row()) rows_.free(slot->row());
          index_.erase(slot);
          return true;
        },
        [](std::size_t, std::span<float* const>) {});
    return before - index_.size();
  }

  /// Removes every key, with or without a row, that was last counted before `step`. Returns how many keys were removed.
  auto evict_unused_since(std::uint32_t step) -> std::size_t {
    return evict_unused_since(step, [](std::uint64_t, KeyUse, const float*) {});
  }
  /// Removes every key that was last counted before `step`, but first calls `last(key, use, row, mark)` for each such
  /// key, or `last(key, use, row)`. `row` is a `const float*`; null for a key without a row.
  template <class Last>
  auto evict_unused_since(std::uint32_t step, Last last) -> std::size_t {
    return evict_if([&](const KeySlot& slot) {
      const bool is_old = slot.use().last_use < step;
      if (is_old) tell(last, slot);
      return is_old;
    });
  }

  /// Does what `evict_unused_since` does, for the keys of one virtual shard. The table must be `by_virtual_shard`.
  template <class Last>
  auto evict_unused_of(std::uint32_t virtual_shard_number, std::uint32_t step, Last last) -> std::size_t {
    return evict_of_if(virtual_shard_number, [&](const KeySlot& slot) {
      const bool is_old = slot.use().last_use < step;
      if (is_old) tell(last, slot);
      return is_old;
    });
  }

  /// Removes keys of a virtual shard until `left` keys with a row are left (`with_row`), or `left` keys without one, in
  /// the order of `detail::place_in_shard`; there must be more. First calls `last` for each such key, as
  /// `evict_unused_since`. The table must be `by_virtual_shard`.
  template <class Last>
  void evict_beyond(std::uint32_t virtual_shard_number, bool with_row, std::size_t left, Last last) {
    const auto place = [this](const KeySlot& slot) {
      return detail::place_in_shard(slot.key(), slot.use(), slot.has_row(), half_life_);
    };
    places_.clear();
    index_.for_each_of(virtual_shard_number, [&](const KeySlot& slot) {
      if (slot.has_row() == with_row) places_.push_back(place(slot));
    });
    assert(places_.size() > left);
    const auto limit = places_.begin() + static_cast<std::ptrdiff_t>(places_.size() - left - 1);
    std::nth_element(places_.begin(), limit, places_.end());
    evict_of_if(virtual_shard_number, [&](const KeySlot& slot) {
      if (slot.has_row() != with_row || place(slot) > *limit) return false;
      tell(last, slot);
      return true;
    });
  }

  /// Removes the `count` keys that have a row and were used least: lowest frequency first, then earliest last use, then
  /// smallest key. If there are fewer, removes all that have a row. Keys without a row stay. Returns how many keys were
  /// removed.
  DISTRIB_DECL auto evict_least_used(std::size_t count) -> std::size_t;

  /// Calls `f(key, use, row)` for each key. `row` is a `const float*`; null for a key without a row.
  template <class F>
  void for_each(F f) const {
    index_.for_each([&](const KeySlot& slot) { f(slot.key(), slot.use(), row_at(slot)); });
  }

  /// Position of a key in the order of `for_each_from`, below 2^32; see `KeyIndex::position_of`.
  [[nodiscard]] auto position_of(std::uint64_t key) const noexcept -> std::uint32_t { return index_.position_of(key); }
  /// Goes through the keys in pieces, as `KeyIndex::for_each_from`, with `f(key, use, row)`. Between two pieces the
  /// table may change.
  template <class F>
  auto for_each_from(std::uint64_t position, F f) const -> std::uint64_t {
    return index_.for_each_from(position, [&](const KeySlot& slot) { f(slot.key(), slot.use(), row_at(slot)); });
  }

  /// Number of keys that have a row.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return rows_.size(); }
  /// Number of keys with and without a row.
  [[nodiscard]] auto keys() const noexcept -> std::size_t { return index_.size(); }
  /// Memory of rows and index, as taken from the budget.
  [[nodiscard]] auto bytes() const noexcept -> std::size_t { return rows_.bytes() + index_.bytes(); }
  /// Memory of the index alone.
  [[nodiscard]] auto index_bytes() const noexcept -> std::size_t { return index_.bytes(); }

 private:
  /// Calls `find(i, begin, row)` for each key, which returns false if it cannot go on; and `hand(first, rows)` for each
  /// window of keys that were found. Prefetches `ahead_bytes` of each row. Returns how many keys were found.
  template <class Find, class Hand>
  [[gnu::noinline]] auto in_windows(std::span<const std::uint64_t> keys, std::size_t ahead_bytes, Find find,
                                    Hand hand) const -> std::size_t {
    constexpr std::size_t window = detail::table_window;
    std::array<KeySlot*, 2 * window> begins;
    std::size_t growths = index_.growths();
    std::array<float*, 2 * window> rows;
    const auto hand_window = [&](std::size_t first, std::size_t end) {
      hand(first, std::span<float* const>{&rows[first % rows.size()], std::min(window, end - first)});
    };
    for (std::size_t begin = 0; begin < keys.size() + 2 * window; begin += window) {
      for (std::size_t i = begin; i < begin + window; ++i) {
        if (i < keys.size()) begins[i % begins.size()] = index_.begin(keys[i]);
        const std::size_t j = i - window;
        if (j >= keys.size()) continue;
        float*& row = rows[j % rows.size()];
        if (!find(j, begins[j % begins.size()], row)) {
          if (begin >= 2 * window) hand_window(begin - 2 * window, keys.size());
          hand_window(begin - window, j);
          return j;
        }
        if (row != nullptr) detail::prefetch_row(row, ahead_bytes);
        if (index_.growths() == growths) continue;
        growths = index_.growths();
        for (std::size_t n = j + 1; n <= i && n < keys.size(); ++n) begins[n % begins.size()] = index_.begin(keys[n]);
      }
      if (begin >= 2 * window) hand_window(begin - 2 * window, keys.size());
    }
    return keys.size();
  }

  /// A use counted once more, at `step`.
  [[nodiscard]] auto counted(KeyUse use, std::uint32_t step) const noexcept -> KeyUse {
    return detail::counted_use(use, step, half_life_, min_count_);
  }

  struct MarksNothing {
    void operator()(std::size_t, KeySlot&, bool) const noexcept {}
  };

  /// For each key: makes a slot if it has none, a row if it is due one, which `init` writes, sets its use to
  /// `use_of(i, before)`, and calls `mark(i, slot, is_made)`. Returns how many keys were served. If `ec` is set, the next
  /// key is unchanged.
  template <class UseOf, class Init, class Hand, class Mark = MarksNothing>
  auto use_or_make(std::span<const std::uint64_t> keys, std::size_t ahead_bytes, UseOf use_of, Init init, Hand hand,
                   std::error_code& ec, Mark mark = {}) -> std::size_t {
    ec.clear();
    return in_windows(
        keys, ahead_bytes,
        [&](std::size_t i, KeySlot* begin, float*& row) {
          KeySlot* slot = index_.find(keys[i], begin);
          if (slot == nullptr) slot = index_.insert(keys[i], ec);
          if (ec) return false;
          const KeyUse use = use_of(i, slot->use());
          const bool had_row = slot->has_row();
          row = row_of(*slot, use.frequency, init, ec);
          if (ec) return false;
          slot->set_use(use);
          mark(i, *slot, !had_row);
          return true;
        },
        hand);
  }

  template <class Last>
  void tell(Last& last, const KeySlot& slot) const {
    if constexpr (std::is_invocable_v<Last&, std::uint64_t, KeyUse, const float*, RowMark>)
      last(slot.key(), slot.use(), row_at(slot), slot.mark());
    else last(slot.key(), slot.use(), row_at(slot));
  }

  [[nodiscard]] auto row_at(const KeySlot& slot) const noexcept -> const float* {
    return slot.has_row() ? rows_.at(slot.row()) : nullptr;
  }

  /// The row of a slot whose key has now been counted `frequency` times; null below `min_count`.
  template <class Init>
  auto row_of(KeySlot& slot, std::uint32_t frequency, Init&& init, std::error_code& ec) -> float* {
    if (slot.has_row()) return rows_.at(slot.row());
    if (frequency < min_count_) return nullptr;
    const std::uint32_t row = rows_.take(ec);
    if (ec) {
      if (slot.use() == KeyUse{}) index_.erase(&slot);  // the slot was made in this call
      return nullptr;
    }
    slot.set_row(row);
    init(slot.key(), std::span<float>{rows_.at(row), layout().row_bytes() / sizeof(float)});
    return rows_.at(row);
  }

  template <class Evicted>
  auto evict_if(Evicted evicted) -> std::size_t {
    return index_.erase_if([&](const KeySlot& slot) {
      if (!evicted(slot)) return false;
      if (slot.has_row()) rows_.free(slot.row());
      return true;
    });
  }

  template <class Evicted>
  auto evict_of_if(std::uint32_t virtual_shard_number, Evicted evicted) -> std::size_t {
    return index_.erase_of_if(virtual_shard_number, [&](const KeySlot& slot) {
      if (!evicted(slot)) return false;
      if (slot.has_row()) rows_.free(slot.row());
      return true;
    });
  }

  KeyIndex index_;
  RowSlabs rows_;
  std::uint32_t min_count_;
  std::uint32_t half_life_;
  std::vector<detail::PlaceInShard> places_;  // of the keys of one virtual shard
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/rows/impl/embedding_table.ipp>
#endif

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/rows/key_index.hpp>
#include <distrib/ps/rows/memory_budget.hpp>
#include <distrib/ps/rows/prefetch.hpp>
#include <distrib/ps/rows/row_layout.hpp>
#include <distrib/ps/rows/row_slabs.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>

namespace distrib {
inline namespace v0 {

namespace detail {
/// Takes the rows of each window into one array.
template <class Row>
struct CopyRows {
  std::span<Row> to;

  void operator()(std::size_t first, std::span<const Row> rows) const noexcept {
    std::copy(rows.begin(), rows.end(), to.begin() + static_cast<std::ptrdiff_t>(first));
  }
};
}  // namespace detail

/// How an `EmbeddingTable` admits keys.
struct EmbeddingTableOptions {
  /// A key gets a row when it was counted so often; below that only its slot counts it, 16 bytes. At most
  /// `KeyUse::max_frequency`: more would never be reached, and is taken as that.
  std::uint32_t min_count = 1;
};

/// Rows of any 64-bit keys: one shard's part of an embedding table.
///
/// There are operations on batches only. They go through their keys in windows of 16, in three passes: slots of one
/// window are asked for from memory while the window before is searched and its rows are asked for, and the rows of the
/// one before that are handed out. So little waits for memory: about twice as fast as key by key.
///
/// A row keeps its address until it is erased or evicted. Memory of rows and keys that are gone is used again, but not
/// given back. A table is a function of the calls that made it: addresses and timing reach nothing. A key may stand in
/// a batch more than once. Movable. Threads: one at a time.
class EmbeddingTable {
 public:
  /// Takes no memory yet. The budget must outlive it.
  EmbeddingTable(RowLayout layout, MemoryBudget& budget, EmbeddingTableOptions options = {}) noexcept
      : index_{budget},
        rows_{layout, budget},
        min_count_{std::clamp(options.min_count, std::uint32_t{1}, KeyUse::max_frequency)} {}

  [[nodiscard]] auto layout() const noexcept -> const RowLayout& { return rows_.layout(); }

  /// Hands out the rows of keys: calls `hand(first, rows)` for each window in turn, where `rows`, a
  /// `std::span<const float* const>`, are those of keys[first], keys[first + 1] ..., null for keys without one. Changes
  /// nothing.
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

  /// The same, all at once: rows[i] is the row of keys[i] or null. As long as `keys`.
  void find(std::span<const std::uint64_t> keys, std::span<const float*> rows) const {
    assert(rows.size() >= keys.size());
    visit(keys, detail::CopyRows<const float*>{rows});
  }

  /// Counts each key once, at `step` of the owner's units (at most `KeyUse::max_last_use`), and hands out their rows to
  /// change. A key that was now counted `min_count` times gets a row, which `init(key, row)` must write: all of its
  /// `layout().row_bytes()`, in a `std::span<float>`. Before that it is null.
  ///
  /// Gives how many keys were served: all of them; or, with `ec` set to `ps_errc::budget_exceeded`, those before the
  /// first one for which there is no memory. Of that one and those behind it nothing is counted: make room and go on
  /// there.
  template <class Init, class Hand>
  auto visit_or_make(std::span<const std::uint64_t> keys, std::uint32_t step, Init init, Hand hand, std::error_code& ec)
      -> std::size_t {
    return use_or_make(
        keys, layout().row_bytes(), [step](std::size_t, KeyUse use) { return counted(use, step); }, init, hand, ec);
  }

  /// The same, all at once: rows[i] is the row of keys[i] or null. As long as `keys`.
  template <class Init>
  auto find_or_make(std::span<const std::uint64_t> keys, std::uint32_t step, std::span<float*> rows, Init init,
                    std::error_code& ec) -> std::size_t {
    assert(rows.size() >= keys.size());
    return visit_or_make(keys, step, init, detail::CopyRows<float*>{rows}, ec);
  }
  /// The same. Throws `std::system_error` where the other sets `ec`; keys before that one were served.
  template <class Init>
  void find_or_make(std::span<const std::uint64_t> keys, std::uint32_t step, std::span<float*> rows, Init init) {
    std::error_code ec;
    const std::size_t served = find_or_make(keys, step, rows, init, ec);
    if (ec) throw_error(ec, "key " + std::to_string(keys[served]));
  }

  /// The same, all at once or not at all, for a batch that has each key once: where `ec` is set nothing was counted.
  /// before[i] becomes the use that keys[i] had, all 0 where there was no such key: `uncount` wants it.
  template <class Init>
  void count(std::span<const std::uint64_t> keys, std::uint32_t step, std::span<float*> rows, std::span<KeyUse> before,
             Init init, std::error_code& ec) {
    assert(rows.size() >= keys.size() && before.size() >= keys.size());
    // Rows are not asked for: of a large batch they would be gone again before anybody uses them.
    const std::size_t served = use_or_make(
        keys, 0, [step, before](std::size_t i, KeyUse use) { return counted(before[i] = use, step); }, init,
        detail::CopyRows<float*>{rows}, ec);
    if (ec) uncount(keys.first(served), before);
  }

  /// Takes back the last `count`: keys and rows that came with it go, uses are again what they were. Memory that it took
  /// stays with the table.
  void uncount(std::span<const std::uint64_t> keys, std::span<const KeyUse> before) {
    in_windows(
        keys, 0,
        [&](std::size_t i, KeySlot* begin, float*& row) {
          row = nullptr;
          KeySlot* const slot = index_.find(keys[i], begin);
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

  /// uses[i] becomes the use of keys[i], all 0 where there is no such key. As long as `keys`.
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

  /// Puts keys back with the use that they had when they were saved. rows[i] is the row of keys[i], for the caller to
  /// write, or null where its frequency is below `min_count`. Keys that the table has get the use that is given. Like
  /// `find_or_make` it gives how many keys were served.
  auto restore(std::span<const std::uint64_t> keys, std::span<const KeyUse> uses, std::span<float*> rows,
               std::error_code& ec) -> std::size_t {
    assert(rows.size() >= keys.size() && uses.size() >= keys.size());
    return use_or_make(
        keys, layout().row_bytes(), [uses](std::size_t i, KeyUse) { return uses[i]; },
        [](std::uint64_t, std::span<float>) {}, detail::CopyRows<float*>{rows}, ec);
  }
  /// The same. Throws `std::system_error` where the other sets `ec`.
  void restore(std::span<const std::uint64_t> keys, std::span<const KeyUse> uses, std::span<float*> rows) {
    std::error_code ec;
    const std::size_t served = restore(keys, uses, rows, ec);
    if (ec) throw_error(ec, "key " + std::to_string(keys[served]));
  }

  /// Forgets keys, their rows and their counts. Gives how many there were.
  auto erase(std::span<const std::uint64_t> keys) -> std::size_t {
    const std::size_t before = index_.size();
    in_windows(
        keys, layout().row_bytes(),
        [&](std::size_t i, KeySlot* begin, float*& row) {
          row = nullptr;
          KeySlot* const slot = index_.find(keys[i], begin);
          if (slot == nullptr) return true;
          if (slot->has_row()) rows_.free(slot->row());
          index_.erase(slot);
          return true;
        },
        [](std::size_t, std::span<float* const>) {});
    return before - index_.size();
  }

  /// Forgets every key, with and without a row, that was last counted before `step`. Gives how many there were.
  auto evict_unused_since(std::uint32_t step) -> std::size_t {
    return evict_unused_since(step, [](std::uint64_t, KeyUse, const float*) {});
  }
  /// The same. Calls `last(key, use, row)` for each before it goes; `row`, a `const float*`, is null for one without.
  template <class Last>
  auto evict_unused_since(std::uint32_t step, Last last) -> std::size_t {
    return evict_if([&](const KeySlot& slot) {
      const bool is_old = slot.use().last_use < step;
      if (is_old) last(slot.key(), slot.use(), row_at(slot));
      return is_old;
    });
  }

  /// Forgets the `count` rows of least frequency; among equals those last counted earliest, then those of the smallest
  /// keys. All, when there are no more. Keys without a row stay. Gives how many there were.
  DISTRIB_DECL auto evict_least_used(std::size_t count) -> std::size_t;

  /// Calls `f(key, use, row)` for each key; `row`, a `const float*`, is null for a key without one.
  template <class F>
  void for_each(F f) const {
    index_.for_each([&](const KeySlot& slot) { f(slot.key(), slot.use(), row_at(slot)); });
  }

  /// Goes through the keys in pieces, between which the table may change: as `KeyIndex`, with `f(key, use, row)`.
  [[nodiscard]] static auto position_of(std::uint64_t key) noexcept -> std::uint32_t {
    return KeyIndex::position_of(key);
  }
  template <class F>
  auto for_each_from(std::uint64_t position, F f) const -> std::uint64_t {
    return index_.for_each_from(position, [&](const KeySlot& slot) { f(slot.key(), slot.use(), row_at(slot)); });
  }

  /// Rows.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return rows_.size(); }
  /// Keys, with and without a row.
  [[nodiscard]] auto keys() const noexcept -> std::size_t { return index_.size(); }
  /// Of rows and index, as taken from the budget.
  [[nodiscard]] auto bytes() const noexcept -> std::size_t { return rows_.bytes() + index_.bytes(); }
  [[nodiscard]] auto index_bytes() const noexcept -> std::size_t { return index_.bytes(); }

 private:
  /// `find(i, begin, row)` for each key, false where it cannot go on; `hand(first, rows)` for each window. Gives how
  /// many keys were found.
  // Not inlined: of a batch of one key known to it, g++ 12 says that windows of 16 are copied over it.
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

  /// Once more, at `step`; the slot knows how far it counts.
  static auto counted(KeyUse use, std::uint32_t step) noexcept -> KeyUse { return {use.frequency + 1, step}; }

  /// Gives keys[i] the use `use_of(i, before)`, a slot if it had none, and a row if it is due one, which `init` writes.
  /// Gives how many keys were served: where `ec` is set, nothing is counted of the next one.
  template <class UseOf, class Init, class Hand>
  auto use_or_make(std::span<const std::uint64_t> keys, std::size_t ahead_bytes, UseOf use_of, Init init, Hand hand,
                   std::error_code& ec) -> std::size_t {
    ec.clear();
    return in_windows(
        keys, ahead_bytes,
        [&](std::size_t i, KeySlot* begin, float*& row) {
          KeySlot* slot = index_.find(keys[i], begin);
          if (slot == nullptr) slot = index_.insert(keys[i], ec);
          if (ec) return false;
          const KeyUse use = use_of(i, slot->use());
          row = row_of(*slot, use.frequency, init, ec);
          if (ec) return false;
          slot->set_use(use);
          return true;
        },
        hand);
  }

  [[nodiscard]] auto row_at(const KeySlot& slot) const noexcept -> const float* {
    return slot.has_row() ? rows_.at(slot.row()) : nullptr;
  }

  /// The row of a slot whose key was counted `frequency` times by now; null below `min_count`.
  template <class Init>
  auto row_of(KeySlot& slot, std::uint32_t frequency, Init&& init, std::error_code& ec) -> float* {
    if (slot.has_row()) return rows_.at(slot.row());
    if (frequency < min_count_) return nullptr;
    const std::uint32_t row = rows_.take(ec);
    if (ec) {
      if (slot.use() == KeyUse{}) index_.erase(&slot);  // it came with this call
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

  KeyIndex index_;
  RowSlabs rows_;
  std::uint32_t min_count_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/rows/impl/embedding_table.ipp>
#endif

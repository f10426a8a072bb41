// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/error.hpp>
#include <distrib/ps/rows/detail/memory_pieces.hpp>
#include <distrib/ps/rows/mapped_memory.hpp>
#include <distrib/ps/rows/memory_budget.hpp>
#include <distrib/ps/rows/prefetch.hpp>
#include <distrib/sharding/virtual_shard.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What a table keeps of a key: how often it was counted, and when last. Compared as (frequency, last use).
struct KeyUse {
  static constexpr std::uint32_t max_frequency = (1U << 12) - 1;
  static constexpr std::uint32_t max_last_use = (1U << 20) - 1;

  std::uint32_t frequency = 0;  ///< At most `max_frequency`; it is counted no further.
  std::uint32_t last_use = 0;  ///< At most `max_last_use`, in units of the table's owner.

  [[nodiscard]] constexpr auto operator<=>(const KeyUse&) const noexcept = default;
};

/// What has happened to a row since the last export of its table.
enum class RowMark : std::uint8_t {
  none,  ///< Nothing, or nobody exports the table.
  changed,  ///< It has changed.
  made,  ///< It did not exist then.
};

/// One slot of a `KeyIndex`: a key, its row and its use. A slot is empty, or has a key without a row, or a key with a
/// row, which may have a mark.
class KeySlot {
 public:
  /// The largest row number.
  static constexpr std::uint32_t max_row = (1U << 30) - 3;

  [[nodiscard]] auto is_empty() const noexcept -> bool { return row_ == 0; }
  [[nodiscard]] auto has_row() const noexcept -> bool { return (row_ & row_bits) > 1; }
  [[nodiscard]] auto key() const noexcept -> std::uint64_t { return key_; }
  /// Number of the row. Only if `has_row()`.
  [[nodiscard]] auto row() const noexcept -> std::uint32_t { return (row_ & row_bits) - 2; }
  /// Mark of the row. Only if `has_row()`.
  [[nodiscard]] auto mark() const noexcept -> RowMark { return static_cast<RowMark>(row_ >> mark_bit); }
  [[nodiscard]] auto use() const noexcept -> KeyUse { return {use_ >> 20, use_ & KeyUse::max_last_use}; }

  /// Gives the key this row, without a mark. At most `max_row`.
  void set_row(std::uint32_t row) noexcept { row_ = row + 2; }
  /// Removes the row; the key stays.
  void drop_row() noexcept { row_ = 1; }
  /// Sets the mark of the row. Only if `has_row()`.
  void set_mark(RowMark mark) noexcept { row_ = (row_ & row_bits) | static_cast<std::uint32_t>(mark) << mark_bit; }
  /// Sets the use; numbers that are too large become the largest that a `KeyUse` may have.
  void set_use(KeyUse use) noexcept {
    use_ = std::min(use.frequency, KeyUse::max_frequency) << 20 | std::min(use.last_use, KeyUse::max_last_use);
  }

 private:
  friend class KeyIndex;

  static constexpr unsigned mark_bit = 30;
  static constexpr std::uint32_t row_bits = (1U << mark_bit) - 1;

  // All zeros are an empty slot, so memory fresh from the operating system is an empty segment; any key is allowed, 0
  // too.
  std::uint64_t key_;
  std::uint32_t row_;  // number of the row + 2, or 1: no row; and above it the mark
  std::uint32_t use_;
};
static_assert(sizeof(KeySlot) == 16);

/// Finds the row of a key: a hash table that never moves more than one segment at a time.
///
/// A directory, addressed by the hash (`hash_key`) from bit 32 on, points to segments, which are addressed by bits 0 to
/// 31 with linear probing. A full segment grows by a half or a third: 1 Ki slots, 1.5 Ki, 2 Ki, 3 Ki ... 16 Ki. After
/// that it is split by the next bit of the hash into two, of about 12 Ki each. A segment is full when 0.64 to 0.86 of
/// its slots are used; this limit differs from segment to segment, so that equally filled segments do not all grow at
/// once. A segment cannot be split if its keys agree in all 22 bits that the directory can use, or if the directory
/// would then have more than 16 entries for each segment: such a segment grows beyond 16 Ki.
///
/// An index `by_virtual_shard` takes the ten bits of the virtual shard (`virtual_shard`) before the other bits of the
/// hash, and splits a full segment at once until all its keys are of one virtual shard. So the keys of a virtual shard
/// are found without those of the others, if the index is large.
///
/// Trap: the hash is public. A client that chooses its keys can make n of them collide, which takes time proportional
/// to n squared. Segments do not shrink. The order of the slots, and all else, is a function of the calls. Movable.
///
/// Threads: one at a time.
class KeyIndex {
 public:
  /// Takes no memory yet. The budget must outlive the index.
  explicit KeyIndex(MemoryBudget& budget, bool by_virtual_shard = false) noexcept
      : budget_{&budget}, turned_by_{by_virtual_shard ? bits_of_virtual_shard : 0}, pieces_{budget} {}

  /// Number of keys, with and without a row.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return size_; }
  /// Memory of slots and directory, as taken from the budget.
  [[nodiscard]] auto bytes() const noexcept -> std::size_t { return pieces_.bytes() + directory_.size(); }
  /// Number of segments.
  [[nodiscard]] auto segments() const noexcept -> std::size_t { return segments_.size(); }
  /// The most slots that one growth has moved so far.
  [[nodiscard]] auto most_moved() const noexcept -> std::size_t { return most_moved_; }

  /// How often slots have moved to other memory so far. When it changes, positions that `begin` returned before are
  /// invalid.
  [[nodiscard]] auto growths() const noexcept -> std::size_t { return growths_; }

  /// Returns where the search for a key begins, and prefetches it. Null while the index has no memory. Invalid when
  /// `growths()` has changed.
  [[nodiscard, gnu::always_inline]] auto begin(std::uint64_t key) const noexcept -> KeySlot* {
    if (segments_.empty()) return nullptr;
    const std::uint64_t hash = hash_key(key);
    const Entry& entry = entry_of(hash);
    KeySlot* const line = entry.slots + home(hash, entry.size);
    detail::prefetch_for_read(line);
    detail::prefetch_for_read(line + line_slots);  // where the search continues if that line is full
    return line;
  }

  /// Returns the slot of a key; null if the index does not have the key. `begin` must be what `begin(key)` returned.
  /// The slot is valid until the next change of the index.
  [[nodiscard]] auto find(std::uint64_t key, KeySlot* begin) const noexcept -> KeySlot* {
    if (begin == nullptr) return nullptr;
    KeySlot* slot = search_line(begin, key);
    if (slot == nullptr) slot = search(key, hash_key(key));  // the line is full of other keys
    return slot->is_empty() ? nullptr : slot;
  }

  /// Inserts a key, which must not be in the index; its slot has no row, and a use of all 0. If there is no memory,
  /// returns null and sets `ec` to `ps_errc::budget_exceeded` or to an error of the operating system.
  [[nodiscard]] auto insert(std::uint64_t key, std::error_code& ec) -> KeySlot* {
    ec.clear();
    const std::uint64_t hash = hash_key(key);
    if (segments_.empty()) start(ec);
    while (!ec) {
      const std::uint32_t number = entry_of(hash).segment;
      Segment& segment = segments_[number];
      if (segment.used == segment.limit) {
        grow(number, ec);
        continue;
      }
      KeySlot* const slot = search(key, hash);
      *slot = KeySlot{};
      slot->key_ = key;
      slot->row_ = 1;
      ++segment.used;
      ++size_;
      return slot;
    }
    return nullptr;
  }

  /// Removes the key of a slot. Other slots may move to fill the gap.
  void erase(KeySlot* slot) noexcept {
    const Entry& entry = entry_of(hash_key(slot->key_));
    fill_gap(entry.slots, entry.size, static_cast<std::uint32_t>(slot - entry.slots));
    --segments_[entry.segment].used;
    --size_;
  }

  /// Calls `f(const KeySlot&)` for each key.
  template <class F>
  void for_each(F f) const {
    for (const Segment& segment : segments_)
      for (std::uint32_t i = 0; i < segment.size; ++i)
        if (!slots_of(segment)[i].is_empty()) f(std::as_const(slots_of(segment)[i]));
  }

  /// Position of a key in the order of `for_each_from`, below 2^32. It is a function of the key's hash alone, so growth
  /// does not change it.
  [[nodiscard]] auto position_of(std::uint64_t key) const noexcept -> std::uint32_t {
    return reversed(directory_bits(hash_key(key)));
  }

  /// Calls `f(const KeySlot&)` for each key of the segment that begins at `position`: 0, or what the last call
  /// returned. Returns the position after that segment; 2^32 after the last one. Between two calls the index may
  /// change.
  template <class F>
  auto for_each_from(std::uint64_t position, F f) const -> std::uint64_t {
    if (segments_.empty()) return std::uint64_t{1} << 32;
    const Segment& segment =
        segments_[entries()[reversed(static_cast<std::uint32_t>(position)) & directory_mask_].segment];
    for (const KeySlot& slot : std::span{slots_of(segment), segment.size})
      if (!slot.is_empty()) f(std::as_const(slot));
    return position + (std::uint64_t{1} << (32 - segment.depth));
  }

  /// Calls `f(const KeySlot&)` once for each key, and removes the key if it returns true. Returns how many keys were
  /// removed.
  template <class F>
  auto erase_if(F f) -> std::size_t {
    const std::size_t before = size_;
    for (Segment& segment : segments_) erase_in(segment, f);
    return before - size_;
  }

  /// Calls `f(const KeySlot&)` for each key of a virtual shard. The index must be `by_virtual_shard`.
  template <class F>
  void for_each_of(std::uint32_t virtual_shard_number, F f) const {
    for_segments_of(virtual_shard_number, [&](std::uint32_t number) {
      const Segment& segment = segments_[number];
      for (const KeySlot& slot : std::span{slots_of(segment), segment.size})
        if (!slot.is_empty() && is_of(slot, segment, virtual_shard_number)) f(slot);
    });
  }
  /// Does what `erase_if` does, for the keys of a virtual shard alone. The index must be `by_virtual_shard`.
  template <class F>
  auto erase_of_if(std::uint32_t virtual_shard_number, F f) -> std::size_t {
    const std::size_t before = size_;
    for_segments_of(virtual_shard_number, [&](std::uint32_t number) {
      Segment& segment = segments_[number];
      erase_in(segment, [&](const KeySlot& slot) { return is_of(slot, segment, virtual_shard_number) && f(slot); });
    });
    return before - size_;
  }

 private:
  static constexpr std::uint32_t line_slots = 4;
  static constexpr std::uint32_t first_size = 1 << 10;
  static constexpr std::uint32_t split_size = 1 << 14;
  static constexpr std::uint32_t max_size = 1U << 31;
  static constexpr unsigned first_directory_bit = 32;
  static constexpr int bits_of_virtual_shard = 10;
  static_assert(num_virtual_shards == 1U << bits_of_virtual_shard);
  /// Depth from which on a segment has the keys of one virtual shard, if the index is `by_virtual_shard`.
  static constexpr unsigned virtual_shard_depth = bits_of_virtual_shard;

  /// An entry of the directory: all that is needed to find a slot.
  struct Entry {
    KeySlot* slots;
    std::uint32_t size;
    std::uint32_t segment;
  };

  /// Holds the keys whose hash, from the directory's first bit on, has `prefix` in its first `depth` bits.
  struct Segment {
    detail::MemoryPieces::Piece piece;
    std::uint32_t size = 0;
    std::uint32_t used = 0;
    std::uint32_t limit = 0;
    std::uint32_t prefix = 0;
    unsigned depth = 0;
  };

  [[nodiscard]] static auto slots_of(const Segment& segment) noexcept -> KeySlot* {
    return reinterpret_cast<KeySlot*>(segment.piece.data);
  }
  /// The first slot of the cache line where the search for a key begins.
  [[nodiscard]] static auto home(std::uint64_t hash, std::uint32_t size) noexcept -> std::uint32_t {
    return static_cast<std::uint32_t>(((hash & 0xFFFF'FFFF) * (size / line_slots)) >> 32) * line_slots;
  }
  /// Reverses the bits. Keys of one segment agree in the low bits of the directory; reversed, segments are ranges.
  [[nodiscard]] static constexpr auto reversed(std::uint32_t bits) noexcept -> std::uint32_t {
    for (std::uint32_t half = 16, mask = 0xFFFF; half != 0; half /= 2, mask ^= mask << half)
      bits = (bits >> half & mask) | (bits & mask) << half;
    return bits;
  }
  [[nodiscard]] static auto next(std::uint32_t i, std::uint32_t size) noexcept -> std::uint32_t {
    return i + 1 == size ? 0 : i + 1;
  }
  /// Number of slots of the next larger segment: powers of two, and the numbers half-way between them.
  [[nodiscard]] static auto larger(std::uint32_t size) noexcept -> std::uint32_t {
    return std::has_single_bit(size) ? size + size / 2 : size / 3 * 4;
  }
  /// Most keys of a segment of this size before it grows: 41/64 to 55/64 of its slots, spread evenly over the segments.
  [[nodiscard]] static auto limit_of(std::uint32_t size, std::uint32_t prefix) noexcept -> std::uint32_t {
    const std::uint64_t share = reversed(prefix);  // as a fraction of 2^32; the two halves of a split differ least
    return size / 64 * 55 - static_cast<std::uint32_t>(size / 64 * 14 * share >> 32);
  }

  [[nodiscard]] auto entries() const noexcept -> Entry* { return reinterpret_cast<Entry*>(directory_.data()); }
  /// Returns the bits of a hash that the directory uses, the first one as bit 0. The ten bits of the virtual shard are
  /// the last ones, or the first ones if the index is `by_virtual_shard`.
  [[nodiscard]] auto directory_bits(std::uint64_t hash) const noexcept -> std::uint32_t {
    return std::rotl(static_cast<std::uint32_t>(hash >> first_directory_bit), turned_by_);
  }
  /// The most bits that the directory uses. All keys of a shard may share the bits of the virtual shard, so if these are
  /// the last ones they are not used.
  [[nodiscard]] auto max_depth() const noexcept -> unsigned {
    return static_cast<unsigned>(32 - bits_of_virtual_shard + turned_by_);
  }
  [[nodiscard]] auto entry_of(std::uint64_t hash) const noexcept -> const Entry& {
    return entries()[directory_bits(hash) & directory_mask_];
  }

  /// Calls `f(number)` for each segment that may have keys of a virtual shard.
  template <class F>
  void for_segments_of(std::uint32_t virtual_shard_number, F f) const {
    if (segments_.empty()) return;
    for (std::size_t i = virtual_shard_number & directory_mask_; i <= directory_mask_; i += num_virtual_shards) {
      const std::uint32_t number = entries()[i].segment;
      const Segment& segment = segments_[number];
      if (segment.depth <= virtual_shard_depth) return f(number);  // the only one
      if (segment.prefix == i) f(number);
    }
  }
  /// True if the key of a slot of this segment, which `for_segments_of` has found, is of the virtual shard.
  static auto is_of(const KeySlot& slot, const Segment& segment, std::uint32_t virtual_shard_number) noexcept -> bool {
    return segment.depth >= virtual_shard_depth || virtual_shard(slot.key_) == virtual_shard_number;
  }

  template <class F>
  void erase_in(Segment& segment, F&& f) {
    KeySlot* const slots = slots_of(segment);
    std::uint32_t begin = 0;  // after an empty slot, so that no slot moves from the part already seen to the rest
    while (!slots[begin].is_empty()) ++begin;
    for (std::uint32_t n = 0, i = begin; n < segment.size; ++n, i = next(i, segment.size)) {
      while (!slots[i].is_empty() && f(std::as_const(slots[i]))) {
        fill_gap(slots, segment.size, i);
        --segment.used;
        --size_;
      }
    }
  }

  /// Searches one cache line. Returns the slot of the key, or the empty slot where it belongs; null if the line has
  /// neither.
  [[nodiscard]] static auto search_line(KeySlot* line, std::uint64_t key) noexcept -> KeySlot* {
    // In a line the used slots come first, so the first slot that has the key or is empty ends the search. Which slot
    // that is cannot be predicted: look at all four, without a branch.
    const auto ends_at = [=](unsigned n) {
      return static_cast<unsigned>((line[n].key_ == key) | (line[n].row_ == 0)) << n;
    };
    const unsigned ends = ends_at(0) | ends_at(1) | ends_at(2) | ends_at(3);
    return ends == 0 ? nullptr : line + std::countr_zero(ends);
  }

  /// Returns the slot of the key, or the empty slot where it belongs. There is always one: no segment is ever full to
  /// its last slot.
  [[nodiscard]] static auto search(KeySlot* slots, std::uint32_t size, std::uint64_t key, std::uint64_t hash) noexcept
      -> KeySlot* {
    for (std::uint32_t i = home(hash, size);; i = i + line_slots == size ? 0 : i + line_slots)
      if (KeySlot* const slot = search_line(slots + i, key)) return slot;
  }
  [[nodiscard]] auto search(std::uint64_t key, std::uint64_t hash) const noexcept -> KeySlot* {
    const Entry& entry = entry_of(hash);
    return search(entry.slots, entry.size, key, hash);
  }

  static void fill_gap(KeySlot* slots, std::uint32_t size, std::uint32_t gap) noexcept {
    const auto distance = [size](std::uint32_t from, std::uint32_t to) {
      return to >= from ? to - from : to + size - from;
    };
    for (std::uint32_t i = next(gap, size); !slots[i].is_empty(); i = next(i, size)) {
      if (distance(home(hash_key(slots[i].key_), size), i) < distance(gap, i)) continue;
      slots[gap] = slots[i];
      gap = i;
    }
    slots[gap] = KeySlot{};
  }

  [[nodiscard]] auto make_segment(std::uint32_t size, std::uint32_t prefix, unsigned depth, std::error_code& ec)
      -> Segment {
    return {pieces_.take(size * sizeof(KeySlot), ec), size, 0, limit_of(size, prefix), prefix, depth};
  }

  void start(std::error_code& ec) {
    ++growths_;  // what `begin` returned before there was a segment is invalid
    Segment first = make_segment(first_size, 0, 0, ec);
    if (ec) return;
    if (directory_.size() == 0) directory_ = {detail::page_bytes, detail::Pages::small, *budget_, ec};
    if (!ec) add(first, ec);
    if (ec) pieces_.give_back(first.piece);
  }

  /// Appends a segment, and points the directory to it.
  void add(const Segment& segment, std::error_code& ec) {
    try {
      segments_.push_back(segment);
    } catch (const std::bad_alloc&) {
      ec = ps_errc::budget_exceeded;
      return;
    }
    point_to(static_cast<std::uint32_t>(segments_.size() - 1));
  }

  void replace(std::uint32_t number, const Segment& segment) noexcept {
    pieces_.give_back(segments_[number].piece);
    segments_[number] = segment;
    point_to(number);
  }

  void point_to(std::uint32_t number) noexcept {
    const Segment& segment = segments_[number];
    for (std::size_t i = segment.prefix; i <= directory_mask_; i += std::size_t{1} << segment.depth)
      entries()[i] = {slots_of(segment), segment.size, number};
  }

  /// Calls `f` for the keys of a segment, in turn from its four quarters: neighbouring keys go to neighbouring slots,
  /// and the second would have to wait for the first.
  template <class F>
  static void for_each_in_turns(const Segment& segment, F f) {
    const std::uint32_t quarter = segment.size / 4;
    for (std::uint32_t i = 0; i < quarter; ++i)
      for (const KeySlot* slot = slots_of(segment) + i; slot < slots_of(segment) + segment.size; slot += quarter)
        if (!slot->is_empty()) f(*slot);
  }

  /// Puts a slot of another segment into this one, which does not have its key and is not full.
  static void put(Segment& to, const KeySlot& slot, std::uint64_t hash) noexcept {
    *search(slots_of(to), to.size, slot.key_, hash) = slot;
    ++to.used;
  }

  void grow(std::uint32_t number, std::error_code& ec) {
    ++growths_;
    most_moved_ = std::max<std::size_t>(most_moved_, segments_[number].used);
    const bool is_mixed = turned_by_ != 0 && segments_[number].depth < virtual_shard_depth;
    if ((is_mixed || segments_[number].size >= split_size) && make_splittable(number, ec)) return split(number, ec);
    const Segment& old = segments_[number];
    if (!ec && old.size > max_size / 2) ec = ps_errc::budget_exceeded;
    if (ec) return;
    Segment grown = make_segment(larger(old.size), old.prefix, old.depth, ec);
    if (ec) return;
    for_each_in_turns(old, [&](const KeySlot& slot) { put(grown, slot, hash_key(slot.key_)); });
    replace(number, grown);
  }

  /// True if the directory has a bit that divides the segment in two; doubles the directory if it must and may.
  [[nodiscard]] auto make_splittable(std::uint32_t number, std::error_code& ec) -> bool {
    const std::size_t size = directory_mask_ + 1;
    if (std::size_t{1} << segments_[number].depth < size) return true;
    if (segments_[number].depth == max_depth() || size > 8 * segments_.size()) return false;
    if (2 * size * sizeof(Entry) > directory_.size()) {
      detail::MappedMemory doubled{2 * size * sizeof(Entry), detail::Pages::filled, *budget_, ec};
      if (ec) return false;
      std::copy_n(entries(), size, reinterpret_cast<Entry*>(doubled.data()));
      directory_ = std::move(doubled);
    }
    std::copy_n(entries(), size, entries() + size);
    directory_mask_ = 2 * size - 1;
    return true;
  }

  void split(std::uint32_t number, std::error_code& ec) {
    const Segment& old = segments_[number];
    const unsigned bit = old.depth;
    std::array<std::uint32_t, 2> counts{};
    for_each_in_turns(old, [&](const KeySlot& slot) { ++counts[directory_bits(hash_key(slot.key_)) >> bit & 1]; });
    std::array<Segment, 2> halves;
    for (std::uint32_t half = 0; half < 2 && !ec; ++half) {
      const std::uint32_t prefix = old.prefix | half << old.depth;
      std::uint32_t size = first_size;
      while (limit_of(size, prefix) < counts[half] + counts[half] / 4) size = larger(size);
      halves[half] = make_segment(size, prefix, old.depth + 1, ec);
    }
    if (!ec) {
      for_each_in_turns(old, [&](const KeySlot& slot) {
        const std::uint64_t hash = hash_key(slot.key_);
        put(halves[directory_bits(hash) >> bit & 1], slot, hash);
      });
      add(halves[1], ec);
    }
    if (!ec) return replace(number, halves[0]);
    for (const Segment& half : halves)
      if (half.piece.data != nullptr) pieces_.give_back(half.piece);
  }

  MemoryBudget* budget_;
  int turned_by_;  // by how many bits `directory_bits` are turned
  detail::MemoryPieces pieces_;  // memory of the segments
  detail::MappedMemory directory_;
  std::size_t directory_mask_ = 0;
  std::vector<Segment> segments_;
  std::size_t size_ = 0;
  std::size_t growths_ = 0;
  std::size_t most_moved_ = 0;
};

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/table_info.hpp>
#include <distrib/export_log/log_objects.hpp>
#include <distrib/export_log/log_part.hpp>
#include <distrib/export_log/row_digest.hpp>
#include <distrib/sharding/virtual_shard.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Rows of floats at addresses that do not change, numbered from 1. Freed rows are used again. Memory that was never
/// used costs nothing.
///
/// Threads: one allocates and frees; any may read rows whose numbers were published to it.
class ReplicaRows {
 public:
  static constexpr std::size_t first_chunk = 1024;  // rows; each further chunk has twice as many

  explicit ReplicaRows(std::uint32_t dim) noexcept : dim_{dim} {}
  ReplicaRows(const ReplicaRows&) = delete;
  auto operator=(const ReplicaRows&) -> ReplicaRows& = delete;
  DISTRIB_DECL ~ReplicaRows();

  /// Returns the number of a row with any contents. Throws `std::bad_alloc`.
  [[nodiscard]] DISTRIB_DECL auto allocate() -> std::uint32_t;
  void free(std::uint32_t row) { free_.push_back(row); }

  [[nodiscard]] auto at(std::uint32_t row) const noexcept -> float* {
    const std::uint64_t index = row - 1U;
    const auto chunk = static_cast<unsigned>(std::bit_width(index / first_chunk + 1)) - 1;
    const std::uint64_t before = first_chunk * ((std::uint64_t{1} << chunk) - 1);
    return chunks_[chunk].load(std::memory_order_acquire) + (index - before) * dim_;
  }

  /// Bytes of rows that were ever used, and of the list of free ones.
  [[nodiscard]] auto memory_bytes() const noexcept -> std::size_t {
    return std::size_t{used_} * dim_ * sizeof(float) + free_.capacity() * sizeof(std::uint32_t);
  }
  /// True if `allocate` does not need more memory.
  [[nodiscard]] auto has_free() const noexcept -> bool { return !free_.empty(); }

 private:
  std::uint32_t dim_;
  std::uint32_t used_ = 0;
  std::array<std::atomic<float*>, 23> chunks_{};
  std::vector<std::uint32_t> free_;
};

}  // namespace detail

/// A table of a replica: the version that is served, and the next one while it is made. Lookups take no lock and are
/// never repeated: a slot has the number of the row of each version.
///
/// Threads: any may look rows up, in a version that is pinned (`detail::VersionPins`); one at a time changes the next
/// version.
class ReplicaTable {
 public:
  /// An empty table. `version` is served.
  DISTRIB_DECL ReplicaTable(const LogTable& settings, std::uint64_t version);
  ReplicaTable(const ReplicaTable&) = delete;
  auto operator=(const ReplicaTable&) -> ReplicaTable& = delete;
  DISTRIB_DECL ~ReplicaTable();

  /// Name, dim, initializer and seed; `rows` and `digest` are not kept up to date.
  [[nodiscard]] auto settings() const noexcept -> const LogTable& { return settings_; }

  /// Writes the rows of `keys` to `out`, `dim` floats each. A key without a row has its initial row, as in training.
  DISTRIB_DECL void rows(std::uint64_t version, std::span<const std::uint64_t> keys, float* out) const noexcept;

  /// Begins the next version, with the rows of the served one, or without rows.
  DISTRIB_DECL void begin(bool from_base);
  /// Changes the next version. `row` has `dim` elements. Throws `std::bad_alloc`.
  DISTRIB_DECL void set(std::uint64_t key, std::span<const float> row);
  DISTRIB_DECL void erase(std::uint64_t key);
  /// Removes all rows in ranges of virtual shards, or of numbered rows.
  DISTRIB_DECL void erase(std::span<const LogRange> owned);

  /// The digest and the number of rows of the next version; of the served one if there is no next one.
  [[nodiscard]] auto digest() const noexcept -> const RowDigest& { return digest_; }
  [[nodiscard]] auto row_count() const noexcept -> std::uint64_t { return row_count_; }

  /// The next version is served: its number is `version`, the next one of the other parity.
  void served(std::uint64_t version) noexcept { version_ = version; }
  /// No reader has an older version: what only they needed is used again.
  DISTRIB_DECL void settle();
  /// Drops the next version; `version`, of the same parity, is served. To be followed by `settle`, as after `served`.
  DISTRIB_DECL void abandon(std::uint64_t version);

  /// Bytes in use: rows, index and what the next version needs.
  [[nodiscard]] DISTRIB_DECL auto memory_bytes() const noexcept -> std::size_t;

  /// Calls `visit(key, row)` for each row of the served version, in no particular order. As the writer only.
  template <class Visit>
  void for_each(Visit visit) const {
    for_each_slot([&](const Slot& slot) {
      if (const std::uint32_t row = number(slot, version_); row != none)
        visit(slot.key.load(std::memory_order_relaxed), std::span<const float>{rows_.at(row), settings_.info.dim});
    });
  }

 private:
  static constexpr std::uint32_t none = 0;

  struct Slot {
    std::atomic<std::uint64_t> key{0};  // 0: empty; the key 0 has a slot of its own
    std::atomic<std::uint32_t> row[2] = {0, 0};  // of versions of each parity
  };
  static_assert(sizeof(Slot) == 16);

  // The keys of one virtual shard.
  struct Segment {
    explicit Segment(std::uint32_t capacity_of) : capacity{capacity_of}, slots{new Slot[capacity_of]} {}
    std::uint32_t capacity;
    std::uint32_t used = 0;  // the writer's
    std::unique_ptr<Slot[]> slots;
  };

  static auto home(std::uint64_t hash, std::uint32_t capacity) noexcept -> std::uint32_t {
    return static_cast<std::uint32_t>((hash & 0xFFFF'FFFFU) * capacity >> 32);
  }
  static auto number(const Slot& slot, std::uint64_t version) noexcept -> std::uint32_t {
    return slot.row[version & 1].load(std::memory_order_acquire);
  }
  DISTRIB_DECL static auto find_in(const Segment& segment, std::uint64_t key, std::uint64_t hash) noexcept -> Slot*;
  [[nodiscard]] DISTRIB_DECL auto find(std::uint64_t key) const noexcept -> Slot*;
  DISTRIB_DECL auto find_or_make(std::uint64_t key) -> Slot&;
  // The row that training begins with: rounded, if the table keeps its rows so.
  DISTRIB_DECL void initial_row(std::uint64_t key, std::span<float> row) const noexcept;
  DISTRIB_DECL auto rebuild(std::uint64_t segment) -> Segment&;
  DISTRIB_DECL void set_next(Slot& slot, std::uint32_t row);
  DISTRIB_DECL void erase_next(Slot& slot);
  DISTRIB_DECL void settle(Slot& slot);
  DISTRIB_DECL void abandon(Slot& slot);

  template <class Visit>
  void for_each_slot(Visit visit) const {
    if (number(zero_, 0) != none || number(zero_, 1) != none) visit(zero_);
    for (const auto& one : segments_) {
      const Segment* const segment = one.load(std::memory_order_relaxed);
      for (std::uint32_t i = 0; segment != nullptr && i < segment->capacity; ++i)
        if (segment->slots[i].key.load(std::memory_order_relaxed) != 0) visit(segment->slots[i]);
    }
  }
  template <class Visit>
  void for_each_changed(Visit visit) {
    if (all_changed_) return for_each_slot([&](const Slot& slot) { visit(const_cast<Slot&>(slot)); });
    for (const std::uint64_t key : changed_)
      if (Slot* const slot = find(key)) visit(*slot);
  }
  [[nodiscard]] auto digest_of(std::uint64_t key, std::uint32_t row) const noexcept -> RowDigest {
    return row_digest(key, std::as_bytes(std::span<const float>{rows_.at(row), settings_.info.dim}));
  }

  LogTable settings_;
  RowInitializer initial_;
  detail::ReplicaRows rows_;
  std::array<std::atomic<Segment*>, num_virtual_shards> segments_{};
  Slot zero_;
  std::uint64_t version_;
  RowDigest digest_;
  RowDigest served_digest_;
  std::uint64_t row_count_ = 0;
  std::uint64_t served_count_ = 0;
  std::size_t index_bytes_ = 0;
  std::vector<std::uint64_t> changed_;  // keys whose slots have two different rows
  std::vector<std::unique_ptr<Segment>> retired_;
  bool all_changed_ = false;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/serve/impl/replica_table.ipp>
#endif

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/serve/replica_table.hpp>

#include <distrib/core/float_format.hpp>
#include <distrib/core/half.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto replica_chunk_bytes(std::size_t chunk, std::uint32_t dim) noexcept -> std::size_t {
  return (ReplicaRows::first_chunk << chunk) * dim * sizeof(float);
}

DISTRIB_DECL ReplicaRows::~ReplicaRows() {
  for (std::size_t i = 0; i < chunks_.size(); ++i)
    if (float* const chunk = chunks_[i].load(std::memory_order_relaxed)) ::munmap(chunk, replica_chunk_bytes(i, dim_));
}

DISTRIB_DECL auto ReplicaRows::allocate() -> std::uint32_t {
  if (!free_.empty()) {
    const std::uint32_t row = free_.back();
    free_.pop_back();
    return row;
  }
  const auto chunk = static_cast<unsigned>(std::bit_width(used_ / first_chunk + 1)) - 1;
  if (chunk >= chunks_.size()) throw std::bad_alloc{};
  if (chunks_[chunk].load(std::memory_order_relaxed) == nullptr) {
    const std::size_t bytes = replica_chunk_bytes(chunk, dim_);
    void* const memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc{};
    if (bytes >= (std::size_t{8} << 20)) ::madvise(memory, bytes, MADV_HUGEPAGE);
    chunks_[chunk].store(static_cast<float*>(memory), std::memory_order_release);
  }
  return ++used_;
}

}  // namespace detail

DISTRIB_DECL ReplicaTable::ReplicaTable(const LogTable& settings, std::uint64_t version)
    : settings_{settings}, initial_{settings.info, settings.seed}, rows_{settings.info.dim}, version_{version} {}

DISTRIB_DECL ReplicaTable::~ReplicaTable() {
  for (const auto& segment : segments_) delete segment.load(std::memory_order_relaxed);
}

DISTRIB_DECL auto ReplicaTable::find_in(const Segment& segment, std::uint64_t key, std::uint64_t hash) noexcept
    -> Slot* {
  for (std::uint32_t i = home(hash, segment.capacity);; i = i + 1 == segment.capacity ? 0 : i + 1) {
    const std::uint64_t found = segment.slots[i].key.load(std::memory_order_acquire);
    if (found == key) return &segment.slots[i];
    if (found == 0) return nullptr;
  }
}

DISTRIB_DECL auto ReplicaTable::find(std::uint64_t key) const noexcept -> Slot* {
  if (key == 0) return const_cast<Slot*>(&zero_);
  const std::uint64_t hash = hash_key(key);
  const Segment* const segment = segments_[hash >> 54].load(std::memory_order_acquire);
  return segment == nullptr ? nullptr : find_in(*segment, key, hash);
}

DISTRIB_DECL void ReplicaTable::rows(std::uint64_t version, std::span<const std::uint64_t> keys,
                                     float* out) const noexcept {
  // Segments, slots and rows are asked for some keys ahead, so that many wait for memory at the same time.
  constexpr std::size_t ahead = 16;
  constexpr std::size_t mask = 4 * ahead - 1;
  const Segment* segments[mask + 1];
  std::uint64_t hashes[mask + 1];
  std::uint32_t numbers[mask + 1];
  const std::size_t dim = settings_.info.dim;
  const std::size_t count = keys.size();
  for (std::size_t i = 0; i < count + 2 * ahead; ++i) {
    if (i < count) {
      const std::uint64_t hash = hashes[i & mask] = hash_key(keys[i]);
      const Segment* const segment = segments[i & mask] = segments_[hash >> 54].load(std::memory_order_acquire);
      if (segment != nullptr) {
        // A search reads about three slots, often in two lines of the cache.
        const std::uint32_t first = home(hash, segment->capacity);
        __builtin_prefetch(&segment->slots[first]);
        __builtin_prefetch(&segment->slots[std::min(first + 3, segment->capacity - 1)]);
      }
    }
    if (const std::size_t j = i - ahead; j < count) {
      const Segment* const segment = segments[j & mask];
      const Slot* slot = nullptr;
      if (keys[j] == 0) slot = &zero_;
      else if (segment != nullptr) slot = find_in(*segment, keys[j], hashes[j & mask]);
      const std::uint32_t row = numbers[j & mask] = slot == nullptr ? none : number(*slot, version);
      if (row != none) {
        const auto* const bytes = reinterpret_cast<const char*>(rows_.at(row));
        for (std::size_t at = 0; at < dim * sizeof(float) && at < 256; at += 64) __builtin_prefetch(bytes + at);
      }
    }
    if (const std::size_t k = i - 2 * ahead; k < count) {
      const std::uint32_t row = numbers[k & mask];
      float* const to = out + k * dim;
      if (row == none) initial_row(keys[k], {to, dim});
      else std::memcpy(to, rows_.at(row), dim * sizeof(float));
    }
  }
}

DISTRIB_DECL void ReplicaTable::initial_row(std::uint64_t key, std::span<float> row) const noexcept {
  initial_(key, row);
  if (settings_.info.kept_as != FloatFormat::bfloat16) return;
  for (float& value : row) value = detail::from_bfloat16(detail::to_bfloat16(value));
}

DISTRIB_DECL auto ReplicaTable::rebuild(std::uint64_t number_of_segment) -> Segment& {
  std::atomic<Segment*>& place = segments_[number_of_segment];
  Segment* const old = place.load(std::memory_order_relaxed);
  const auto is_live = [](const Slot& slot) { return number(slot, 0) != none || number(slot, 1) != none; };
  std::uint32_t live = 0;
  for (std::uint32_t i = 0; old != nullptr && i < old->capacity; ++i) live += is_live(old->slots[i]) ? 1U : 0U;
  // Between 0.7 and 0.875 of the slots are used: 18 to 23 bytes a key.
  auto made = std::make_unique<Segment>(live + live * 3 / 7 + 4);
  for (std::uint32_t i = 0; old != nullptr && i < old->capacity; ++i) {
    const Slot& slot = old->slots[i];
    if (!is_live(slot)) continue;
    const std::uint64_t key = slot.key.load(std::memory_order_relaxed);
    std::uint32_t at = home(hash_key(key), made->capacity);
    while (made->slots[at].key.load(std::memory_order_relaxed) != 0) at = at + 1 == made->capacity ? 0 : at + 1;
    made->slots[at].key.store(key, std::memory_order_relaxed);
    for (const unsigned parity : {0U, 1U})
      made->slots[at].row[parity].store(number(slot, parity), std::memory_order_relaxed);
    ++made->used;
  }
  index_bytes_ += std::size_t{made->capacity} * sizeof(Slot);
  retired_.emplace_back();  // room, before anything changes
  place.store(made.get(), std::memory_order_release);
  retired_.back().reset(old);
  return *made.release();
}

DISTRIB_DECL auto ReplicaTable::find_or_make(std::uint64_t key) -> Slot& {
  if (key == 0) return zero_;
  const std::uint64_t hash = hash_key(key);
  Segment* segment = segments_[hash >> 54].load(std::memory_order_relaxed);
  if (segment != nullptr)
    if (Slot* const found = find_in(*segment, key, hash)) return *found;
  if (segment == nullptr || (segment->used + 1) * 8 > segment->capacity * 7) segment = &rebuild(hash >> 54);
  std::uint32_t at = home(hash, segment->capacity);
  while (segment->slots[at].key.load(std::memory_order_relaxed) != 0) at = at + 1 == segment->capacity ? 0 : at + 1;
  ++segment->used;
  // Readers that find the key find no row in their version: nothing changes for them.
  segment->slots[at].key.store(key, std::memory_order_release);
  return segment->slots[at];
}

DISTRIB_DECL void ReplicaTable::begin(bool from_base) {
  changed_.clear();
  all_changed_ = false;
  served_digest_ = digest_;
  served_count_ = row_count_;
  if (!from_base) return;
  all_changed_ = true;
  for_each_slot([&](const Slot& slot) { const_cast<Slot&>(slot).row[(version_ + 1) & 1].store(none); });
  digest_ = {};
  row_count_ = 0;
}

DISTRIB_DECL void ReplicaTable::set_next(Slot& slot, std::uint32_t row) {
  if (!all_changed_ && number(slot, version_ + 1) == number(slot, version_))
    changed_.push_back(slot.key.load(std::memory_order_relaxed));
  slot.row[(version_ + 1) & 1].store(row, std::memory_order_release);
}

DISTRIB_DECL void ReplicaTable::set(std::uint64_t key, std::span<const float> row) {
  const std::size_t bytes = row.size_bytes();
  Slot& slot = find_or_make(key);
  const std::uint32_t served = number(slot, version_);
  const std::uint32_t next = number(slot, version_ + 1);
  const auto has = [&](std::uint32_t one) { return one != none && std::memcmp(rows_.at(one), row.data(), bytes) == 0; };
  if (has(next)) return;
  const RowDigest added = row_digest(key, std::as_bytes(row));
  if (next != none) digest_ -= digest_of(key, next);
  else ++row_count_;
  digest_ += added;
  if (has(served)) {  // as it was: versions share the row
    set_next(slot, served);
    if (next != none && next != served) rows_.free(next);
    return;
  }
  // A row of the next version is not visible yet, so it can be overwritten.
  const std::uint32_t to = next != none && next != served ? next : rows_.allocate();
  std::memcpy(rows_.at(to), row.data(), bytes);
  if (to != next) set_next(slot, to);
}

DISTRIB_DECL void ReplicaTable::erase_next(Slot& slot) {
  const std::uint32_t next = number(slot, version_ + 1);
  if (next == none) return;
  digest_ -= digest_of(slot.key.load(std::memory_order_relaxed), next);
  --row_count_;
  const bool is_shared = next == number(slot, version_);
  set_next(slot, none);
  if (!is_shared) rows_.free(next);
}

DISTRIB_DECL void ReplicaTable::erase(std::uint64_t key) {
  if (Slot* const slot = find(key)) erase_next(*slot);
}

DISTRIB_DECL void ReplicaTable::erase(std::span<const LogRange> owned) {
  const bool any_key = settings_.info.any_key();
  for_each_slot([&](const Slot& slot) {
    if (number(slot, version_ + 1) == none) return;  // all slots, while a base is applied
    const std::uint64_t key = slot.key.load(std::memory_order_relaxed);
    const std::uint64_t place = any_key ? virtual_shard(key) : key;
    const auto after = std::ranges::upper_bound(owned, place, {}, &LogRange::first);
    if (after != owned.begin() && place < std::prev(after)->end) erase_next(const_cast<Slot&>(slot));
  });
}

DISTRIB_DECL void ReplicaTable::settle(Slot& slot) {
  const std::uint32_t now = number(slot, version_);
  const std::uint32_t old = number(slot, version_ + 1);
  if (now == old) return;
  slot.row[(version_ + 1) & 1].store(now, std::memory_order_release);
  if (old != none) rows_.free(old);
}

DISTRIB_DECL void ReplicaTable::settle() {
  for_each_changed([&](Slot& slot) { settle(slot); });
  // What a base needed would otherwise be kept for ever.
  if (changed_.capacity() > 1024 && changed_.capacity() > 4 * changed_.size()) changed_.shrink_to_fit();
  changed_.clear();
  all_changed_ = false;
  for (const auto& segment : retired_)
    if (segment != nullptr) index_bytes_ -= std::size_t{segment->capacity} * sizeof(Slot);
  retired_.clear();
}

DISTRIB_DECL void ReplicaTable::abandon(std::uint64_t version) {
  // The rows of the dropped version are those of the parity that is not served, as after a switch.
  version_ = version;
  digest_ = served_digest_;
  row_count_ = served_count_;
}

DISTRIB_DECL auto ReplicaTable::memory_bytes() const noexcept -> std::size_t {
  return sizeof *this + rows_.memory_bytes() + index_bytes_ + changed_.capacity() * sizeof(std::uint64_t);
}

}  // namespace v0
}  // namespace distrib

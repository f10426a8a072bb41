// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// One range of `radix_sort`, and memory of the same size beside it.
template <class Item> class RadixRange {
 public:
  RadixRange(std::span<Item> items, std::span<Item> other) : items_{items}, other_{other} {}

  /// Sorts the range. The result lies in `items`, or if `moved` in `other`.
  void sort(bool moved) {
    std::uint64_t differing = 0;
    for (const Item& item : items_) differing |= item.first ^ items_.front().first;
    if (differing == 0 || items_.size() <= few) {
      insert_in_order();
      if (moved) std::ranges::copy(items_, other_.begin());
      return;
    }
    const int shift = std::max(0, 56 - std::countl_zero(differing));
    const Ends ends = distribute(shift);
    std::size_t first = 0;
    for (const std::size_t end : ends) {
      RadixRange part{other_.subspan(first, end - first), items_.subspan(first, end - first)};
      if (end != first) part.sort(!moved);
      first = end;
    }
  }

 private:
  static constexpr std::size_t few = 24;
  using Ends = std::array<std::size_t, 256>;

  // Sorts into the other memory by the eight bits from `shift` on; all higher bits are equal. Returns the end of each
  // group.
  auto distribute(int shift) -> Ends {
    const auto digit_of = [shift](const Item& item) { return item.first >> shift & 255U; };
    Ends places{};
    for (const Item& item : items_) ++places[digit_of(item)];
    std::size_t next = 0;
    for (std::size_t& place : places) next += std::exchange(place, next);
    for (const Item& item : items_) other_[places[digit_of(item)]++] = item;
    return places;
  }

  void insert_in_order() {
    for (std::size_t i = 1; i < items_.size(); ++i) {
      const Item item = items_[i];
      std::size_t to = i;
      for (; to > 0 && item.first < items_[to - 1].first; --to) items_[to] = items_[to - 1];
      items_[to] = item;
    }
  }

  std::span<Item> items_;
  std::span<Item> other_;
};

/// Sorts by ascending keys; items with equal keys keep their order. Goes by eight bits at a time, beginning with the
/// highest bit in which keys differ: after one or two passes each group fits into the nearest cache. Needs as much
/// memory again.
template <class Value>
void radix_sort(std::vector<std::pair<std::uint64_t, Value>>& items) {
  std::vector<std::pair<std::uint64_t, Value>> other(items.size());
  RadixRange<std::pair<std::uint64_t, Value>>{items, other}.sort(false);
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

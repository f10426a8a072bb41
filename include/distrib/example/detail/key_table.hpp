// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace distrib {
inline namespace v0 {
namespace detail {

/// One cell of a key table. `tail`: the last eight bytes of the name; a shorter name lies in the upper bytes.
struct KeyCell {
  std::uint64_t tail = 0;
  const char* name = nullptr;  ///< Null: the cell is free.
  std::uint32_t length = 0;
  std::uint32_t index = 0;
};

/// Returns the number of cells for a table of `names` names: a power of two, large enough that most cells are free.
[[nodiscard]] constexpr auto key_cells(std::size_t names) noexcept -> std::size_t {
  return std::bit_ceil(names * 4 + 4);
}

/// Names and their indices. A name is found by its length and its last eight bytes; only names longer than eight bytes
/// are compared further. The caller owns the cells: `count` of them, a power of two. Names must be different, and
/// outlive the table.
class KeyTable {
 public:
  constexpr KeyTable() = default;

  /// Puts `size` names into `cells`. Tries several multipliers, and uses the one with the fewest names outside their
  /// own cell.
  constexpr void fill(const std::string_view* names, std::size_t size, KeyCell* cells, std::size_t count) {
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(count));
    std::uint64_t best = 0;
    std::size_t fewest = SIZE_MAX;
    std::uint64_t factor = 0x9e37'79b9'7f4a'7c15;
    for (int tries = 0; tries < 24 && fewest != 0; ++tries) {
      factor_ = factor;
      const std::size_t misplaced = put(names, size, cells, count);
      if (misplaced < fewest) {
        fewest = misplaced;
        best = factor;
      }
      factor = (factor * 0xd134'2543'de82'ef95 + 0x1234'5678) | 1;
    }
    if (factor_ != best) {
      factor_ = best;
      (void)put(names, size, cells, count);
    }
  }

  /// Returns the cell of the name of `length` bytes at `name`, whose last eight bytes are `tail`; a free cell if it is
  /// not in the table. `cells` must be the ones that `fill` filled.
  [[nodiscard]] auto look(const KeyCell* cells, std::uint64_t tail, std::size_t length,
                          const std::byte* name) const noexcept -> const KeyCell& {
    const std::size_t mask = (std::size_t{1} << (64 - shift_)) - 1;
    for (std::size_t at = hash(tail, length);; at = (at + 1) & mask) {
      const KeyCell& cell = cells[at];
      if (cell.tail == tail && cell.length == length && same_front(cell.name, name, length)) return cell;
      if (cell.name == nullptr) return cell;
    }
  }
  [[nodiscard]] auto look(const KeyCell* cells, std::string_view name) const noexcept -> const KeyCell& {
    const std::byte* const begin = as_bytes(name).data();
    const std::size_t size = name.size();
    if (size >= 8) return look(cells, load_le<std::uint64_t>(begin + size - 8), size, begin);
    if (size < 4) return look(cells, tail_of(name), size, begin);
    const std::uint64_t first = load_le<std::uint32_t>(begin);
    const std::uint64_t last = load_le<std::uint32_t>(begin + size - 4);
    return look(cells, first << (64 - 8 * size) | last << 32, size, begin);
  }

 private:
  /// True if two names of this length have the same bytes before the last eight. Calls no function: see `RowParser`.
  [[nodiscard]] static auto same_front(const char* a, const std::byte* b, std::size_t length) noexcept -> bool {
    std::uint64_t difference = 0;
    for (std::size_t i = 0; i + 8 < length; i += 8) {
      const auto* const word = reinterpret_cast<const std::byte*>(a) + i;
      difference |= load_le<std::uint64_t>(word) ^ load_le<std::uint64_t>(b + i);
    }
    return difference == 0;
  }

  [[nodiscard]] static constexpr auto tail_of(std::string_view name) noexcept -> std::uint64_t {
    std::uint64_t tail = 0;
    const std::size_t from = name.size() < 8 ? 0 : name.size() - 8;
    for (std::size_t i = from; i < name.size(); ++i)
      tail = tail >> 8 | static_cast<std::uint64_t>(static_cast<unsigned char>(name[i])) << 56;
    return tail;
  }

  [[nodiscard]] constexpr auto hash(std::uint64_t tail, std::size_t length) const noexcept -> std::size_t {
    return static_cast<std::size_t>(((tail ^ length) * factor_) >> shift_);
  }

  constexpr auto put(const std::string_view* names, std::size_t size, KeyCell* cells, std::size_t count) const
      -> std::size_t {
    for (std::size_t i = 0; i < count; ++i) cells[i] = {};
    std::size_t misplaced = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint64_t tail = tail_of(names[i]);
      std::size_t at = hash(tail, names[i].size());
      for (; cells[at].name != nullptr; at = (at + 1) & (count - 1)) ++misplaced;
      cells[at] = {tail, names[i].empty() ? "" : names[i].data(), static_cast<std::uint32_t>(names[i].size()),
                   static_cast<std::uint32_t>(i)};
    }
    return misplaced;
  }

  std::uint64_t factor_ = 1;
  unsigned shift_ = 63;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

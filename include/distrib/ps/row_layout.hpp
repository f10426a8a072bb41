// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace distrib::inline v0 {

/// How a row of a table lies in memory: [weights | slot 0 | slot 1 ...], each `dim` floats, in one piece, so that an
/// update touches one place. A value.
struct RowLayout {
  std::uint32_t dim = 1;    ///< Floats of the weights, and of each slot; at least 1.
  std::uint16_t slots = 0;  ///< Of the table's updater.

  /// Of a row.
  [[nodiscard]] constexpr auto floats() const noexcept -> std::size_t {
    return std::size_t{dim} * (std::size_t{slots} + 1);
  }
  [[nodiscard]] constexpr auto row_bytes() const noexcept -> std::size_t { return floats() * sizeof(float); }

  /// From one row to the next. Up to a cache line a power of two, so that no row lies in two lines; beyond it a
  /// multiple of 16.
  [[nodiscard]] constexpr auto stride_bytes() const noexcept -> std::size_t {
    return row_bytes() <= 64 ? std::bit_ceil(row_bytes()) : (row_bytes() + 15) / 16 * 16;
  }

  [[nodiscard]] constexpr auto operator==(const RowLayout&) const noexcept -> bool = default;
};

}  // namespace distrib::inline v0

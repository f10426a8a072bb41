// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/float_codec.hpp>
#include <distrib/core/float_format.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace distrib {
inline namespace v0 {

/// How a row of a table lies in memory: [weights | slot 0 | slot 1 ...], each of `dim` elements, without gaps, so that
/// an update touches one place. Slots are float32. A value.
struct RowLayout {
  std::uint32_t dim = 1;  ///< Elements of the weights, and of each slot. At least 1.
  std::uint16_t slots = 0;  ///< Number of slots of the table's updater.
  FloatFormat weights = FloatFormat::float32;  ///< How the weights are kept.

  /// Number of elements of a row, which is the number of floats when the row is unpacked.
  [[nodiscard]] constexpr auto floats() const noexcept -> std::size_t {
    return std::size_t{dim} * (std::size_t{slots} + 1);
  }
  /// Bytes from the first weight to the first slot; a multiple of 4.
  [[nodiscard]] constexpr auto weight_bytes() const noexcept -> std::size_t {
    return (dim * element_bytes(weights) + sizeof(float) - 1) / sizeof(float) * sizeof(float);
  }
  /// Bytes of a row.
  [[nodiscard]] constexpr auto row_bytes() const noexcept -> std::size_t {
    return weight_bytes() + std::size_t{dim} * slots * sizeof(float);
  }

  /// Bytes from one row to the next. Up to a cache line (64) a power of two, so that no row lies in two lines; above it
  /// a multiple of 16.
  [[nodiscard]] constexpr auto stride_bytes() const noexcept -> std::size_t {
    return row_bytes() <= 64 ? std::bit_ceil(row_bytes()) : (row_bytes() + 15) / 16 * 16;
  }

  [[nodiscard]] constexpr auto operator==(const RowLayout&) const noexcept -> bool = default;
};

}  // namespace v0
}  // namespace distrib

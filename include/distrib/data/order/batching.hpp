// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/data/order/error.hpp>
#include <distrib/data/order/order.hpp>
#include <distrib/data/order/remainder.hpp>

#include <algorithm>
#include <cstdint>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// How a row of elements is cut into batches. A value.
struct Batching {
  static constexpr std::uint64_t most_in_batch = std::uint64_t{1} << 31;

  std::uint64_t size = 0;  ///< Elements of a batch, 1 .. 2^31.
  Remainder remainder = Remainder::drop;

  /// `data_errc::bad_batch_size`, or success.
  [[nodiscard]] auto check() const noexcept -> std::error_code {
    if (size == 0 || size > most_in_batch) return data_errc::bad_batch_size;
    return {};
  }

  /// Batches that `elements` give; `endless` elements: those whose positions 64 bits can count.
  [[nodiscard]] constexpr auto batches(std::uint64_t elements) const noexcept -> std::uint64_t {
    const bool short_one = remainder == Remainder::keep && elements != endless && elements % size != 0;
    return elements / size + (short_one ? 1 : 0);
  }

  /// Position of the first element of batch `number`.
  [[nodiscard]] constexpr auto first(std::uint64_t number) const noexcept -> std::uint64_t { return number * size; }

  /// Elements of batch `number < batches(elements)`.
  [[nodiscard]] constexpr auto count(std::uint64_t number, std::uint64_t elements) const noexcept -> std::uint64_t {
    return std::min(size, elements - first(number));
  }
};

}  // namespace v0
}  // namespace distrib

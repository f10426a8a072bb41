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

/// How a sequence of elements is cut into batches. A value.
struct Batching {
  static constexpr std::uint64_t most_in_batch = std::uint64_t{1} << 31;  ///< Largest allowed `size`.

  std::uint64_t size = 0;  ///< Elements in a batch, 1 .. 2^31.
  Remainder remainder = Remainder::drop;  ///< What to do with the elements at the end that do not fill a batch.

  /// Returns `data_errc::bad_batch_size` if `size` is out of range, otherwise success.
  [[nodiscard]] auto check() const noexcept -> std::error_code {
    if (size == 0 || size > most_in_batch) return data_errc::bad_batch_size;
    return {};
  }

  /// Returns the number of batches in `elements` elements. For `endless` elements: the number of batches whose
  /// positions fit into 64 bits. `size` must not be 0: see `check`.
  [[nodiscard]] constexpr auto batches(std::uint64_t elements) const noexcept -> std::uint64_t {
    const bool short_one = remainder == Remainder::keep && elements != endless && elements % size != 0;
    return elements / size + (short_one ? 1 : 0);
  }

  /// Returns the position of the first element of batch `number`.
  [[nodiscard]] constexpr auto first(std::uint64_t number) const noexcept -> std::uint64_t { return number * size; }

  /// Returns the number of elements in batch `number`, which must be below `batches(elements)`.
  [[nodiscard]] constexpr auto count(std::uint64_t number, std::uint64_t elements) const noexcept -> std::uint64_t {
    return std::min(size, elements - first(number));
  }
};

}  // namespace v0
}  // namespace distrib

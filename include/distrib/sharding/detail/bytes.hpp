// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/dtype.hpp>

#include <cstdint>
#include <limits>

namespace distrib {
inline namespace v0 {
namespace detail {

// Returns the bytes of `elements`, counting `bytes_per_string` for a text; the largest number if there are more bytes.
[[nodiscard]] constexpr auto bytes_of_elements(std::int64_t elements, DType dtype,
                                               std::int64_t bytes_per_string) noexcept -> std::int64_t {
  const std::int64_t element = dtype == DType::string ? bytes_per_string : static_cast<std::int64_t>(size_bytes(dtype));
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  return element != 0 && elements > most / element ? most : elements * element;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

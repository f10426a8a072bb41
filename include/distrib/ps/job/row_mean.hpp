// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// What the gradients of one key of a table are divided by, when those of a step's contributions are added.
enum class RowMean : std::uint8_t {
  of_those_with_key,  ///< By how many contributions had the key, as TensorFlow's sparse accumulators do. The default.
  of_all,  ///< By how many contributions were counted: the mean of dense gradients, which are 0 where a key is missing.
};

/// As a job's text has it.
[[nodiscard]] constexpr auto to_text(RowMean mean) noexcept -> std::string_view {
  return mean == RowMean::of_all ? "of_all" : "of_those_with_key";
}

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// What the sum of the gradients of one key is divided by, when the contributions of a step are added.
enum class RowMean : std::uint8_t {
  /// The number of contributions that have the key, as in TensorFlow's sparse accumulators. The default.
  of_those_with_key,
  of_all,  ///< The number of contributions of the step, as for dense gradients: a missing gradient counts as 0.
};

/// Returns the word for it in a job's description.
[[nodiscard]] constexpr auto to_text(RowMean mean) noexcept -> std::string_view {
  return mean == RowMean::of_all ? "of_all" : "of_those_with_key";
}

}  // namespace v0
}  // namespace distrib

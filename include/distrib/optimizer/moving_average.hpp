// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace distrib {
inline namespace v0 {

/// Averages of variables over the steps, as TensorFlow's ExponentialMovingAverage: average -= (average - value) * (1 -
/// d). d is `decay`; if the number n of updates is given, at most (1 + n) / (10 + n), so that early values soon count.
/// The caller keeps the averages, which begin as the initial values of the variables. A value.
struct MovingAverage {
  float decay = 0.999F;

  /// Updates `averages` with `values`, element by element. `num_updates`: the global step, for a decay that grows up to
  /// `decay`. Programmer error: spans of different length.
  void update(std::span<float> averages, std::span<const float> values,
              std::optional<std::uint64_t> num_updates = {}) const noexcept {
    assert(averages.size() == values.size());
    float used = decay;
    if (num_updates) {
      const auto n = static_cast<float>(*num_updates);
      used = std::min(decay, (1.0F + n) / (10.0F + n));
    }
    const float weight = 1.0F - used;
    for (std::size_t i = 0; i < averages.size(); ++i) averages[i] -= (averages[i] - values[i]) * weight;
  }

  [[nodiscard]] auto operator==(const MovingAverage&) const noexcept -> bool = default;
};

}  // namespace v0
}  // namespace distrib

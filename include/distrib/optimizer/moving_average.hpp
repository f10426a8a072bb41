// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/rounded.hpp>
#include <distrib/core/shortest_text.hpp>
#include <distrib/optimizer/error.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Averages of variables over the steps, as TensorFlow's ExponentialMovingAverage: average -= (average - value) * (1 -
/// d). d is `decay`; if the number n of updates is given, at most (1 + n) / (10 + n), so that early values soon count.
/// The averages begin as the initial values of the variables. (PyTorch's AveragedModel with get_ema_multi_avg_fn begins
/// with the values after the first update.) A value.
///
/// `with_moving_average` makes parameter servers keep averages; alone, `update` works on memory of the caller.
struct MovingAverage {
  float decay = 0.999F;  ///< From 0 to below 1.
  bool warm_up = false;  ///< For `with_moving_average`: n is given, and is the number of the update, from 1.

  /// Updates `averages` with `values`, element by element. `num_updates`: the global step, for a decay that grows up to
  /// `decay`. Each operation is rounded by itself: same bits on every machine. Both spans must have the same length
  /// (programmer error otherwise; asserted).
  void update(std::span<float> averages, std::span<const float> values,
              std::optional<std::uint64_t> num_updates = {}) const noexcept {
    assert(averages.size() == values.size());
    using Four = detail::Rounded<detail::Float4>;
    const Four weight{detail::Float4{} + weight_of(num_updates)};
    std::size_t at = 0;
    for (; averages.size() - at >= 4; at += 4) {
      float* const old = averages.data() + at;
      const float* const value = values.data() + at;
      const Four average{{old[0], old[1], old[2], old[3]}};
      const Four next = average - (average - Four{{value[0], value[1], value[2], value[3]}}) * weight;
      for (std::size_t i = 0; i < 4; ++i) old[i] = next.value[i];
    }
    for (; at < averages.size(); ++at) {
      const Four average{detail::Float4{averages[at]}};
      averages[at] = (average - (average - Four{detail::Float4{values[at]}}) * weight).value[0];
    }
  }

  /// Returns the members as text: "decay=0.999", "decay=0.999 warm_up=true".
  [[nodiscard]] auto describe() const -> std::string {
    return "decay=" + detail::shortest_text(decay) + (warm_up ? " warm_up=true" : "");
  }

  /// Sets `ec` to `optimizer_errc::bad_decay` if `decay` is not from 0 to below 1; otherwise leaves `ec` unchanged.
  void check(std::error_code& ec) const noexcept {
    if (!(decay >= 0.0F && decay < 1.0F)) ec = optimizer_errc::bad_decay;
  }

  [[nodiscard]] auto operator==(const MovingAverage&) const noexcept -> bool = default;

 private:
  // The weight of the new value, 1 - d.
  [[nodiscard]] auto weight_of(std::optional<std::uint64_t> num_updates) const noexcept -> float {
    if (!num_updates) return detail::opaque(1.0F - decay);
    using Real = detail::Rounded<double>;
    const Real n{static_cast<double>(*num_updates)};
    const auto early = static_cast<float>(((Real{1.0} + n) / (Real{10.0} + n)).value);
    return detail::opaque(1.0F - std::min(decay, early));
  }
};

}  // namespace v0
}  // namespace distrib

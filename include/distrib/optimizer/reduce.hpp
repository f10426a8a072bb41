// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/detail/kernels.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <span>

namespace distrib {
inline namespace v0 {

/// Writes to `out` the mean of the contributions of a step, element by element: added in the given order (rank order),
/// then divided by their number, each operation rounded to float. The same contributions give the same bits on every
/// machine. `out` may be the memory of one of the contributions. Programmer errors, which are asserted: no
/// contributions; a contribution that is not as long as `out`.
inline void reduce_mean(std::span<const std::span<const float>> contributions, std::span<float> out) noexcept {
  assert(!contributions.empty());
  assert(std::all_of(contributions.begin(), contributions.end(), [&](auto one) { return one.size() == out.size(); }));
  detail::mean_of({contributions.data(), contributions.size(), out.data(), out.size(), contributions.size()});
}

/// Writes to `out` the sum left + right, element by element. `out` may be the memory of either.
inline void reduce_sum(std::span<const float> left, std::span<const float> right, std::span<float> out) noexcept {
  assert(left.size() == out.size() && right.size() == out.size());
  const std::span<const float> both[] = {left, right};
  detail::mean_of({both, 2, out.data(), out.size(), 1});  // a division by 1 changes no bit
}

/// Writes to `out` the mean of `count` contributions whose sum is `sum`: what `reduce_mean` writes if it adds them to
/// the same sum. `out` may be the memory of `sum`.
inline void mean_of_sum(std::span<const float> sum, std::size_t count, std::span<float> out) noexcept {
  assert(count != 0 && sum.size() == out.size());
  detail::mean_of({&sum, 1, out.data(), out.size(), count});
}

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/detail/kernels.hpp>

#include <algorithm>
#include <cassert>
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
  detail::mean_of({contributions.data(), contributions.size(), out.data(), out.size()});
}

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/detail/rounded.hpp>

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

namespace distrib::inline v0::detail {

/// Four elements of a block. Whatever a kernel computes with them is the same bits under every compiler flag.
using Lanes = Rounded<Float4>;

[[nodiscard, gnu::always_inline]] inline auto every_lane(float value) noexcept -> Lanes {
  return {Float4{value, value, value, value}};
}

/// Elements `at .. at + count` of a block, count <= 4; the other lanes are 0.
[[nodiscard, gnu::always_inline]] inline auto load_lanes(std::span<const float> from, std::size_t at,
                                                         std::size_t count) noexcept -> Lanes {
  Float4 value{};
  std::memcpy(&value, from.data() + at, count * sizeof(float));
  return {value};
}

[[gnu::always_inline]] inline void store_lanes(Lanes lanes, std::span<float> to, std::size_t at,
                                               std::size_t count) noexcept {
  std::memcpy(to.data() + at, &lanes.value, count * sizeof(float));
}

/// Calls `step(at, count)` for each four elements of `size`, and once more for the rest. `count` is a constant but in
/// that last call, so that its loads and stores are one instruction.
template <class Step>
inline void for_each_lanes(std::size_t size, Step step) {
  std::size_t at = 0;
  for (; size - at >= 4; at += 4) step(at, std::integral_constant<std::size_t, 4>{});
  if (at < size) step(at, size - at);
}

}  // namespace distrib::inline v0::detail

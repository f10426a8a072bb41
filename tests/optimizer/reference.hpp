// SPDX-License-Identifier: Apache-2.0
// Float arithmetic computed in double: each operation is rounded once, whatever the flags of the test. (A double has
// more than twice the digits of a float, so rounding twice gives the same as rounding once.)
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace reference {

inline auto plus(float a, float b) -> float { return static_cast<float>(double{a} + double{b}); }
inline auto minus(float a, float b) -> float { return static_cast<float>(double{a} - double{b}); }
inline auto times(float a, float b) -> float { return static_cast<float>(double{a} * double{b}); }
inline auto over(float a, float b) -> float { return static_cast<float>(double{a} / double{b}); }
inline auto root(float a) -> float { return static_cast<float>(std::sqrt(double{a})); }

/// Numbers of both signs and many sizes, the same in each run.
inline auto numbers(std::size_t size, std::uint32_t seed) -> std::vector<float> {
  std::vector<float> made(size);
  for (float& number : made) {
    seed = seed * 1664525U + 1013904223U;
    number = (static_cast<float>(seed >> 8) * 0x1p-23F - 1.0F) * std::ldexp(1.0F, static_cast<int>(seed & 7U) - 4);
  }
  return made;
}

}  // namespace reference

// SPDX-License-Identifier: Apache-2.0
#include <distrib/tensor/detail/fused_multiply_add.hpp>

#include <distrib/core/philox.hpp>

#include "support/catch.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

using distrib::detail::fused_multiply_add;

namespace {

auto same_as_libm(float a, float b, float c) -> bool {
  const float ours = fused_multiply_add(a, b, c), libm = std::fma(a, b, c);
  if (std::isnan(libm)) return std::isnan(ours);
  return std::bit_cast<std::uint32_t>(ours) == std::bit_cast<std::uint32_t>(libm);
}

}  // namespace

TEST_CASE("fused_multiply_add: rounds once, as libm does", "[tensor]") {
  const float e = std::numeric_limits<float>::epsilon();
  CHECK(fused_multiply_add(1 + e, 1 + e, -(1 + 2 * e)) == e * e);
  // The sum in double is halfway between two floats; the exact sum is not.
  CHECK(fused_multiply_add(1 + e, 0x1p-24F, 1) == 1 + e);
  CHECK(fused_multiply_add(1 + e, -0x1p-25F, 1) == 1 - e / 2);

  const float inf = std::numeric_limits<float>::infinity(), most = std::numeric_limits<float>::max();
  const float least = std::numeric_limits<float>::denorm_min();
  const float special[] = {0.0F,    -0.0F,   1.0F,   -1.0F, inf,       -inf,       std::nanf(""),    most,
                           -most,   least,   -least, 1 + e, 0x1p-126F, -0x1p-126F, 0x1.fffffep-127F, 0x1p-75F,
                           0x1p64F, -0x1p63F};
  int wrong = 0;
  for (const float a : special)
    for (const float b : special)
      for (const float c : special) wrong += same_as_libm(a, b, c) ? 0 : 1;
  CHECK(wrong == 0);
}

TEST_CASE("fused_multiply_add: random bits, and sums that nearly cancel", "[tensor]") {
  distrib::Philox random{20161130, 0, 0};
  int wrong = 0;
  for (int i = 0; i < 200'000; ++i) {
    const auto a = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    const auto b = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    const auto c = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    wrong += same_as_libm(a, b, c) ? 0 : 1;
    // An addend that is near the product, or near half of its last place.
    const float product = a * b;
    wrong += same_as_libm(a, b, -product) ? 0 : 1;
    wrong += same_as_libm(a, b, product * 0x1p24F) ? 0 : 1;
    wrong += same_as_libm(a, b, product * -0x1p25F) ? 0 : 1;
    wrong += same_as_libm(a, b, product * 0x1p-24F) ? 0 : 1;
  }
  CHECK(wrong == 0);
}

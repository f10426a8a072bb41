// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/rows/row_layout.hpp>

#include "support/catch.hpp"

using distrib::FloatFormat;
using distrib::RowLayout;

TEST_CASE("RowLayout: no small row crosses a cache line", "[ps]") {
  struct Case {
    RowLayout layout;
    std::size_t row_bytes;
    std::size_t stride_bytes;
  };
  const Case cases[] = {
      {{1, 0}, 4, 4},      {{3, 0}, 12, 16},    {{8, 0}, 32, 32},    {{9, 0}, 36, 64},
      {{8, 1}, 64, 64},    {{16, 0}, 64, 64},   {{17, 0}, 68, 80},   {{16, 1}, 128, 128},
      {{10, 2}, 120, 128}, {{64, 1}, 512, 512}, {{33, 1}, 264, 272}, {{4096, 2}, 49152, 49152},
  };
  for (const Case& c : cases) {
    CHECK(c.layout.floats() * sizeof(float) == c.row_bytes);
    CHECK(c.layout.row_bytes() == c.row_bytes);
    CHECK(c.layout.stride_bytes() == c.stride_bytes);
  }
}

TEST_CASE("RowLayout: weights of 16 bits lie before slots of 32 bits", "[ps]") {
  struct Case {
    RowLayout layout;
    std::size_t weight_bytes;
    std::size_t row_bytes;
    std::size_t stride_bytes;
  };
  constexpr auto half = FloatFormat::bfloat16;
  const Case cases[] = {
      {{1, 0, half}, 4, 4, 4},     {{3, 0, half}, 8, 8, 8},     {{5, 1, half}, 12, 32, 32},
      {{16, 0, half}, 32, 32, 32}, {{16, 1, half}, 32, 96, 96}, {{33, 1, half}, 68, 200, 208},
      {{16, 1}, 64, 128, 128},
  };
  for (const Case& c : cases) {
    CHECK(c.layout.weight_bytes() == c.weight_bytes);
    CHECK(c.layout.row_bytes() == c.row_bytes);
    CHECK(c.layout.stride_bytes() == c.stride_bytes);
  }
  CHECK(RowLayout{16, 1, half}.floats() == 32);
}

TEST_CASE("RowLayout: sizes of the largest layout do not overflow", "[ps]") {
  const RowLayout largest{0xFFFF'FFFF, 0xFFFF};
  CHECK(largest.row_bytes() == (std::size_t{0xFFFF'FFFF} << 18));
  CHECK(largest.stride_bytes() >= largest.row_bytes());
}

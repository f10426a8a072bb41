// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/rows/clip_rows.hpp>

#include <distrib/ps/job/error.hpp>

#include "optimizer/reference.hpp"
#include "support/catch.hpp"

#include <cmath>
#include <limits>

using distrib::clip_rows;
using distrib::clip_rows_gradient;
using distrib::ps_errc;
using Floats = std::vector<float>;

namespace {

auto length(std::span<const float> row) -> double {
  double sum = 0;
  for (const float x : row) sum += double{x} * double{x};
  return std::sqrt(sum);
}

}  // namespace

TEST_CASE("clip_rows: longer rows are scaled, shorter rows keep their bits", "[ps]") {
  Floats rows{3, 4, 0.3F, 0.4F, 0, 0, -30, 40};
  clip_rows(rows, 2, 1.0F);
  CHECK(rows == Floats{3.0F / 5.0F, 4.0F / 5.0F, 0.3F, 0.4F, 0, 0, -30.0F / 50.0F, 40.0F / 50.0F});

  Floats exact{3, 4};
  clip_rows(exact, 2, 5.0F);
  CHECK(exact == Floats{3, 4});
  clip_rows(exact, 1, 2.0F);  // rows of one element
  CHECK(exact == Floats{2, 2});
}

TEST_CASE("clip_rows: rows of any size", "[ps]") {
  for (const std::size_t row_size : {1U, 3U, 4U, 7U, 64U}) {
    const Floats before = reference::numbers(row_size * 5, 11);
    Floats rows = before;
    clip_rows(rows, row_size, 0.5F);
    for (std::size_t i = 0; i < 5; ++i) {
      const std::span<const float> was{before.data() + i * row_size, row_size};
      const std::span<const float> is{rows.data() + i * row_size, row_size};
      CAPTURE(row_size, i);
      CHECK(length(is) == Approx(std::min(0.5, length(was))));
      for (std::size_t j = 0; j < row_size; ++j)
        CHECK(is[j] == (length(was) <= 0.5
                            ? was[j]
                            : reference::over(reference::times(was[j], 0.5F), static_cast<float>(length(was)))));
    }
  }
}

TEST_CASE("clip_rows: elements whose squares do not fit into a float", "[ps]") {
  Floats rows{1e30F, 0, 0, 1e-30F};
  clip_rows(rows, 2, 2.0F);
  CHECK(rows[0] == Approx(2.0F));
  CHECK(rows[3] == 1e-30F);
}

TEST_CASE("clip_rows_gradient: computes the derivative of clip_rows", "[ps]") {
  // Along a clipped row the gradient becomes 0; across the row it is scaled as the row was.
  const Floats rows{3, 4, 3, 4, 0.3F, 0.4F};
  Floats gradients{3, 4, -4, 3, 7, 9};
  clip_rows_gradient(rows, 2, 1.0F, gradients);
  CHECK(gradients[0] == Approx(0).margin(1e-7));
  CHECK(gradients[1] == Approx(0).margin(1e-7));
  CHECK(gradients[2] == Approx(-0.8));
  CHECK(gradients[3] == Approx(0.6));
  CHECK(gradients[4] == 7.0F);
  CHECK(gradients[5] == 9.0F);
}

TEST_CASE("clip_rows_gradient: agrees with finite differences", "[ps]") {
  const Floats row = reference::numbers(7, 2);
  const Floats gradient = reference::numbers(7, 9);
  const float most = static_cast<float>(length(row)) / 3.0F;
  const auto value = [&](Floats at) {  // a function whose derivative with respect to the clipped row is `gradient`
    clip_rows(at, 7, most);
    double sum = 0;
    for (std::size_t i = 0; i < 7; ++i) sum += double{at[i]} * double{gradient[i]};
    return sum;
  };
  Floats made = gradient;
  clip_rows_gradient(row, 7, most, made);
  for (std::size_t i = 0; i < 7; ++i) {
    const float step = 0x1p-8F;
    Floats more = row;
    Floats less = row;
    more[i] += step;
    less[i] -= step;
    CHECK(made[i] == Approx((value(more) - value(less)) / (2.0 * double{step})).epsilon(1e-3).margin(1e-3));
  }
}

TEST_CASE("clip_rows: refuses sizes and norms that are wrong", "[ps]") {
  struct Case {
    std::size_t elements;
    std::size_t row_size;
    float max_norm;
    ps_errc code;
  };
  const Case cases[] = {
      {3, 2, 1.0F, ps_errc::shape_mismatch},
      {3, 0, 1.0F, ps_errc::shape_mismatch},
      {4, 2, 0.0F, ps_errc::not_positive},
      {4, 2, -1.0F, ps_errc::not_positive},
      {4, 2, std::numeric_limits<float>::quiet_NaN(), ps_errc::not_positive},
  };
  for (const Case& c : cases) {
    std::error_code ec;
    Floats rows(c.elements, 9.0F);
    Floats gradients(c.elements, 8.0F);
    clip_rows(rows, c.row_size, c.max_norm, ec);
    CHECK(ec == c.code);
    clip_rows_gradient(rows, c.row_size, c.max_norm, gradients, ec);
    CHECK(ec == c.code);
    CHECK(rows == Floats(c.elements, 9.0F));
    CHECK(gradients == Floats(c.elements, 8.0F));
    CHECK_THROWS_WITH(clip_rows(rows, c.row_size, c.max_norm), ContainsSubstring("rows of "));
    CHECK_THROWS_WITH(clip_rows_gradient(rows, c.row_size, c.max_norm, gradients), ContainsSubstring("gradients of "));
  }
  std::error_code ec;
  const Floats rows(4);
  Floats gradients(2);
  clip_rows_gradient(rows, 2, 1.0F, gradients, ec);
  CHECK(ec == ps_errc::shape_mismatch);
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/rows/row_math.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <cstddef>
#include <system_error>
#include <vector>

namespace detail = distrib::detail;

namespace {

/// `size` numbers, and one more that no function may touch.
auto numbers(std::size_t size, float first) -> std::vector<float> {
  std::vector<float> made(size + 1);
  for (std::size_t i = 0; i < size; ++i) made[i] = first + static_cast<float>(i) / 3;
  made[size] = 99;
  return made;
}

}  // namespace

TEST_CASE("row_math: counts only whole rows", "[ps]") {
  std::error_code ec;
  CHECK(detail::count_rows(12, 4, ec) == 3);
  CHECK(detail::count_rows(0, 4, ec) == 0);
  CHECK_FALSE(ec);
  CHECK(detail::count_rows(13, 4, ec) == 0);
  CHECK(ec == distrib::ps_errc::shape_mismatch);
  ec.clear();
  CHECK(detail::count_rows(12, 0, ec) == 0);
  CHECK(ec == distrib::ps_errc::shape_mismatch);
  CHECK(detail::is_rows(12, 3, 4));
  CHECK_FALSE(detail::is_rows(12, 4, 4));
  CHECK_FALSE(detail::is_rows(0, 3, 0));
  CHECK_FALSE(detail::is_rows(8, (~std::size_t{0} / 4 + 1) + 2, 4));  // rows * 4 is 8 when it overflows
  CHECK(detail::has_row(2, 3));
  CHECK_FALSE(detail::has_row(3, 3));
  CHECK_FALSE(detail::has_row(-1, 3));
}

TEST_CASE("row_math: works element by element on rows of every length", "[ps]") {
  for (std::size_t size = 0; size <= 37; ++size) {
    const std::vector<float> row = numbers(size, 1);
    const std::vector<float> old = numbers(size, -5);
    std::vector<float> copied = old, sum = old, weighted = old, divided = old, rescaled = old;
    detail::copy_row(copied.data(), row.data(), size);
    detail::add_row(sum.data(), row.data(), size);
    detail::add_weighted_row(weighted.data(), row.data(), 0.3F, size);
    detail::divide_row(divided.data(), 7, size);
    detail::rescale_row(rescaled.data(), row.data(), 0.3F, 7, size);
    CHECK(copied == row);
    for (std::size_t i = 0; i < size; ++i) {
      const float product = row[i] * 0.3F;
      CHECK(sum[i] == old[i] + row[i]);
      CHECK(weighted[i] == old[i] + product);
      CHECK(divided[i] == old[i] / 7);
      CHECK(rescaled[i] == product / 7);
    }
    for (const auto* made : {&sum, &weighted, &divided, &rescaled}) CHECK(made->back() == 99);
  }
}

TEST_CASE("row_math: products and norms are in double, even and odd elements apart", "[ps]") {
  const std::vector<float> a{1, 2, 3, 4, 5};
  const std::vector<float> b{2, 3, 4, 5, 6};
  CHECK(detail::dot(a.data(), b.data(), 5).value == 70);
  CHECK(detail::dot(a.data(), b.data(), 0).value == 0);
  const std::vector<float> large{1e20F, 1, 1e20F, 1};
  const std::vector<float> sign{1, 1, -1, 1};
  CHECK(detail::dot(large.data(), sign.data(), 4).value == 2);  // in a single sum the first 1 would be lost
  CHECK(detail::norm(b.data(), 2).value == std::sqrt(13.0));
}

TEST_CASE("clip_gradient: removes the part along the row, and scales the rest", "[ps]") {
  // Along the row the gradient becomes 0, because the norm of the clipped row cannot change. Across the row it is
  // scaled as the row was.
  const std::vector<float> row{3, 4};
  std::vector<float> along{3, 4};
  std::vector<float> across{-4, 3};
  detail::clip_gradient(along.data(), row.data(), detail::norm(row.data(), 2), 1, 2);
  detail::clip_gradient(across.data(), row.data(), detail::norm(row.data(), 2), 1, 2);
  CHECK(std::abs(along[0]) < 1e-6F);
  CHECK(std::abs(along[1]) < 1e-6F);
  CHECK(across == std::vector<float>{-0.8F, 0.6F});
}

// SPDX-License-Identifier: Apache-2.0
#include <distrib/tensor/matmul.hpp>

#include <distrib/core/philox.hpp>
#include <distrib/tensor/view.hpp>
#include <distrib/tensor/xtensor.hpp>

#include "support/catch.hpp"

#if __has_include(<xtensor/views/xview.hpp>)
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xview.hpp>
#endif

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using distrib::MatmulKernel;
using distrib::MatrixView;
using distrib::MutableMatrixView;

namespace {

// A matrix in memory with more elements in a row than it has columns, and rows behind it: what is around it must stay.
struct PaddedMatrix {
  std::size_t rows, columns, pitch;
  std::vector<float> memory;

  PaddedMatrix(std::size_t r, std::size_t c, std::size_t padding)
      : rows{r}, columns{c}, pitch{c + padding}, memory((r + 1) * (c + padding), 777.0F) {}

  auto at(std::size_t i, std::size_t j) -> float& { return memory[i * pitch + j]; }
  auto view() const -> MatrixView { return {memory.data(), rows, columns, static_cast<std::ptrdiff_t>(pitch), 1}; }
  auto written() -> MutableMatrixView { return {memory.data(), rows, columns, static_cast<std::ptrdiff_t>(pitch)}; }
};

// Fills a matrix with numbers from -1 to 1; `wild`: of all exponents from 2^-45 to 2^14, and zeros of both signs.
void fill_random(PaddedMatrix& matrix, distrib::Philox& random, bool wild) {
  for (std::size_t i = 0; i < matrix.rows; ++i)
    for (std::size_t j = 0; j < matrix.columns; ++j) {
      const std::uint32_t bits = random();
      const auto number = static_cast<float>(static_cast<std::int32_t>(bits) >> 7) * 0x1p-24F;
      const std::uint32_t choice = wild ? random() : 1;
      matrix.at(i, j) = choice % 8 == 0 ? std::copysign(0.0F, number)
                        : wild          ? std::ldexp(number, static_cast<int>(choice >> 8) % 60 - 45)
                                        : number;
    }
}

// The definition: one chain for each element, in the order of the terms.
auto by_definition(const MatrixView& a, const MatrixView& b, PaddedMatrix c, bool add) -> PaddedMatrix {
  for (std::size_t i = 0; i < c.rows; ++i)
    for (std::size_t j = 0; j < c.columns; ++j) {
      float sum = add ? c.at(i, j) : 0.0F;
      for (std::size_t p = 0; p < a.columns; ++p)
        sum = std::fma(
            a.data[static_cast<std::ptrdiff_t>(i) * a.row_step + static_cast<std::ptrdiff_t>(p) * a.column_step],
            b.data[static_cast<std::ptrdiff_t>(p) * b.row_step + static_cast<std::ptrdiff_t>(j) * b.column_step], sum);
      c.at(i, j) = sum;
    }
  return c;
}

// Returns the number of elements with other bits; all NaN count as one value.
auto other_bits(const std::vector<float>& a, const std::vector<float>& b) -> std::size_t {
  std::size_t others = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i]) &&
        !(std::isnan(a[i]) && std::isnan(b[i])))
      ++others;
  return others;
}

// Computes the product with each kernel, and compares it and the memory around it with the definition.
void check_kernels(const MatrixView& a, const MatrixView& b, const PaddedMatrix& before, bool add) {
  const PaddedMatrix expected = by_definition(a, b, before, add);
  for (const MatmulKernel kernel : distrib::matmul_kernels()) {
    PaddedMatrix c = before;
    if (add) distrib::matmul_add(a, b, c.written(), kernel);
    else distrib::matmul(a, b, c.written(), kernel);
    INFO(to_string(kernel) << ": " << c.rows << " x " << c.columns << ", " << a.columns << " terms, steps of a "
                           << a.row_step << " " << a.column_step << ", of b " << b.row_step << " " << b.column_step);
    const std::size_t others = other_bits(c.memory, expected.memory);
    if (others != 0) CHECK(others == 0);
  }
}

auto elements_of(const xt::xtensor<float, 2>& matrix) -> std::vector<float> {
  return {matrix.data(), matrix.data() + matrix.size()};
}

void check_shape(std::size_t rows, std::size_t columns, std::size_t terms, int ways = 8) {
  distrib::Philox random{20161130, static_cast<std::uint32_t>(rows * 1000 + columns),
                         static_cast<std::uint32_t>(terms)};
  const bool wild = (rows + columns + terms) % 3 == 0;
  for (int how = 0; how < ways; ++how) {
    const bool a_turned = how % 2 != 0, b_turned = how / 2 % 2 != 0, add = how / 4 != 0;
    const std::size_t padding = how % 3 == 0 ? 0 : 3;
    PaddedMatrix a = a_turned ? PaddedMatrix{terms, rows, padding} : PaddedMatrix{rows, terms, padding};
    PaddedMatrix b = b_turned ? PaddedMatrix{columns, terms, padding} : PaddedMatrix{terms, columns, padding};
    PaddedMatrix c{rows, columns, padding};
    fill_random(a, random, wild);
    fill_random(b, random, wild);
    fill_random(c, random, wild);
    check_kernels(a_turned ? distrib::transposed(a.view()) : a.view(),
                  b_turned ? distrib::transposed(b.view()) : b.view(), c, add);
  }
}

}  // namespace

TEST_CASE("matmul: every kernel gives the bits of the definition, for all shapes around its tiles", "[tensor]") {
  std::size_t shapes = 0;
  for (const std::size_t rows : std::initializer_list<std::size_t>{1, 2, 5, 6, 7, 12, 13, 31})
    for (const std::size_t columns :
         std::initializer_list<std::size_t>{1, 2, 3, 7, 8, 9, 10, 15, 16, 17, 31, 32, 33, 50})
      for (const std::size_t terms : std::initializer_list<std::size_t>{0, 1, 2, 3, 10, 33}) {
        check_shape(rows, columns, terms);
        ++shapes;
      }
  CHECK(shapes == 8 * 14 * 6);
}

TEST_CASE("matmul: chains longer than a block, and the shapes of the examples", "[tensor]") {
  check_shape(3, 5, 1500);
  check_shape(13, 33, 1025);
  check_shape(1, 1, 2049);
  check_shape(64, 128, 50);  // the main job's have 784 terms; as many rows when transposed
  check_shape(200, 20, 64);
  check_shape(64, 10, 128);
  check_shape(128, 10, 64);
  check_shape(64, 1, 64);
  check_shape(64, 64, 1);
  // Packed, with more rows and terms than a block has.
  check_shape(50, 70, 300);
  check_shape(250, 66, 100);
  check_shape(250, 401, 97, 1);
  check_shape(2051, 3, 7);  // few columns, and more rows than a block has
}

TEST_CASE("matmul: infinity, NaN, denormal numbers and zeros go through the chains", "[tensor]") {
  const float inf = std::numeric_limits<float>::infinity(), least = std::numeric_limits<float>::denorm_min();
  const float special[] = {0.0F, -0.0F, inf, -inf, std::nanf(""), least, -least, 1.0F, -1.0F, 0x1p-126F, 0x1p127F};
  distrib::Philox random{20161130, 1, 0};
  for (const std::size_t columns : std::initializer_list<std::size_t>{1, 3, 8, 16, 19}) {
    PaddedMatrix a{14, 3, 0}, b{3, columns, 0}, c{14, columns, 0};
    for (int how = 0; how < 20; ++how) {
      for (PaddedMatrix* matrix : {&a, &b, &c})
        for (float& x : matrix->memory) x = special[random() % std::size(special)];
      check_kernels(a.view(), b.view(), c, how % 2 != 0);
    }
  }
}

TEST_CASE("matmul: no terms give +0, or leave c; no rows or columns are no error", "[tensor]") {
  PaddedMatrix a{3, 0, 0}, b{0, 2, 0}, c{3, 2, 1};
  c.at(0, 0) = -0.0F;
  check_kernels(a.view(), b.view(), c, false);
  check_kernels(a.view(), b.view(), c, true);
  float nothing = 1;
  distrib::matmul(MatrixView{nullptr, 0, 5, 5, 1}, MatrixView{&nothing, 5, 0, 0, 1},
                  MutableMatrixView{nullptr, 0, 0, 0});
  CHECK(nothing == 1);
  // What has no elements overlaps nothing.
  std::vector<float> memory(6, 1.0F);
  distrib::matmul(MatrixView{memory.data() + 1, 3, 0, 0, 1}, MatrixView{memory.data() + 2, 0, 2, 2, 1},
                  MutableMatrixView{memory.data(), 3, 2, 2});
  CHECK(memory == std::vector<float>(6, 0.0F));
}

TEST_CASE("matmul: arrays of xtensor and views of variables", "[tensor]") {
  xt::xtensor<float, 2> a{{1, 2, 3}, {4, 5, 6}};
  const std::vector<float> weights{1, 0, 2, 0, 1, 3};
  const auto b = distrib::tensor_view<2>(weights.data(), distrib::Shape{3, 2});
  xt::xtensor<float, 2> c = xt::ones<float>({2, 2});
  distrib::matmul_add(a, b, c);
  CHECK(elements_of(c) == std::vector<float>{9, 10, 21, 19});
  xt::xtensor<float, 2> turned = xt::zeros<float>({3, 3});
  distrib::matmul(distrib::transposed(a), a, turned);
  CHECK(elements_of(turned) == std::vector<float>{17, 22, 27, 22, 29, 36, 27, 36, 45});
  // xtensor says that the step of an axis with one element is 0.
  xt::xtensor<float, 2> column{{1}, {10}, {100}}, product = xt::zeros<float>({2, 1});
  distrib::matmul(a, column, product);
  CHECK(elements_of(product) == std::vector<float>{321, 654});
  xt::xtensor<float, 2> row{{1, 10}}, wide = xt::zeros<float>({1, 3});
  distrib::matmul(row, a, wide);
  CHECK(elements_of(wide) == std::vector<float>{41, 52, 63});
  const auto part = xt::view(a, xt::all(), xt::range(1, 3));
  xt::xtensor<float, 2> square = xt::zeros<float>({2, 2});
  distrib::matmul(part, distrib::transposed(part), square);
  CHECK(elements_of(square) == std::vector<float>{13, 28, 28, 61});
}

TEST_CASE("matmul: several threads may compute rows of one product, with the same bits", "[tensor]") {
  distrib::Philox random{20161130, 2, 0};
  PaddedMatrix a{64, 40, 0}, b{40, 33, 0}, c{64, 33, 0};
  fill_random(a, random, false);
  fill_random(b, random, false);
  const PaddedMatrix expected = by_definition(a.view(), b.view(), c, false);
  std::vector<std::thread> threads;
  for (std::size_t first = 0; first < 64; first += 16)
    threads.emplace_back([&a, &b, &c, first] {
      distrib::matmul(MatrixView{&a.at(first, 0), 16, 40, 40, 1}, b.view(),
                      MutableMatrixView{&c.at(first, 0), 16, 33, 33});
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(other_bits(c.memory, expected.memory) == 0);
}

TEST_CASE("matmul: shapes that do not fit, columns for rows, and overlapping memory are refused", "[tensor]") {
  std::vector<float> memory(100);
  const MatrixView a{memory.data(), 2, 3, 3, 1}, b{memory.data() + 10, 3, 4, 4, 1};
  const auto c = [&](std::size_t at, std::size_t rows, std::size_t columns) {
    return MutableMatrixView{memory.data() + at, rows, columns, static_cast<std::ptrdiff_t>(columns)};
  };
  CHECK_NOTHROW(distrib::matmul(a, b, c(50, 2, 4)));
  CHECK_THROWS_WITH(distrib::matmul(a, b, c(50, 3, 4)),
                    ContainsSubstring("matmul: the shapes do not fit: c 3 x 4 = a 2 x 3 times b 3 x 4"));
  CHECK_THROWS_WITH(distrib::matmul(a, distrib::transposed(b), c(50, 2, 3)),
                    ContainsSubstring("the shapes do not fit"));
  CHECK_THROWS_WITH(distrib::matmul(a, b, c(5, 2, 4)), ContainsSubstring("c overlaps a or b"));
  CHECK_THROWS_WITH(distrib::matmul(a, b, c(21, 2, 4)), ContainsSubstring("c overlaps a or b"));
  CHECK_NOTHROW(distrib::matmul(a, b, c(22, 2, 4)));
  xt::xtensor<float, 2, xt::layout_type::column_major> columns_first = xt::zeros<float>({2, 4});
  CHECK_THROWS_WITH(distrib::matmul(a, b, columns_first), ContainsSubstring("must be side by side"));
}

TEST_CASE("matmul: the kernels of this machine, and the selected one", "[tensor]") {
  const auto kernels = distrib::matmul_kernels();
  REQUIRE(!kernels.empty());
  CHECK(kernels.front() == MatmulKernel::portable);
  CHECK(distrib::matmul_kernel() == kernels.back());
  distrib::use_matmul_kernel(MatmulKernel::portable);
  CHECK(distrib::matmul_kernel() == MatmulKernel::portable);
  distrib::use_matmul_kernel(kernels.back());
  CHECK(to_string(MatmulKernel::avx512) == "avx512");
#if defined(__x86_64__)
  CHECK_THROWS_WITH(distrib::use_matmul_kernel(MatmulKernel::neon),
                    ContainsSubstring("this machine does not have the instructions of the kernel neon"));
#else
  CHECK_THROWS_WITH(distrib::use_matmul_kernel(MatmulKernel::avx2), ContainsSubstring("of the kernel avx2"));
#endif
}

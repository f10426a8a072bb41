// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/tensor/matmul.hpp>

#include <distrib/core/error.hpp>
#include <distrib/tensor/detail/matmul_kernels.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto to_string(MatmulKernel kernel) -> std::string_view {
  switch (kernel) {
    case MatmulKernel::portable: return "portable";
    case MatmulKernel::avx2: return "avx2";
    case MatmulKernel::avx512: return "avx512";
    case MatmulKernel::neon: return "neon";
  }
  return "unknown";
}

DISTRIB_DECL auto matmul_kernels() -> std::span<const MatmulKernel> {
#if defined(__x86_64__)
  static constexpr std::array all{MatmulKernel::portable, MatmulKernel::avx2, MatmulKernel::avx512};
  static const std::size_t count = !(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) ? 1
                                   : __builtin_cpu_supports("avx512f")                                ? 3
                                                                                                      : 2;
  return std::span{all}.first(count);
#elif defined(__aarch64__)
  static constexpr std::array all{MatmulKernel::portable, MatmulKernel::neon};
  return all;
#else
  static constexpr std::array all{MatmulKernel::portable};
  return all;
#endif
}

namespace detail {

/// The selected kernel; -1: the fastest.
DISTRIB_DECL auto selected_matmul_kernel() -> std::atomic<int>& {
  static std::atomic<int> selected{-1};
  return selected;
}

[[nodiscard]] DISTRIB_DECL auto matmul_kernel_exists(MatmulKernel kernel) -> bool {
  return std::ranges::find(matmul_kernels(), kernel) != matmul_kernels().end();
}

DISTRIB_DECL void check_matmul_kernel(MatmulKernel kernel) {
  if (!matmul_kernel_exists(kernel))
    throw_error(std::make_error_code(std::errc::not_supported),
                "this machine does not have the instructions of the kernel " + std::string{to_string(kernel)});
}

/// The memory from the first to behind the last element.
struct MatrixMemory {
  const float* begin;
  const float* end;
};
[[nodiscard]] DISTRIB_DECL auto matrix_memory(const float* data, std::size_t rows, std::size_t columns,
                                              std::ptrdiff_t row_step, std::ptrdiff_t column_step) -> MatrixMemory {
  if (rows == 0 || columns == 0) return {data, data};
  const std::ptrdiff_t down = static_cast<std::ptrdiff_t>(rows - 1) * row_step;
  const std::ptrdiff_t right = static_cast<std::ptrdiff_t>(columns - 1) * column_step;
  return {data + std::min<std::ptrdiff_t>(down, 0) + std::min<std::ptrdiff_t>(right, 0),
          data + std::max<std::ptrdiff_t>(down, 0) + std::max<std::ptrdiff_t>(right, 0) + 1};
}

[[nodiscard]] DISTRIB_DECL auto memory_overlaps(const MatrixMemory& a, const MatrixMemory& b) -> bool {
  if (a.begin == a.end || b.begin == b.end) return false;  // one of them has no elements
  const std::less<const float*> before;
  return before(a.begin, b.end) && before(b.begin, a.end);
}

DISTRIB_DECL void check_matmul(const MatrixView& a, const MatrixView& b, const MutableMatrixView& c) {
  const char* wrong = nullptr;
  const auto of_c = [&] { return matrix_memory(c.data, c.rows, c.columns, c.row_step, 1); };
  const auto of = [](const MatrixView& x) {
    return matrix_memory(x.data, x.rows, x.columns, x.row_step, x.column_step);
  };
  if (c.columns == static_cast<std::size_t>(-1)) wrong = "the elements of a row of c must be side by side";
  else if (a.rows != c.rows || b.columns != c.columns || a.columns != b.rows) wrong = "the shapes do not fit";
  else if (memory_overlaps(of(a), of_c()) || memory_overlaps(of(b), of_c())) wrong = "c overlaps a or b";
  if (wrong == nullptr) return;
  const auto shape = [](std::size_t rows, std::size_t columns) {
    return std::to_string(rows) + " x " + std::to_string(columns);
  };
  throw_error(std::make_error_code(std::errc::invalid_argument),
              std::string{"matmul: "} + wrong + ": c " +
                  (c.columns == static_cast<std::size_t>(-1) ? "" : shape(c.rows, c.columns)) + " = a " +
                  shape(a.rows, a.columns) + " times b " + shape(b.rows, b.columns));
}

/// Computes the product with vectors over the columns of c, by the kernel; `scratch` is used and kept.
DISTRIB_DECL void multiply_columns(const Product& product, MatmulKernel kernel, std::vector<float>& scratch) {
  const auto run = [&](auto multiply, Extent floats) {
    const auto size = static_cast<std::size_t>(floats);
    if (scratch.size() < size) scratch.resize(size);
    multiply(product, scratch.data());
  };
  switch (kernel) {
#if defined(__x86_64__)
    case MatmulKernel::avx2: return run(matmul_avx2::multiply, matmul_avx2::scratch_floats);
    case MatmulKernel::avx512: return run(matmul_avx512::multiply, matmul_avx512::scratch_floats);
#elif defined(__aarch64__)
    case MatmulKernel::neon: return run(matmul_neon::multiply, matmul_neon::scratch_floats);
#endif
    default: return run(matmul_portable::multiply, matmul_portable::scratch_floats);
  }
}

/// Floats in a register of the kernel.
[[nodiscard]] DISTRIB_DECL auto matmul_lanes(MatmulKernel kernel) -> Extent {
  switch (kernel) {
    case MatmulKernel::avx512: return 16;
    case MatmulKernel::avx2: return 8;
    case MatmulKernel::neon: return 4;
    case MatmulKernel::portable: break;
  }
  return 1;
}

DISTRIB_DECL void multiply(const Product& x, MatmulKernel kernel) {
  thread_local std::vector<float> scratch;
  // The bits are the same, so each shape takes what is faster.
  if (kernel == MatmulKernel::avx512 && x.columns > 1 && x.columns <= 12 && x.a_row != 1) kernel = MatmulKernel::avx2;
  const Extent lanes = matmul_lanes(kernel);
  const bool narrow = lanes > 1 && x.columns < lanes && x.columns < x.rows && x.a_row == 1;
  if (!narrow) return multiply_columns(x, kernel, scratch);
  // Few columns: vectors over the rows. c^T = b^T a^T; factors of a product may change places. In blocks of rows, so
  // that a thread keeps little memory.
  constexpr Extent most_rows = 1024;
  thread_local std::vector<float> turned;  // c^T of a block
  turned.resize(static_cast<std::size_t>(x.columns * std::min(x.rows, most_rows)));
  float* const c = turned.data();
  for (Extent first = 0; first < x.rows; first += most_rows) {
    const Extent rows = std::min(most_rows, x.rows - first);
    float* const to = x.c + first * x.c_row;
    if (x.add)
      for (Extent j = 0; j < x.columns; ++j)
        for (Extent i = 0; i < rows; ++i) c[j * rows + i] = to[i * x.c_row + j];
    multiply_columns({x.columns, rows, x.terms, x.b, x.b_column, x.b_row, x.a + first * x.a_row, x.a_column, x.a_row, c,
                      rows, x.add},
                     kernel, scratch);
    for (Extent i = 0; i < rows; ++i)
      for (Extent j = 0; j < x.columns; ++j) to[i * x.c_row + j] = c[j * rows + i];
  }
}

DISTRIB_DECL void matmul(const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, bool add,
                         MatmulKernel kernel) {
  check_matmul_kernel(kernel);
  check_matmul(a, b, c);
  if (c.rows == 0 || c.columns == 0) return;
  // An axis of one element may have any step; a kernel asks whether it is 1.
  const auto step = [](std::size_t extent, std::ptrdiff_t given) { return extent == 1 ? std::ptrdiff_t{1} : given; };
  multiply({static_cast<Extent>(c.rows), static_cast<Extent>(c.columns), static_cast<Extent>(a.columns), a.data,
            step(a.rows, a.row_step), step(a.columns, a.column_step), b.data, step(b.rows, b.row_step),
            step(b.columns, b.column_step), c.data, c.row_step, add},
           kernel);
}

}  // namespace detail

DISTRIB_DECL void use_matmul_kernel(MatmulKernel kernel) {
  detail::check_matmul_kernel(kernel);
  detail::selected_matmul_kernel().store(static_cast<int>(kernel), std::memory_order_relaxed);
}

DISTRIB_DECL auto matmul_kernel() -> MatmulKernel {
  const int selected = detail::selected_matmul_kernel().load(std::memory_order_relaxed);
  return selected < 0 ? matmul_kernels().back() : static_cast<MatmulKernel>(selected);
}

}  // namespace v0
}  // namespace distrib

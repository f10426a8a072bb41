// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/tensor/detail/fused_multiply_add.hpp>

#include <cstddef>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

using Extent = std::ptrdiff_t;

/// A product to compute: element (i, j) of c, at c[i * c_row + j], becomes the chain of fused multiply-adds over the
/// terms p = 0, 1, ... of a(i, p) at a[i * a_row + p * a_column] and b(p, j) at b[p * b_row + j * b_column]. The chain
/// begins with c if `add`, else with +0. c does not overlap a or b.
struct Product {
  Extent rows, columns, terms;
  const float* a;
  Extent a_row, a_column;
  const float* b;
  Extent b_row, b_column;
  float* c;
  Extent c_row;
  bool add;
};

/// Terms that a kernel computes before it stores the sums: so many rows of b stay in the cache.
inline constexpr Extent most_terms = 1024;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#if defined(__clang__)
#pragma float_control(push)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#endif

#define DISTRIB_MATMUL matmul_portable
#define DISTRIB_MATMUL_LANES 1
#define DISTRIB_MATMUL_ROWS 4
#define DISTRIB_MATMUL_ACROSS 2
#include <distrib/tensor/detail/matmul_kernels.inc>

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define DISTRIB_MATMUL matmul_avx2
#define DISTRIB_MATMUL_LANES 8
#define DISTRIB_MATMUL_ROWS 6
#define DISTRIB_MATMUL_ACROSS 2
#include <distrib/tensor/detail/matmul_kernels.inc>
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f")
#endif
#define DISTRIB_MATMUL matmul_avx512
#define DISTRIB_MATMUL_LANES 16
#define DISTRIB_MATMUL_ROWS 12
#define DISTRIB_MATMUL_ACROSS 2
#include <distrib/tensor/detail/matmul_kernels.inc>
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#elif defined(__aarch64__)
#define DISTRIB_MATMUL matmul_neon
#define DISTRIB_MATMUL_LANES 4
#define DISTRIB_MATMUL_ROWS 6
#define DISTRIB_MATMUL_ACROSS 4
#include <distrib/tensor/detail/matmul_kernels.inc>
#endif

#if defined(__clang__)
#pragma float_control(pop)
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif

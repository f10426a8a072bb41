// SPDX-License-Identifier: Apache-2.0
#pragma once

// Included before examples/fashion_mnist/train.cpp: the products of its model are computed by OpenBLAS.
#include <distrib/tensor/matmul.hpp>

#include <cblas.h>

namespace distrib {

inline void by_openblas(const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, float add) {
  const auto turned = [](const MatrixView& x) { return x.column_step == 1 ? CblasNoTrans : CblasTrans; };
  const auto step = [](const MatrixView& x) {
    return static_cast<int>(x.column_step == 1 ? x.row_step : x.column_step);
  };
  cblas_sgemm(CblasRowMajor, turned(a), turned(b), static_cast<int>(c.rows), static_cast<int>(c.columns),
              static_cast<int>(a.columns), 1, a.data, step(a), b.data, step(b), add, c.data,
              static_cast<int>(c.row_step));
}
template <class A, class B, class C> void matmul_by_openblas(const A& a, const B& b, C&& c) {
  by_openblas(matrix_view(a), matrix_view(b), detail::mutable_matrix_view(c), 0);
}
template <class A, class B, class C> void matmul_add_by_openblas(const A& a, const B& b, C&& c) {
  by_openblas(matrix_view(a), matrix_view(b), detail::mutable_matrix_view(c), 1);
}

}  // namespace distrib

#define matmul matmul_by_openblas
#define matmul_add matmul_add_by_openblas
#include <fashion_mnist/mlp.hpp>
#undef matmul
#undef matmul_add

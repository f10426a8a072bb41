// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// A view of a matrix of floats that `matmul` reads: element (i, j) is at data[i * row_step + j * column_step]. Valid
/// as long as the memory.
struct MatrixView {
  const float* data = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::ptrdiff_t row_step = 0;
  std::ptrdiff_t column_step = 1;
};

/// A matrix that `matmul` writes: as `MatrixView`, with the elements of a row side by side.
struct MutableMatrixView {
  float* data = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::ptrdiff_t row_step = 0;
};

namespace detail {
/// An array of two axes, such as one of xtensor: shape(axis), steps between elements, first element.
template <class M>
concept TwoAxes = requires(M& matrix) {
  matrix.shape(0);
  matrix.shape(1);
  matrix.strides()[0];
  matrix.strides()[1];
  matrix.data() + matrix.data_offset();
};
}  // namespace detail

/// Returns the view of a view: itself.
[[nodiscard]] constexpr auto matrix_view(const MatrixView& matrix) noexcept -> MatrixView { return matrix; }
/// Returns the view of an array with two axes: `xt::xtensor<float, 2>`, what `get` returns for a variable of rank 2, or
/// a view of one.
template <detail::TwoAxes M> [[nodiscard]] auto matrix_view(const M& matrix) noexcept -> MatrixView {
  const auto strides = matrix.strides();
  return {matrix.data() + matrix.data_offset(), static_cast<std::size_t>(matrix.shape(0)),
          static_cast<std::size_t>(matrix.shape(1)), static_cast<std::ptrdiff_t>(strides[0]),
          static_cast<std::ptrdiff_t>(strides[1])};
}

/// Returns the transposed view: its element (i, j) is element (j, i) of the matrix. Nothing is copied.
template <class M> [[nodiscard]] auto transposed(const M& matrix) noexcept -> MatrixView {
  const MatrixView view = matrix_view(matrix);
  return {view.data, view.columns, view.rows, view.column_step, view.row_step};
}

/// The kernels of `matmul`, by the instructions that they use. Which of them a machine has depends on its processor;
/// all give the same bits.
enum class MatmulKernel {
  portable,  ///< No instructions beyond the base of the architecture; 50 to 100 times slower than the others.
  avx2,  ///< AVX2 and FMA.
  avx512,  ///< AVX-512F.
  neon,  ///< NEON, on aarch64.
};

/// Returns its name: "portable", "avx2", "avx512", "neon".
[[nodiscard]] DISTRIB_DECL auto to_string(MatmulKernel kernel) -> std::string_view;

/// Returns the kernels that this machine has, the portable one first, the fastest last.
[[nodiscard]] DISTRIB_DECL auto matmul_kernels() -> std::span<const MatmulKernel>;

/// Selects the kernel of all later products of this process that are not given one, for tests and measurements: the
/// fastest unless this was called. Any thread may call it. Throws std::system_error with std::errc::not_supported if
/// this machine does not have it.
DISTRIB_DECL void use_matmul_kernel(MatmulKernel kernel);

/// Returns the kernel that `use_matmul_kernel` has selected, otherwise the fastest of this machine.
[[nodiscard]] DISTRIB_DECL auto matmul_kernel() -> MatmulKernel;

namespace detail {
DISTRIB_DECL void matmul(const MatrixView& a, const MatrixView& b, const MutableMatrixView& c, bool add,
                         MatmulKernel kernel);

[[nodiscard]] constexpr auto mutable_matrix_view(const MutableMatrixView& matrix) noexcept -> MutableMatrixView {
  return matrix;
}
template <TwoAxes M> [[nodiscard]] auto mutable_matrix_view(M& matrix) -> MutableMatrixView {
  const auto strides = matrix.strides();
  // Which step an axis has on which there is one element does not matter; xtensor calls it 0.
  const bool side_by_side = strides[1] == 1 || matrix.shape(1) <= 1;
  return {matrix.data() + matrix.data_offset(), static_cast<std::size_t>(matrix.shape(0)),
          side_by_side ? static_cast<std::size_t>(matrix.shape(1)) : static_cast<std::size_t>(-1),
          static_cast<std::ptrdiff_t>(strides[0])};
}
}  // namespace detail

/// Computes the matrix product c = a b, with the same bits on every machine.
///
/// The definition of each element is the contract: with k the columns of a,
/// `c(i, j) = fma(a(i, k-1), b(k-1, j), ... fma(a(i, 1), b(1, j), fma(a(i, 0), b(0, j), +0)) ...)`, where `fma` is the
/// fused multiply-add of IEEE 754, rounded once to the nearest float. So neither the processor nor the sizes of blocks
/// change a bit. Which NaN a result is, if it is one, is not defined.
///
/// `a` and `b` are a `MatrixView`, or arrays of floats with two axes, see `matrix_view`; `transposed(x)` is the
/// transposed matrix. `c` is a `MutableMatrixView` or such an array that can be written; the elements of a row are side
/// by side. An axis may have no elements; if a has no columns, c becomes 0.
///
/// One thread computes it, and keeps up to 400 KiB of memory for the next product. Any thread may call it; the rows or
/// columns of c may be divided among threads. Throws std::system_error with std::errc::invalid_argument, and says the
/// shapes, if they do not fit, if a row of c is not contiguous, or if the memory of c overlaps that of a or b.
template <class A, class B, class C>
void matmul(const A& a, const B& b, C&& c, MatmulKernel kernel = matmul_kernel()) {
  detail::matmul(matrix_view(a), matrix_view(b), detail::mutable_matrix_view(c), false, kernel);
}

/// Computes c = c + a b: as `matmul`, but each chain begins with the element of c instead of +0.
template <class A, class B, class C>
void matmul_add(const A& a, const B& b, C&& c, MatmulKernel kernel = matmul_kernel()) {
  detail::matmul(matrix_view(a), matrix_view(b), detail::mutable_matrix_view(c), true, kernel);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/tensor/impl/matmul.ipp>
#endif

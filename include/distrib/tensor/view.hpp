// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/shape.hpp>
#include <distrib/tensor/xtensor.hpp>

#include <array>
#include <cassert>
#include <cstddef>

namespace distrib {
inline namespace v0 {

namespace detail {
template <std::size_t Rank> auto xtensor_shape(const Shape& shape) -> std::array<std::size_t, Rank> {
  assert(shape.rank() == Rank);
  std::array<std::size_t, Rank> extents{};
  for (std::size_t axis = 0; axis < Rank; ++axis) extents[axis] = static_cast<std::size_t>(shape[axis]);
  return extents;
}
}  // namespace detail

/// Returns an xtensor view of the elements at `data`, which are an array of `shape` in row-major order. The view copies
/// `shape`, owns no elements, and is valid as long as their memory. With a `const T` the view cannot be written.
/// `shape` must have `Rank` axes (programmer error otherwise; asserted).
template <std::size_t Rank, class T> [[nodiscard]] auto tensor_view(T* data, const Shape& shape) {
  return xt::adapt(data, static_cast<std::size_t>(shape.elements()), xt::no_ownership(),
                   detail::xtensor_shape<Rank>(shape));
}

/// Returns an xtensor view of `T[shape]` whose number of axes is that of `shape`. Otherwise as `tensor_view<Rank>`.
template <class T> [[nodiscard]] auto tensor_view(T* data, const Shape& shape) {
  xt::dynamic_shape<std::size_t> extents(shape.rank());
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) extents[axis] = static_cast<std::size_t>(shape[axis]);
  return xt::adapt(data, static_cast<std::size_t>(shape.elements()), xt::no_ownership(), extents);
}

/// The type of the view: `TensorView<float, 2>` can be written, `TensorView<const float, 2>` cannot.
template <class T, std::size_t Rank> using TensorView = decltype(tensor_view<Rank>(static_cast<T*>(nullptr), Shape{}));

/// The type of a view whose number of axes is known only at run time: `RuntimeTensorView<const float>` cannot be
/// written.
template <class T> using RuntimeTensorView = decltype(tensor_view(static_cast<T*>(nullptr), Shape{}));

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/shape.hpp>

#include <distrib/core/shortest_text.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto to_string(const Shape& shape) -> std::string {
  std::string text = "[";
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (axis != 0) text += ',';
    text += std::to_string(shape[axis]);
  }
  return text += ']';
}

namespace detail {

DISTRIB_DECL auto parse_shape(std::string_view text) -> std::optional<Shape> {
  if (text.size() < 2) return std::nullopt;
  std::string_view rest = text.substr(1, text.size() - 2);
  std::array<std::int64_t, Shape::max_rank> extents{};
  std::size_t rank = 0;
  for (; !rest.empty(); ++rank) {
    const auto extent = detail::parse_shortest<std::int64_t>(detail::cut_before(rest, ','));
    if (!extent || rank == Shape::max_rank) return std::nullopt;
    extents[rank] = *extent;
  }
  const std::span<const std::int64_t> found{extents.data(), rank};
  if (!Shape::valid(found) || to_string(Shape{found}) != text) return std::nullopt;
  return Shape{found};
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/slice.hpp>

#include <distrib/core/shortest_text.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto to_string(const Slice& slice) -> std::string {
  std::string text;
  for (std::size_t axis = 0; axis < slice.start.rank(); ++axis) {
    if (axis != 0) text += ':';
    text += std::to_string(slice.start[axis]) + ',' + std::to_string(slice.extents[axis]);
  }
  return text;
}

namespace detail {

DISTRIB_DECL auto parse_slice(std::string_view text) -> std::optional<Slice> {
  std::array<std::int64_t, Shape::max_rank> start{};
  std::array<std::int64_t, Shape::max_rank> extents{};
  std::size_t rank = 0;
  for (std::string_view rest = text; !rest.empty(); ++rank) {
    std::string_view axis = detail::cut_before(rest, ':');
    const auto first = detail::parse_shortest<std::int64_t>(detail::cut_before(axis, ','));
    const auto length = detail::parse_shortest<std::int64_t>(axis);
    if (!first || !length || rank == Shape::max_rank) return std::nullopt;
    start[rank] = *first;
    extents[rank] = *length;
  }
  const std::span<const std::int64_t> starts{start.data(), rank};
  const std::span<const std::int64_t> lengths{extents.data(), rank};
  if (!Shape::valid(starts) || !Shape::valid(lengths)) return std::nullopt;
  const Slice slice{Shape{starts}, Shape{lengths}};
  return to_string(slice) == text ? std::optional{slice} : std::nullopt;
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib

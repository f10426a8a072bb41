// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/shape.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// A box inside a tensor: where it starts and how far it reaches on each axis. A value; both shapes have one rank.
struct Slice {
  Shape start;
  Shape extents;

  /// All of a tensor of this shape.
  [[nodiscard]] static constexpr auto whole(const Shape& shape) -> Slice {
    return {Shape{std::span<const std::int64_t>{std::array<std::int64_t, Shape::max_rank>{}.data(), shape.rank()}},
            shape};
  }

  /// Rows `first .. first + count` of `axis`, all of the other axes.
  [[nodiscard]] static constexpr auto along(const Shape& shape, std::size_t axis, std::int64_t first,
                                            std::int64_t count) -> Slice {
    std::array<std::int64_t, Shape::max_rank> start{};
    std::array<std::int64_t, Shape::max_rank> extents{};
    std::copy(shape.extents().begin(), shape.extents().end(), extents.begin());
    start[axis] = first;
    extents[axis] = count;
    return {Shape{std::span<const std::int64_t>{start.data(), shape.rank()}},
            Shape{std::span<const std::int64_t>{extents.data(), shape.rank()}}};
  }

  /// Whether this box lies inside a tensor of `shape`, with the same rank.
  [[nodiscard]] constexpr auto inside(const Shape& shape) const noexcept -> bool {
    if (start.rank() != shape.rank() || extents.rank() != shape.rank()) return false;
    for (std::size_t axis = 0; axis < shape.rank(); ++axis)
      if (start[axis] < 0 || extents[axis] < 0 || start[axis] > shape[axis] - extents[axis]) return false;
    return true;
  }

  [[nodiscard]] constexpr auto operator==(const Slice&) const noexcept -> bool = default;
};

/// TensorFlow's slice text: "0,4:0,16" is start,length of each axis (tensor_slice.cc); "" for a scalar.
[[nodiscard]] DISTRIB_DECL auto to_string(const Slice& slice) -> std::string;

namespace detail {

/// The opposite of `to_string`: empty for every text that it does not write, and for numbers that make no Shape.
/// Whether the box fits a tensor is told by `Slice::inside`.
[[nodiscard]] DISTRIB_DECL auto parse_slice(std::string_view text) -> std::optional<Slice>;

/// Finds what two boxes of one tensor, both row-major, have in common, in as few runs as there are: calls
/// `visit(at in from_slice, at in to_slice, count)` for each, in elements. Returns how many elements they are together.
template <class Visit>
constexpr auto for_each_overlap(const Slice& from_slice, const Slice& to_slice, Visit&& visit) -> std::int64_t {
  const std::size_t rank = from_slice.extents.rank();
  std::array<std::int64_t, Shape::max_rank> first{};
  std::array<std::int64_t, Shape::max_rank> count{};
  std::int64_t elements = 1;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    first[axis] = std::max(from_slice.start[axis], to_slice.start[axis]);
    const std::int64_t end =
        std::min(from_slice.start[axis] + from_slice.extents[axis], to_slice.start[axis] + to_slice.extents[axis]);
    count[axis] = std::max<std::int64_t>(end - first[axis], 0);
    elements *= count[axis];
  }
  if (elements == 0) return 0;

  // Trailing axes that both boxes hold whole are one run; the rest is walked like an odometer.
  std::int64_t run = 1;
  std::size_t outer = rank;
  while (outer > 0) {
    run *= count[outer - 1];
    --outer;
    if (count[outer] != from_slice.extents[outer] || count[outer] != to_slice.extents[outer]) break;
  }
  std::array<std::int64_t, Shape::max_rank> at = first;
  const auto offset = [&](const Slice& box) {
    std::int64_t position = 0;
    for (std::size_t axis = 0; axis < rank; ++axis)
      position = position * box.extents[axis] + (at[axis] - box.start[axis]);
    return static_cast<std::size_t>(position);
  };
  for (std::int64_t visited = 0; visited < elements; visited += run) {
    visit(offset(from_slice), offset(to_slice), static_cast<std::size_t>(run));
    for (std::size_t axis = outer; axis-- > 0;) {
      if (++at[axis] < first[axis] + count[axis]) break;
      at[axis] = first[axis];
    }
  }
  return elements;
}

/// Copies what two boxes of one tensor have in common. `from` holds box `from_slice` and `to` box `to_slice`, both
/// row-major with elements of `element_bytes`; memory must not overlap. Returns the number of elements copied.
inline auto copy_overlap(const Slice& from_slice, const std::byte* from, const Slice& to_slice, std::byte* to,
                         std::size_t element_bytes) -> std::int64_t {
  return for_each_overlap(from_slice, to_slice, [&](std::size_t from_at, std::size_t to_at, std::size_t count) {
    std::memcpy(to + to_at * element_bytes, from + from_at * element_bytes, count * element_bytes);
  });
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/slice.ipp>
#endif

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

/// A box inside a tensor: the position of its first element, and its extent on each axis. A value. Both shapes must
/// have the same number of axes.
struct Slice {
  Shape start;  ///< First index along each axis.
  Shape extents;  ///< Number of indices along each axis.

  /// Returns the box that is the whole tensor of this shape.
  [[nodiscard]] static constexpr auto whole(const Shape& shape) -> Slice {
    return {Shape{std::span<const std::int64_t>{std::array<std::int64_t, Shape::max_rank>{}.data(), shape.rank()}},
            shape};
  }

  /// Returns rows `first .. first + count - 1` of `axis`, and all of the other axes. `axis` must be an axis of `shape`
  /// (not checked); `first` and `count` must not be negative (programmer error otherwise; asserted). Whether the rows
  /// exist is not checked: see `inside`.
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

  /// True if this box lies inside a tensor of `shape` and has the same number of axes.
  [[nodiscard]] constexpr auto inside(const Shape& shape) const noexcept -> bool {
    if (start.rank() != shape.rank() || extents.rank() != shape.rank()) return false;
    for (std::size_t axis = 0; axis < shape.rank(); ++axis)
      if (start[axis] < 0 || extents[axis] < 0 || start[axis] > shape[axis] - extents[axis]) return false;
    return true;
  }

  [[nodiscard]] constexpr auto operator==(const Slice&) const noexcept -> bool = default;
};

/// Returns TensorFlow's slice text: "0,4:0,16" has start,length for each axis (tensor_slice.cc). "" for a scalar.
[[nodiscard]] DISTRIB_DECL auto to_string(const Slice& slice) -> std::string;

namespace detail {

/// Returns the slice for which `to_string` returns `text`. Empty for every other text, and for numbers that make no
/// Shape. Does not check that the box fits a tensor; `Slice::inside` does.
[[nodiscard]] DISTRIB_DECL auto parse_slice(std::string_view text) -> std::optional<Slice>;

/// Finds the common elements of two boxes of one tensor, which are both stored row-major. Calls
/// `visit(position in from_slice, position in to_slice, count)` for each run of consecutive elements, with as few calls
/// as possible; all three are in elements. Returns the number of common elements.
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

  // Trailing axes that both boxes cover completely form one run, together with the axis before them. The other axes are
  // counted like an odometer.
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

/// Copies the common elements of two boxes of one tensor. `from` holds the box `from_slice`, `to` the box `to_slice`,
/// both row-major with elements of `element_bytes` bytes. The memory must not overlap. Returns the number of elements
/// copied.
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

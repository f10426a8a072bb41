// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// The extents of a tensor, outermost axis first. No axis: a scalar. A value. The constructors take only extents for
/// which `valid` is true (programmer error otherwise; asserted). Check extents from outside with `valid` first.
class Shape {
 public:
  /// Most axes that a tensor may have.
  static constexpr std::size_t max_rank = 8;

  /// The shape of a scalar: no axis.
  constexpr Shape() = default;
  /// Makes the shape with these extents, outermost axis first. `valid` must be true for them (asserted).
  constexpr Shape(std::initializer_list<std::int64_t> extents)
      : Shape{std::span<const std::int64_t>{extents.begin(), extents.size()}} {}
  constexpr explicit Shape(std::span<const std::int64_t> extents) : rank_{extents.size()} {
    assert(valid(extents));
    for (std::size_t axis = 0; axis < rank_; ++axis) extents_[axis] = extents[axis];
  }

  /// True if these extents can make a Shape: at most `max_rank`, none negative, the product of those that are not 0 at
  /// most 2^62.
  [[nodiscard]] static constexpr auto valid(std::span<const std::int64_t> extents) noexcept -> bool {
    if (extents.size() > max_rank) return false;
    std::int64_t elements = 1;
    for (const std::int64_t extent : extents) {
      if (extent < 0) return false;
      if (extent != 0 && elements > (std::int64_t{1} << 62) / extent) return false;
      elements *= extent == 0 ? 1 : extent;
    }
    return true;
  }

  /// Returns the number of axes.
  [[nodiscard]] constexpr auto rank() const noexcept -> std::size_t { return rank_; }
  /// Returns the extent of an axis, which must be below `rank()` (not checked).
  [[nodiscard]] constexpr auto operator[](std::size_t axis) const noexcept -> std::int64_t { return extents_[axis]; }
  /// Returns all extents, outermost axis first: a view, valid until the shape is changed or destroyed.
  [[nodiscard]] constexpr auto extents() const noexcept -> std::span<const std::int64_t> {
    return {extents_.data(), rank_};
  }

  /// Returns the product of the extents; 1 for a scalar.
  [[nodiscard]] constexpr auto elements() const noexcept -> std::int64_t {
    std::int64_t product = 1;
    for (const std::int64_t extent : extents()) product *= extent;
    return product;
  }

  [[nodiscard]] constexpr auto operator==(const Shape&) const noexcept -> bool = default;

 private:
  std::array<std::int64_t, max_rank> extents_{};
  std::size_t rank_ = 0;
};

/// Returns the text "[784,128]"; "[]" for a scalar.
[[nodiscard]] DISTRIB_DECL auto to_string(const Shape& shape) -> std::string;

namespace detail {

/// Returns the shape for which `to_string` returns `text`. Empty for every other text, and for extents that make no
/// Shape.
[[nodiscard]] DISTRIB_DECL auto parse_shape(std::string_view text) -> std::optional<Shape>;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/shape.ipp>
#endif

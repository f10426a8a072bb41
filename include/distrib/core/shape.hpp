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

/// Extents of a tensor, outermost axis first; rank 0 is a scalar. A value. Programmer error: more than `max_rank` axes
/// or a negative extent; whoever reads shapes from outside checks them first with `valid`.
class Shape {
 public:
  /// Most axes a tensor may have.
  static constexpr std::size_t max_rank = 8;

  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<std::int64_t> extents)
      : Shape{std::span<const std::int64_t>{extents.begin(), extents.size()}} {}
  constexpr explicit Shape(std::span<const std::int64_t> extents) : rank_{extents.size()} {
    assert(valid(extents));
    for (std::size_t axis = 0; axis < rank_; ++axis) extents_[axis] = extents[axis];
  }

  /// Whether these extents make a Shape: at most `max_rank`, none negative, their product below 2^62.
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

  [[nodiscard]] constexpr auto rank() const noexcept -> std::size_t { return rank_; }
  [[nodiscard]] constexpr auto operator[](std::size_t axis) const noexcept -> std::int64_t { return extents_[axis]; }
  [[nodiscard]] constexpr auto extents() const noexcept -> std::span<const std::int64_t> {
    return {extents_.data(), rank_};
  }

  /// Product of the extents; 1 for a scalar.
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

/// "[784,128]"; "[]" for a scalar.
[[nodiscard]] DISTRIB_DECL auto to_string(const Shape& shape) -> std::string;

namespace detail {

/// The opposite of `to_string`: empty for every text that it does not write, and for extents that make no Shape.
[[nodiscard]] DISTRIB_DECL auto parse_shape(std::string_view text) -> std::optional<Shape>;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/shape.ipp>
#endif

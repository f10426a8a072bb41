// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/dtype.hpp>
#include <distrib/core/shape.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace distrib {
inline namespace v0 {

/// How a variable is divided: into `parts` pieces along `axis`; the other axes are not divided. 1 part: not divided.
struct Partition {
  std::size_t axis = 0;  ///< Which axis is divided, from 0.
  std::int64_t parts = 1;  ///< Number of pieces, at least 1.

  [[nodiscard]] auto operator==(const Partition&) const -> bool = default;
};

namespace detail {
template <class P>
concept PartitionsShapes = requires(const P& partitioner, const Shape& shape, DType dtype) {
  { partitioner.partition(shape, dtype) } -> std::convertible_to<Partition>;
};
}  // namespace detail

/// Decides how a variable is divided: a copyable type with
/// `partition(const Shape& shape, DType dtype) const -> Partition`, for a shape of at least one axis. It is never
/// called for scalars, which are not divided.
///
/// Semantics: a pure function of its arguments, so that all processes agree. The axis is one of the shape's, and has at
/// least `parts` rows; `part_slices` refuses other results. It may throw `std::system_error` if it has no result.
template <class P>
concept Partitioner = std::copy_constructible<P> && detail::PartitionsShapes<P>;

namespace detail {
/// Reports one sentence for each thing that `P` lacks. For the twins of functions that take a Partitioner.
template <class P> constexpr void explain_partitioner() {
  // a variable of its own, so that compilers do not add why the concept failed
  constexpr bool partitions = PartitionsShapes<P>;
  constexpr bool copies = std::copy_constructible<P>;
  static_assert(partitions,
                "distrib: a Partitioner needs partition(const distrib::Shape&, distrib::DType) const that returns "
                "distrib::Partition");
  static_assert(copies, "distrib: a Partitioner must be copyable");
}
}  // namespace detail

}  // namespace v0
}  // namespace distrib

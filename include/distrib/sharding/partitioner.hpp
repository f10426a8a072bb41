// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/dtype.hpp>
#include <distrib/core/shape.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace distrib {
inline namespace v0 {

/// How a variable is cut: into `parts` pieces along `axis`, none of the other axes. 1 part: not cut.
struct Partition {
  std::size_t axis = 0;
  std::int64_t parts = 1;

  [[nodiscard]] auto operator==(const Partition&) const -> bool = default;
};

namespace detail {
template <class P>
concept PartitionsShapes = requires(const P& partitioner, const Shape& shape, DType dtype) {
  { partitioner.partition(shape, dtype) } -> std::convertible_to<Partition>;
};
}  // namespace detail

/// Decides how a variable is cut: `partition(shape, dtype) const` for a shape of at least one axis. Scalars are never
/// cut and never asked about.
///
/// Semantics: a pure function of its arguments, so that processes agree. The axis is one of the shape's and has at
/// least `parts` rows; `part_slices` refuses other answers. It may throw `std::system_error` when it cannot answer.
template <class P>
concept Partitioner = std::copy_constructible<P> && detail::PartitionsShapes<P>;

namespace detail {
/// One sentence for each thing that `P` lacks; for the speaking twins of entry points that take a Partitioner.
template <class P> constexpr void explain_partitioner() {
  constexpr bool partitions = PartitionsShapes<P>;  // named, so that compilers do not add how a concept failed
  constexpr bool copies = std::copy_constructible<P>;
  static_assert(partitions,
                "distrib: a Partitioner needs partition(const distrib::Shape&, distrib::DType) const that returns "
                "distrib::Partition");
  static_assert(copies, "distrib: a Partitioner is a value: let it be copied");
}
}  // namespace detail

}  // namespace v0
}  // namespace distrib

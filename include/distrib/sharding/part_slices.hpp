// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/sharding/partitioner.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Returns the parts of a tensor of `shape`, in order. If R rows are divided into P parts, the first R mod P parts get
/// one row more than the others (TensorFlow's "div" layout). One part is the whole tensor, of any shape.
///
/// Errors (without `ec` thrown as `std::system_error`): `sharding_errc::not_positive` if `partition.parts` is below 1,
/// `no_such_axis` if the shape does not have `partition.axis`, `too_many_parts` if that axis has fewer rows than there
/// are parts. The result is then empty.
[[nodiscard]] DISTRIB_DECL auto part_slices(const Shape& shape, Partition partition, std::error_code& ec)
    -> std::vector<Slice>;
[[nodiscard]] DISTRIB_DECL auto part_slices(const Shape& shape, Partition partition) -> std::vector<Slice>;

/// Returns the parts into which `partitioner` divides a variable; a scalar stays whole. Throws what `partitioner`
/// throws, and what `part_slices` throws if the partition does not fit the shape.
template <Partitioner P>
[[nodiscard]] auto part_slices(const Shape& shape, DType dtype, P partitioner) -> std::vector<Slice> {
  if (shape.rank() == 0) return {Slice::whole(shape)};
  return part_slices(shape, partitioner.partition(shape, dtype));
}

// The twin with the same parameter list, which reports what is missing. The constrained one is chosen if its concept
// holds.
template <class P> auto part_slices(const Shape&, DType, P) -> std::vector<Slice> {
  detail::explain_partitioner<P>();
  return {};
}

namespace detail {

/// Converts TensorFlow's form of a partition, one number of parts per axis: {5, 1} divides axis 0 into 5 parts.
///
/// Errors: `sharding_errc::no_such_axis` for a scalar, `too_many_axes`, `not_positive`, `too_many_parts`.
[[nodiscard]] DISTRIB_DECL auto partition_from_counts(std::span<const std::int64_t> counts, const Shape& shape,
                                                      std::error_code& ec) -> Partition;
[[nodiscard]] DISTRIB_DECL auto partition_from_counts(std::span<const std::int64_t> counts, const Shape& shape)
    -> Partition;

}  // namespace detail

/// Returns the name of a part: "hidden/weights/part_1".
[[nodiscard]] inline auto part_name(std::string_view variable, std::size_t part) -> std::string {
  return std::string{variable} + "/part_" + std::to_string(part);
}

/// Returns TensorFlow's text of a part: the extents of the whole, then the slice: "20 43 0,20:15,14".
[[nodiscard]] inline auto part_text(const Shape& whole, const Slice& slice) -> std::string {
  std::string text;
  for (const std::int64_t extent : whole.extents()) text += std::to_string(extent) + ' ';
  return text + to_string(slice);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sharding/impl/part_slices.ipp>
#endif

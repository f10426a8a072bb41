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

/// The pieces of a tensor of `shape`, in order: of R rows in P parts the first R mod P get one row more than the
/// others (TensorFlow's "div" layout). One part is the whole, of any shape. Fails with `sharding_errc::not_positive`,
/// `no_such_axis`, `too_many_parts`.
[[nodiscard]] DISTRIB_DECL auto part_slices(const Shape& shape, Partition partition, std::error_code& ec)
    -> std::vector<Slice>;
[[nodiscard]] DISTRIB_DECL auto part_slices(const Shape& shape, Partition partition) -> std::vector<Slice>;

/// The pieces into which `partitioner` cuts a variable; a scalar stays whole. Throws what `partitioner` throws, and
/// what `part_slices` does when its answer does not fit.
template <Partitioner P>
[[nodiscard]] auto part_slices(const Shape& shape, DType dtype, P partitioner) -> std::vector<Slice> {
  if (shape.rank() == 0) return {Slice::whole(shape)};
  return part_slices(shape, partitioner.partition(shape, dtype));
}

// The twin: same parameter list, so that the constrained one wins whenever its concept holds.
template <class P> auto part_slices(const Shape&, DType, P) -> std::vector<Slice> {
  detail::explain_partitioner<P>();
  return {};
}

namespace detail {

/// TensorFlow's form of a partition, one number of parts for each axis of a variable that has any: {5, 1} cuts axis 0.
/// Fails with `sharding_errc::no_such_axis` for a scalar, `too_many_axes`, `not_positive`, `too_many_parts`.
[[nodiscard]] DISTRIB_DECL auto partition_from_counts(std::span<const std::int64_t> counts, const Shape& shape,
                                                      std::error_code& ec) -> Partition;
[[nodiscard]] DISTRIB_DECL auto partition_from_counts(std::span<const std::int64_t> counts, const Shape& shape)
    -> Partition;

}  // namespace detail

/// Name of a part: "hidden/weights/part_1".
[[nodiscard]] inline auto part_name(std::string_view variable, std::size_t part) -> std::string {
  return std::string{variable} + "/part_" + std::to_string(part);
}

/// TensorFlow's text of a part, the whole's extents and then the slice: "20 43 0,20:15,14".
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

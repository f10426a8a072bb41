// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/slice.hpp>
#include <distrib/sharding/error.hpp>
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
[[nodiscard]] inline auto part_slices(const Shape& shape, Partition partition, std::error_code& ec)
    -> std::vector<Slice> {
  ec.clear();
  if (partition.parts == 1) return {Slice::whole(shape)};
  if (partition.parts < 1) ec = sharding_errc::not_positive;
  else if (partition.axis >= shape.rank()) ec = sharding_errc::no_such_axis;
  else if (partition.parts > shape[partition.axis]) ec = sharding_errc::too_many_parts;
  if (ec) return {};
  const std::int64_t rows = shape[partition.axis] / partition.parts;
  const std::int64_t longer = shape[partition.axis] % partition.parts;
  std::vector<Slice> slices;
  std::int64_t first = 0;
  for (std::int64_t part = 0; part < partition.parts; ++part) {
    const std::int64_t count = rows + (part < longer ? 1 : 0);
    slices.push_back(Slice::along(shape, partition.axis, first, count));
    first += count;
  }
  return slices;
}
template <class = void> [[nodiscard]] auto part_slices(const Shape& shape, Partition partition) -> std::vector<Slice> {
  std::error_code ec;
  auto slices = part_slices(shape, partition, ec);
  if (ec)
    throw_error(ec, std::to_string(partition.parts) + " parts along axis " + std::to_string(partition.axis) + " of " +
                        to_string(shape));
  return slices;
}

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

/// TensorFlow's form of a partition, one number of parts for each axis of a variable that has any: {5, 1} cuts axis 0.
/// Fails with `sharding_errc::no_such_axis` for a scalar, `too_many_axes`, `not_positive`, `too_many_parts`.
[[nodiscard]] inline auto partition_from_counts(std::span<const std::int64_t> counts, const Shape& shape,
                                                std::error_code& ec) -> Partition {
  ec.clear();
  Partition partition;
  if (counts.size() != shape.rank()) ec = sharding_errc::too_many_axes;
  else if (shape.rank() == 0) ec = sharding_errc::no_such_axis;
  for (std::size_t axis = 0; !ec && axis < counts.size(); ++axis) {
    if (counts[axis] < 1) ec = sharding_errc::not_positive;
    else if (counts[axis] > 1 && counts[axis] > shape[axis]) ec = sharding_errc::too_many_parts;
    if (counts[axis] > 1 && partition.parts > 1) ec = sharding_errc::too_many_axes;
    if (counts[axis] > 1) partition = {axis, counts[axis]};
  }
  return ec ? Partition{} : partition;
}
[[nodiscard]] inline auto partition_from_counts(std::span<const std::int64_t> counts, const Shape& shape) -> Partition {
  std::error_code ec;
  const Partition partition = partition_from_counts(counts, shape, ec);
  if (ec) throw_error(ec, "a partition of " + to_string(shape));
  return partition;
}

/// Name of a part: "hidden/weights/part_1".
template <class = void> [[nodiscard]] auto part_name(std::string_view variable, std::size_t part) -> std::string {
  return std::string{variable} + "/part_" + std::to_string(part);
}

/// TensorFlow's text of a part, the whole's extents and then the slice: "20 43 0,20:15,14".
template <class = void> [[nodiscard]] auto part_text(const Shape& whole, const Slice& slice) -> std::string {
  std::string text;
  for (const std::int64_t extent : whole.extents()) text += std::to_string(extent) + ' ';
  return text + to_string(slice);
}

}  // namespace v0
}  // namespace distrib

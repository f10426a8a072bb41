// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sharding/part_slices.hpp>

#include <distrib/sharding/error.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto part_slices(const Shape& shape, Partition partition, std::error_code& ec) -> std::vector<Slice> {
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

DISTRIB_DECL auto part_slices(const Shape& shape, Partition partition) -> std::vector<Slice> {
  std::error_code ec;
  auto slices = part_slices(shape, partition, ec);
  if (ec)
    throw_error(ec, std::to_string(partition.parts) + " parts along axis " + std::to_string(partition.axis) + " of " +
                        to_string(shape));
  return slices;
}

namespace detail {

DISTRIB_DECL auto partition_from_counts(std::span<const std::int64_t> counts, const Shape& shape, std::error_code& ec)
    -> Partition {
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

DISTRIB_DECL auto partition_from_counts(std::span<const std::int64_t> counts, const Shape& shape) -> Partition {
  std::error_code ec;
  const Partition partition = partition_from_counts(counts, shape, ec);
  if (ec) throw_error(ec, "a partition of " + to_string(shape));
  return partition;
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib

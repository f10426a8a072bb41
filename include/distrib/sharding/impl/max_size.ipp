// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sharding/max_size.hpp>

#include <distrib/sharding/detail/bytes.hpp>
#include <distrib/sharding/error.hpp>

#include <algorithm>
#include <string>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto MaxSizePartitioner::partition(const Shape& shape, DType dtype) const -> Partition {
  std::error_code ec;
  const Partition result = partition(shape, dtype, ec);
  if (ec == sharding_errc::not_positive)
    throw_error(ec, max_shard_bytes < 1 ? "MaxSizePartitioner::max_shard_bytes"
                    : max_shards < 0    ? "MaxSizePartitioner::max_shards"
                                        : "MaxSizePartitioner::bytes_per_string");
  if (ec) throw_error(ec, "axis " + std::to_string(axis) + " of " + to_string(shape));
  return result;
}

DISTRIB_DECL auto MaxSizePartitioner::partition(const Shape& shape, DType dtype, std::error_code& ec) const noexcept
    -> Partition {
  ec.clear();
  if (max_shard_bytes < 1 || max_shards < 0 || bytes_per_string < 1) ec = sharding_errc::not_positive;
  else if (axis >= shape.rank()) ec = sharding_errc::no_such_axis;
  if (ec) return {};
  const std::int64_t rows = shape[axis];
  const std::int64_t row_elements = rows == 0 ? 0 : shape.elements() / rows;
  const std::int64_t row_bytes = detail::bytes_of_elements(row_elements, dtype, bytes_per_string);
  if (row_bytes == 0) return {axis, 1};
  const std::int64_t rows_of_part = std::max<std::int64_t>(1, max_shard_bytes / row_bytes);
  const std::int64_t parts = rows / rows_of_part + (rows % rows_of_part != 0 ? 1 : 0);
  return {axis, max_shards == 0 ? parts : std::min(parts, max_shards)};
}

}  // namespace v0
}  // namespace distrib

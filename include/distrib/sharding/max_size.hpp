// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sharding/detail/bytes.hpp>
#include <distrib/sharding/error.hpp>
#include <distrib/sharding/partitioner.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// As few parts as keep each at or below `max_shard_bytes`. A row that is larger by itself is a part of its own, and
/// `max_shards` comes first: parts grow beyond `max_shard_bytes` then. TensorFlow's older name of it is
/// `variable_axis_size_partitioner`.
struct MaxSizePartitioner {
  std::int64_t max_shard_bytes = 64 << 20;  ///< At least 1. TensorFlow has no default and advises this one.
  std::int64_t max_shards = 0;              ///< At least 1; 0: as many as it takes.
  std::size_t axis = 0;                     ///< To be cut.
  std::int64_t bytes_per_string = 16;       ///< What a text element counts; at least 1.

  /// min(max_shards, ceil(rows / max(1, floor(max_shard_bytes / bytes of a row)))), and 1 for an empty variable. Fails
  /// with `sharding_errc::not_positive`, `sharding_errc::no_such_axis`.
  [[nodiscard]] auto partition(const Shape& shape, DType dtype) const -> Partition {
    std::error_code ec;
    const Partition result = partition(shape, dtype, ec);
    if (ec == sharding_errc::not_positive)
      throw_error(ec, max_shard_bytes < 1 ? "MaxSizePartitioner::max_shard_bytes"
                      : max_shards < 0    ? "MaxSizePartitioner::max_shards"
                                          : "MaxSizePartitioner::bytes_per_string");
    if (ec) throw_error(ec, "axis " + std::to_string(axis) + " of " + to_string(shape));
    return result;
  }
  [[nodiscard]] auto partition(const Shape& shape, DType dtype, std::error_code& ec) const noexcept -> Partition {
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

  [[nodiscard]] auto operator==(const MaxSizePartitioner&) const -> bool = default;
};

}  // namespace v0
}  // namespace distrib

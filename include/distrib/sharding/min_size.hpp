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

/// As many parts of about `min_shard_bytes` as a variable fills, at most `max_shards`. As in TensorFlow the number is
/// rounded up, so that parts may be a little smaller than the minimum, and by default nothing is cut. TensorFlow's
/// older name of it is `min_max_variable_partitioner`.
struct MinSizePartitioner {
  std::int64_t min_shard_bytes = 256 << 10;  ///< At least 1.
  std::int64_t max_shards = 1;               ///< At least 1.
  std::size_t axis = 0;                      ///< To be cut.
  std::int64_t bytes_per_string = 16;        ///< What a text element counts; at least 1.

  /// max(1, min(rows, max_shards, ceil(bytes / min_shard_bytes))). Fails with `sharding_errc::not_positive`,
  /// `sharding_errc::no_such_axis`.
  [[nodiscard]] auto partition(const Shape& shape, DType dtype) const -> Partition {
    std::error_code ec;
    const Partition result = partition(shape, dtype, ec);
    if (ec == sharding_errc::not_positive)
      throw_error(ec, min_shard_bytes < 1 ? "MinSizePartitioner::min_shard_bytes"
                      : max_shards < 1    ? "MinSizePartitioner::max_shards"
                                          : "MinSizePartitioner::bytes_per_string");
    if (ec) throw_error(ec, "axis " + std::to_string(axis) + " of " + to_string(shape));
    return result;
  }
  [[nodiscard]] auto partition(const Shape& shape, DType dtype, std::error_code& ec) const noexcept -> Partition {
    ec.clear();
    if (min_shard_bytes < 1 || max_shards < 1 || bytes_per_string < 1) ec = sharding_errc::not_positive;
    else if (axis >= shape.rank()) ec = sharding_errc::no_such_axis;
    if (ec) return {};
    const std::int64_t bytes = detail::bytes_of_elements(shape.elements(), dtype, bytes_per_string);
    const std::int64_t wanted = bytes / min_shard_bytes + (bytes % min_shard_bytes != 0 ? 1 : 0);
    return {axis, std::max<std::int64_t>(1, std::min({shape[axis], max_shards, wanted}))};
  }

  [[nodiscard]] auto operator==(const MinSizePartitioner&) const -> bool = default;
};

}  // namespace v0
}  // namespace distrib

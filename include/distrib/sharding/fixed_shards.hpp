// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sharding/error.hpp>
#include <distrib/sharding/partitioner.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// The same number of parts for every variable, or as many as the axis has rows when it has fewer. TensorFlow's
/// older name of it is `fixed_size_partitioner`.
struct FixedShardsPartitioner {
  std::int64_t num_shards = 1;  ///< At least 1.
  std::size_t axis = 0;         ///< To be cut.

  /// Fails with `sharding_errc::not_positive`, `sharding_errc::no_such_axis`.
  [[nodiscard]] auto partition(const Shape& shape, DType dtype) const -> Partition {
    std::error_code ec;
    const Partition result = partition(shape, dtype, ec);
    if (ec == sharding_errc::not_positive) throw_error(ec, "FixedShardsPartitioner::num_shards");
    if (ec) throw_error(ec, "axis " + std::to_string(axis) + " of " + to_string(shape));
    return result;
  }
  [[nodiscard]] auto partition(const Shape& shape, DType, std::error_code& ec) const noexcept -> Partition {
    ec.clear();
    if (num_shards < 1) ec = sharding_errc::not_positive;
    else if (axis >= shape.rank()) ec = sharding_errc::no_such_axis;
    if (ec) return {};
    return {axis, std::max<std::int64_t>(1, std::min(num_shards, shape[axis]))};
  }

  [[nodiscard]] auto operator==(const FixedShardsPartitioner&) const -> bool = default;
};

}  // namespace v0
}  // namespace distrib

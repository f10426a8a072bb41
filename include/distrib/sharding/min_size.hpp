// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/sharding/partitioner.hpp>

#include <cstddef>
#include <cstdint>
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
  [[nodiscard]] DISTRIB_DECL auto partition(const Shape& shape, DType dtype) const -> Partition;
  [[nodiscard]] DISTRIB_DECL auto partition(const Shape& shape, DType dtype, std::error_code& ec) const noexcept
      -> Partition;

  [[nodiscard]] auto operator==(const MinSizePartitioner&) const -> bool = default;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sharding/impl/min_size.ipp>
#endif

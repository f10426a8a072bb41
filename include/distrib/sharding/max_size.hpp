// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/sharding/partitioner.hpp>

#include <cstddef>
#include <cstdint>
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
  [[nodiscard]] DISTRIB_DECL auto partition(const Shape& shape, DType dtype) const -> Partition;
  [[nodiscard]] DISTRIB_DECL auto partition(const Shape& shape, DType dtype, std::error_code& ec) const noexcept
      -> Partition;

  [[nodiscard]] auto operator==(const MaxSizePartitioner&) const -> bool = default;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sharding/impl/max_size.ipp>
#endif

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/sharding/partitioner.hpp>

#include <cstddef>
#include <cstdint>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Divides a variable into as many parts of about `min_shard_bytes` as it fills, at most `max_shards`. As in TensorFlow
/// the number is rounded up, so parts may be clearly smaller than `min_shard_bytes`, for example half of it; and by
/// default nothing is divided. TensorFlow's older name is `min_max_variable_partitioner`.
struct MinSizePartitioner {
  std::int64_t min_shard_bytes = 256 << 10;  ///< At least 1.
  std::int64_t max_shards = 1;  ///< At least 1.
  std::size_t axis = 0;  ///< The axis to divide.
  std::int64_t bytes_per_string = 16;  ///< Assumed size of an element of type string; at least 1.

  /// Returns max(1, min(rows, max_shards, ceil(bytes / min_shard_bytes))) parts.
  ///
  /// Errors (without `ec` thrown as `std::system_error`): `sharding_errc::not_positive` if one of the numbers of bytes
  /// or `max_shards` is below 1, `no_such_axis` if the shape has no axis `axis`; the result is then `Partition{}`.
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/sharding/partitioner.hpp>

#include <cstddef>
#include <cstdint>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Divides a variable into as few parts as possible with at most `max_shard_bytes` each. A row that is larger than that
/// is a part of its own. `max_shards` takes precedence: then parts may be larger than `max_shard_bytes`. TensorFlow's
/// older name is `variable_axis_size_partitioner`.
struct MaxSizePartitioner {
  std::int64_t max_shard_bytes = 64 << 20;  ///< At least 1. TensorFlow has no default, and recommends this value.
  std::int64_t max_shards = 0;  ///< Most parts. 0: no limit.
  std::size_t axis = 0;  ///< The axis to divide.
  std::int64_t bytes_per_string = 16;  ///< Assumed size of an element of type string; at least 1.

  /// Returns min(max_shards, ceil(rows / max(1, floor(max_shard_bytes / bytes of a row)))) parts; 1 for an empty
  /// variable.
  ///
  /// Errors (without `ec` thrown as `std::system_error`): `sharding_errc::not_positive` if one of the numbers of bytes
  /// is below 1 or `max_shards` is negative, `no_such_axis` if the shape has no axis `axis`; the result is then
  /// `Partition{}`.
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/sharding/partitioner.hpp>

#include <cstddef>
#include <cstdint>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Divides every variable into the same number of parts, or into as many as the axis has rows if that is fewer, but at
/// least 1. TensorFlow's older name is `fixed_size_partitioner`.
struct FixedShardsPartitioner {
  std::int64_t num_shards = 1;  ///< At least 1.
  std::size_t axis = 0;  ///< The axis to divide.

  /// Returns `axis` and the number of parts: max(1, min(num_shards, rows of the axis)). `dtype` has no effect.
  ///
  /// Errors (without `ec` thrown as `std::system_error`): `sharding_errc::not_positive` if `num_shards` is below 1,
  /// `no_such_axis` if the shape has no axis `axis`; the result is then `Partition{}`. Success clears `ec`.
  [[nodiscard]] DISTRIB_DECL auto partition(const Shape& shape, DType dtype) const -> Partition;
  [[nodiscard]] DISTRIB_DECL auto partition(const Shape& shape, DType, std::error_code& ec) const noexcept -> Partition;

  [[nodiscard]] auto operator==(const FixedShardsPartitioner&) const -> bool = default;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sharding/impl/fixed_shards.ipp>
#endif

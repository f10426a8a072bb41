// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/sharding/partitioner.hpp>

#include <cstddef>
#include <cstdint>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// The same number of parts for every variable, or as many as the axis has rows when it has fewer. TensorFlow's
/// older name of it is `fixed_size_partitioner`.
struct FixedShardsPartitioner {
  std::int64_t num_shards = 1;  ///< At least 1.
  std::size_t axis = 0;         ///< To be cut.

  /// Fails with `sharding_errc::not_positive`, `sharding_errc::no_such_axis`.
  [[nodiscard]] DISTRIB_DECL auto partition(const Shape& shape, DType dtype) const -> Partition;
  [[nodiscard]] DISTRIB_DECL auto partition(const Shape& shape, DType, std::error_code& ec) const noexcept -> Partition;

  [[nodiscard]] auto operator==(const FixedShardsPartitioner&) const -> bool = default;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sharding/impl/fixed_shards.ipp>
#endif

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sharding/min_size.hpp>

#include <distrib/sharding/detail/bytes.hpp>
#include <distrib/sharding/error.hpp>

#include <algorithm>
#include <string>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto MinSizePartitioner::partition(const Shape& shape, DType dtype) const -> Partition {
  std::error_code ec;
  const Partition result = partition(shape, dtype, ec);
  if (ec == sharding_errc::not_positive)
    throw_error(ec, min_shard_bytes < 1 ? "MinSizePartitioner::min_shard_bytes"
                    : max_shards < 1    ? "MinSizePartitioner::max_shards"
                                        : "MinSizePartitioner::bytes_per_string");
  if (ec) throw_error(ec, "axis " + std::to_string(axis) + " of " + to_string(shape));
  return result;
}

DISTRIB_DECL auto MinSizePartitioner::partition(const Shape& shape, DType dtype, std::error_code& ec) const noexcept
    -> Partition {
  ec.clear();
  if (min_shard_bytes < 1 || max_shards < 1 || bytes_per_string < 1) ec = sharding_errc::not_positive;
  else if (axis >= shape.rank()) ec = sharding_errc::no_such_axis;
  if (ec) return {};
  const std::int64_t bytes = detail::bytes_of_elements(shape.elements(), dtype, bytes_per_string);
  const std::int64_t wanted = bytes / min_shard_bytes + (bytes % min_shard_bytes != 0 ? 1 : 0);
  return {axis, std::max<std::int64_t>(1, std::min({shape[axis], max_shards, wanted}))};
}

}  // namespace v0
}  // namespace distrib

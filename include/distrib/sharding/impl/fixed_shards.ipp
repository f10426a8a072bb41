// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sharding/fixed_shards.hpp>

#include <distrib/sharding/error.hpp>

#include <algorithm>
#include <string>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto FixedShardsPartitioner::partition(const Shape& shape, DType dtype) const -> Partition {
  std::error_code ec;
  const Partition result = partition(shape, dtype, ec);
  if (ec == sharding_errc::not_positive) throw_error(ec, "FixedShardsPartitioner::num_shards");
  if (ec) throw_error(ec, "axis " + std::to_string(axis) + " of " + to_string(shape));
  return result;
}

DISTRIB_DECL auto FixedShardsPartitioner::partition(const Shape& shape, DType, std::error_code& ec) const noexcept
    -> Partition {
  ec.clear();
  if (num_shards < 1) ec = sharding_errc::not_positive;
  else if (axis >= shape.rank()) ec = sharding_errc::no_such_axis;
  if (ec) return {};
  return {axis, std::max<std::int64_t>(1, std::min(num_shards, shape[axis]))};
}

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sharding/sharded_variable.hpp>

#include <limits>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL ShardedVariable::ShardedVariable(std::span<const VariableInfo> shards) {
  std::error_code ec;
  add(shards, ec);
  if (!ec) return;
  std::string where = "ShardedVariable of";
  for (const VariableInfo& shard : shards) (where += ' ').append(name(shard.dtype)) += to_string(shard.shape);
  throw_error(ec, where);
}

DISTRIB_DECL auto ShardedVariable::slice(const ShardedVariable::RowRange& range, std::error_code& ec) const
    -> std::vector<ShardedVariable::ShardRange> {
  ec.clear();
  if (range.step == 0) {
    ec = sharding_errc::zero_step;
    return {};
  }
  return range.step > 0 ? forwards(range) : backwards(range);
}

DISTRIB_DECL auto ShardedVariable::slice(const ShardedVariable::RowRange& range) const
    -> std::vector<ShardedVariable::ShardRange> {
  std::error_code ec;
  auto ranges = slice(range, ec);
  if (ec) throw_error(ec, "a slice of " + to_string(shape_));
  return ranges;
}

DISTRIB_DECL auto ShardedVariable::sharding() const -> RangeSharding {
  std::error_code ec;
  const RangeSharding div = sharding(ec);
  if (ec) throw_error(ec, "scatter on " + to_string(shape_));
  return div;
}

DISTRIB_DECL void ShardedVariable::add(std::span<const VariableInfo> shards, std::error_code& ec) {
  ec.clear();
  if (shards.empty()) ec = sharding_errc::not_positive;
  else if (shards[0].shape.rank() == 0) ec = sharding_errc::no_such_axis;
  if (ec) return;
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int64_t> whole{shards[0].shape.extents().begin(), shards[0].shape.extents().end()};
  for (const VariableInfo& shard : shards) {
    const auto extents = shard.shape.extents();
    if (shard.dtype != shards[0].dtype || extents.size() != whole.size() ||
        !std::equal(extents.begin() + 1, extents.end(), whole.begin() + 1)) {
      ec = sharding_errc::unlike_shards;
      return;
    }
    whole[0] = offsets.back() + extents[0];
    if (!Shape::valid(whole)) {
      ec = sharding_errc::too_large;
      return;
    }
    offsets.push_back(whole[0]);
  }
  dtype_ = shards[0].dtype;
  shape_ = Shape{whole};
  offsets_ = std::move(offsets);
}

DISTRIB_DECL void ShardedVariable::cut(const Shape& shape, DType dtype, Partition partition, std::error_code& ec) {
  constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  ec.clear();
  if (partition.parts < 1) ec = sharding_errc::not_positive;
  else if (shape.rank() == 0) ec = sharding_errc::no_such_axis;
  else if (partition.parts > 1 && partition.axis != 0) ec = sharding_errc::not_axis_0;
  else if (partition.parts > 1 && partition.parts > std::min(shape[0], most)) ec = sharding_errc::too_many_parts;
  if (ec) return;
  dtype_ = dtype;
  shape_ = shape;
  const std::int64_t even = shape[0] / partition.parts;
  const std::int64_t longer = shape[0] % partition.parts;
  for (std::int64_t part = 0; part < partition.parts; ++part)
    offsets_.push_back(offsets_.back() + even + (part < longer ? 1 : 0));
}

DISTRIB_DECL auto ShardedVariable::forwards(const ShardedVariable::RowRange& range) const
    -> std::vector<ShardedVariable::ShardRange> {
  const auto step = static_cast<std::uint64_t>(range.step);
  const std::int64_t start = from_end(range.start.value_or(0));
  const std::int64_t stop = std::min(range.stop ? from_end(*range.stop) : rows(), rows());
  std::vector<ShardedVariable::ShardRange> ranges;
  for (std::uint32_t shard = 0; shard < num_shards(); ++shard) {
    const std::int64_t first = offsets_[shard];
    const std::int64_t end = std::min(offsets_[shard + 1], stop);
    if (start >= end || first >= end) continue;
    // The first row of the range in this shard, counted from the first row where it could be.
    const std::int64_t from = std::max(start, first);
    const std::uint64_t skipped = start < first ? beyond(distance(start, first), step) : 0;
    if (skipped < distance(from, end))
      ranges.push_back({shard, from + static_cast<std::int64_t>(skipped) - first, end - first, range.step});
  }
  return ranges;
}

DISTRIB_DECL auto ShardedVariable::backwards(const ShardedVariable::RowRange& range) const
    -> std::vector<ShardedVariable::ShardRange> {
  const std::uint64_t step = std::uint64_t{0} - static_cast<std::uint64_t>(range.step);
  const std::int64_t start = range.start ? from_end(*range.start) : rows() - 1;
  const std::int64_t stop = std::max<std::int64_t>(range.stop ? from_end(*range.stop) : -1, -1);
  std::vector<ShardedVariable::ShardRange> ranges;
  for (std::uint32_t shard = num_shards(); shard-- > 0;) {
    const std::int64_t last = offsets_[shard + 1] - 1;
    const std::int64_t end = std::max(offsets_[shard] - 1, stop);  // the row before the first row of the shard
    if (start <= end || last <= end) continue;
    const std::int64_t from = std::min(start, last);
    const std::uint64_t skipped = start > last ? beyond(distance(last, start), step) : 0;
    if (skipped < distance(end, from))
      ranges.push_back(
          {shard, from - static_cast<std::int64_t>(skipped) - offsets_[shard], end - offsets_[shard], range.step});
  }
  return ranges;
}

}  // namespace v0
}  // namespace distrib

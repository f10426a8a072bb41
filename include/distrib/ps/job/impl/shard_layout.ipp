// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/shard_layout.hpp>

#include <algorithm>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL ShardLayout::ShardLayout(const Job& job, std::uint32_t shard)
    : shard_{shard}, wire_format_{job.wire_format} {
  const std::size_t counters = job.updaters_of.size() + 1;  // a number above the numbers of all updaters
  std::vector<std::uint64_t> order;  // updater in the upper half, part in the lower half
  for (std::size_t part = 0; part < job.parts.size(); ++part) {
    if (job.parts[part].shard != shard) continue;
    const VariableInfo& variable = job.variables[job.parts[part].variable];
    const std::size_t updater = detail::is_counter(variable.dtype) ? counters : job.updater_of(variable.name);
    order.push_back(std::uint64_t{updater} << 32 | part);
  }
  std::sort(order.begin(), order.end());
  for (const std::uint64_t entry : order) {
    const Part& part = job.parts[entry & 0xFFFFFFFF];
    const bool counter = entry >> 32 == counters;
    const std::size_t updater = counter ? 0 : entry >> 32;
    const VariableInfo& variable = job.variables[part.variable];
    const auto part_bytes = static_cast<std::size_t>(part.slice.extents.elements()) * size_bytes(variable.dtype);
    if (!counter && (groups_.empty() || groups_.back().updater != updater))
      groups_.push_back({updater, block_bytes_, 0});
    const bool whole = part.slice == Slice::whole(variable.shape);
    entries_.push_back({part.variable, updater, variable.name, variable.dtype, variable.shape, part.slice, block_bytes_,
                        part_bytes, whole && (counter || wire_format_ == FloatFormat::float32)});
    block_bytes_ += detail::aligned_size(part_bytes);
    if (counter) continue;
    groups_.back().size_bytes = block_bytes_ - groups_.back().offset_bytes;
    float_bytes_ = block_bytes_;
    ++trained_;
  }
  for (std::size_t table = 0; table < job.tables.size(); ++table) tables_.emplace_back(job, table, shard);
}

}  // namespace v0
}  // namespace distrib

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/shard_layout.hpp>

#include <distrib/core/int8_blocks.hpp>

#include <algorithm>
#include <string>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL ShardLayout::ShardLayout(const Job& job, std::uint32_t shard)
    : shard_{shard}, wire_format_{job.wire_format.values()}, int8_gradients_{job.wire_format.int8_gradients()} {
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
                        part_bytes, whole && (counter || wire_format_ == FloatFormat::float32), num_scales_});
    if (int8_gradients_ && !counter)
      num_scales_ += detail::for_each_int8_run(part.slice, variable.shape, [](auto...) {});
    block_bytes_ += detail::aligned_size(part_bytes);
    if (counter) continue;
    groups_.back().size_bytes = block_bytes_ - groups_.back().offset_bytes;
    float_bytes_ = block_bytes_;
    ++trained_;
  }
  for (std::size_t table = 0; table < job.tables.size(); ++table) tables_.emplace_back(job, table, shard);
}

DISTRIB_DECL auto uneven_shards(std::span<const ShardLayout> layouts) -> std::string {
  constexpr std::size_t least_bytes = std::size_t{1} << 20;
  if (layouts.size() < 2) return {};
  std::size_t total = 0;
  for (const ShardLayout& layout : layouts) total += layout.block_bytes();
  const ShardLayout& largest = *std::ranges::max_element(layouts, {}, &ShardLayout::block_bytes);
  const std::size_t mean = total / layouts.size();
  if (largest.block_bytes() <= least_bytes || largest.block_bytes() / 2 <= mean) return {};
  const ShardLayout::Entry& entry = *std::ranges::max_element(largest.entries(), {}, &ShardLayout::Entry::size_bytes);
  return "shard " + std::to_string(largest.shard()) + " has " + std::to_string(largest.block_bytes()) +
         " bytes of variables, the mean of " + std::to_string(layouts.size()) + " shards is " + std::to_string(mean) +
         "; its largest part is " + std::to_string(entry.size_bytes) + " bytes of " + entry.name +
         ": each step waits for this shard; a partitioner divides variables";
}

}  // namespace v0
}  // namespace distrib

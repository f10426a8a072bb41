// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/initializer.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/ps/job.hpp>
#include <distrib/ps/table_place.hpp>
#include <distrib/ps/wire_format.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

/// How the parts of one shard lie in one block of memory: values, gradients and slots alike. Each part starts at a
/// multiple of `tensor_alignment`; the gaps are zero. Parts of one updater lie together. And which rows of the tables
/// the shard has. Made from the job alone, so workers and shards agree. A value.
class ShardLayout {
 public:
  /// One part: which variable, which piece of it, where in the block.
  struct Place {
    std::size_t variable = 0;
    std::size_t updater = 0;  ///< Its number, see `Job::updater_of`.
    std::string name;      ///< Of the whole variable.
    Shape whole;           ///< Shape of the whole variable.
    Slice slice;
    std::size_t offset_bytes = 0;
    std::size_t size_bytes = 0;
  };

  /// The parts of one updater, one after the other: a piece of the block that it updates at once.
  struct Group {
    std::size_t updater = 0;
    std::size_t offset_bytes = 0;
    std::size_t size_bytes = 0;
  };

  template <class = void>
  ShardLayout(const Job& job, std::uint32_t shard) : shard_{shard}, wire_format_{job.wire_format} {
    std::vector<std::pair<std::size_t, std::size_t>> order;  // updater, then part
    for (std::size_t part = 0; part < job.parts.size(); ++part)
      if (job.parts[part].shard == shard)
        order.emplace_back(job.updater_of(job.variables[job.parts[part].variable].name), part);
    std::sort(order.begin(), order.end());
    for (const auto& [updater, number] : order) {
      const Part& part = job.parts[number];
      const VariableInfo& variable = job.variables[part.variable];
      const auto part_bytes = static_cast<std::size_t>(part.slice.extents.elements()) * size_bytes(variable.dtype);
      if (groups_.empty() || groups_.back().updater != updater) groups_.push_back({updater, block_bytes_, 0});
      places_.push_back({part.variable, updater, variable.name, variable.shape, part.slice, block_bytes_, part_bytes});
      block_bytes_ += aligned_size(part_bytes);
      groups_.back().size_bytes = block_bytes_ - groups_.back().offset_bytes;
    }
    for (std::size_t table = 0; table < job.tables.size(); ++table) tables_.emplace_back(job, table, shard);
  }

  [[nodiscard]] auto shard() const noexcept -> std::uint32_t { return shard_; }
  [[nodiscard]] auto places() const noexcept -> std::span<const Place> {
    return {places_.data(), places_.size()};
  }
  /// In the order of their places in the block.
  [[nodiscard]] auto groups() const noexcept -> std::span<const Group> { return {groups_.data(), groups_.size()}; }
  [[nodiscard]] auto block_bytes() const noexcept -> std::size_t { return block_bytes_; }
  /// How elements travel, and the bytes of the block in a message: see `ps/wire_block.hpp`.
  [[nodiscard]] auto wire_format() const noexcept -> WireFormat { return wire_format_; }
  [[nodiscard]] auto wire_block_bytes() const noexcept -> std::size_t {
    return aligned_size(block_bytes_ / sizeof(float) * wire_element_bytes(wire_format_));
  }
  /// The shard's share of each table of the job, in the job's order.
  [[nodiscard]] auto tables() const noexcept -> std::span<const TablePlace> {
    return {tables_.data(), tables_.size()};
  }

 private:
  std::uint32_t shard_;
  WireFormat wire_format_;
  std::vector<Place> places_;
  std::vector<Group> groups_;
  std::size_t block_bytes_ = 0;
  std::vector<TablePlace> tables_;
};

/// The layouts of all shards of a job, in their order.
template <class = void>
[[nodiscard]] inline auto shard_layouts(const Job& job) -> std::vector<ShardLayout> {
  std::vector<ShardLayout> layouts;
  for (std::uint32_t shard = 0; shard < job.shards(); ++shard) layouts.emplace_back(job, shard);
  return layouts;
}

/// Copies a shard's block into whole variables: `variable(v)` gives the memory of variable v.
template <class VariableMemory>
void spread(const ShardLayout& layout, const std::byte* block, VariableMemory&& variable) {
  for (const auto& place : layout.places())
    copy_overlap(place.slice, block + place.offset_bytes, Slice::whole(place.whole), variable(place.variable),
                 sizeof(float));
}

/// Copies a shard's pieces out of whole variables into its block: the opposite of `spread`.
template <class VariableMemory>
void gather(const ShardLayout& layout, VariableMemory&& variable, std::byte* block) {
  for (const auto& place : layout.places())
    copy_overlap(Slice::whole(place.whole), variable(place.variable), place.slice, block + place.offset_bytes,
                 sizeof(float));
}

/// The initial values of a shard: a pure function of the job.
template <class = void>
[[nodiscard]] inline auto initial_values(const Job& job, const ShardLayout& layout) -> AlignedBuffer {
  AlignedBuffer block{layout.block_bytes()};
  for (const auto& place : layout.places())
    fill(job.variables[place.variable].initializer, job.seed, place.name, place.whole, place.slice,
         block.as<float>().subspan(place.offset_bytes / sizeof(float), place.size_bytes / sizeof(float)));
  return block;
}

}  // namespace distrib::inline v0

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/float_codec.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/core/initializer.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/core/variable_info.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/table_share.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// How the parts of one shard lie in one block of memory: values, gradients and slots alike. Each part starts at a
/// multiple of `tensor_alignment`; the gaps are zero. Parts of one updater lie together, and the counters, which have
/// none, behind all of those: what is trained is a prefix of floats. And which rows of the tables the shard has. Made
/// from the job alone, so workers and shards agree. A value.
class ShardLayout {
 public:
  /// One part: which variable, which piece of it, where in the block.
  struct Entry {
    std::size_t variable = 0;
    std::size_t updater = 0;  ///< Its number, see `Job::updater_of`. Of a counter 0, and it says nothing.
    std::string name;      ///< Of the whole variable.
    DType dtype = DType::float32;
    Shape whole;           ///< Shape of the whole variable.
    Slice slice;
    std::size_t offset_bytes = 0;
    std::size_t size_bytes = 0;
    bool travels_whole = false;  ///< The variable is one part, and travels as it lies in memory.
  };

  /// The parts of one updater, one after the other: a piece of the block that it updates at once. All are float32.
  struct Group {
    std::size_t updater = 0;
    std::size_t offset_bytes = 0;
    std::size_t size_bytes = 0;
  };

  DISTRIB_DECL ShardLayout(const Job& job, std::uint32_t shard);

  [[nodiscard]] auto shard() const noexcept -> std::uint32_t { return shard_; }
  [[nodiscard]] auto entries() const noexcept -> std::span<const Entry> { return {entries_.data(), entries_.size()}; }
  /// Those of what is trained, the first of the entries.
  [[nodiscard]] auto trained() const noexcept -> std::span<const Entry> { return entries().first(trained_); }
  /// Those of counters, the others.
  [[nodiscard]] auto counters() const noexcept -> std::span<const Entry> { return entries().subspan(trained_); }
  /// In the order in which they lie in the block. Counters are in none.
  [[nodiscard]] auto groups() const noexcept -> std::span<const Group> { return {groups_.data(), groups_.size()}; }
  [[nodiscard]] auto block_bytes() const noexcept -> std::size_t { return block_bytes_; }
  /// How much of the block, from its beginning, is trained: floats. Counters are behind it.
  [[nodiscard]] auto float_bytes() const noexcept -> std::size_t { return float_bytes_; }
  /// How what is trained travels, and the bytes of it and of the whole block in a message: see
  /// `ps/store/wire_block.hpp`.
  [[nodiscard]] auto wire_format() const noexcept -> FloatFormat { return wire_format_; }
  [[nodiscard]] auto wire_float_bytes() const noexcept -> std::size_t {
    return detail::aligned_size(float_bytes_ / sizeof(float) * element_bytes(wire_format_));
  }
  [[nodiscard]] auto wire_block_bytes() const noexcept -> std::size_t {
    return wire_float_bytes() + (block_bytes_ - float_bytes_);
  }
  /// The shard's share of each table of the job, in the job's order.
  [[nodiscard]] auto tables() const noexcept -> std::span<const TableShare> { return {tables_.data(), tables_.size()}; }

 private:
  std::uint32_t shard_;
  FloatFormat wire_format_;
  std::vector<Entry> entries_;
  std::vector<Group> groups_;
  std::size_t block_bytes_ = 0;
  std::size_t float_bytes_ = 0;
  std::size_t trained_ = 0;  // so many entries are no counters
  std::vector<TableShare> tables_;
};

/// The layouts of all shards of a job, in their order.
[[nodiscard]] inline auto shard_layouts(const Job& job) -> std::vector<ShardLayout> {
  std::vector<ShardLayout> layouts;
  for (std::uint32_t shard = 0; shard < job.shards(); ++shard) layouts.emplace_back(job, shard);
  return layouts;
}

/// The initial values of a shard: a pure function of the job. Counters are zero.
[[nodiscard]] inline auto initial_values(const Job& job, const ShardLayout& layout) -> AlignedBuffer {
  AlignedBuffer block{layout.block_bytes()};
  for (const auto& entry : layout.trained())
    detail::fill(job.variables[entry.variable].initializer, job.seed, entry.name, entry.whole, entry.slice,
                 block.as<float>().subspan(entry.offset_bytes / sizeof(float), entry.size_bytes / sizeof(float)));
  return block;
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/shard_layout.ipp>
#endif

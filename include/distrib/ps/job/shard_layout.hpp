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

/// How the parts of one shard lie in one block of memory, which may hold values, gradients or slots; and the shard's
/// share of each table. Each part begins at a multiple of `tensor_alignment`; in values and gradients the gaps are
/// zeros, in slots they have no meaning. Parts with the same updater lie together. The counters, which have no updater,
/// come after all other parts, so that everything that is trained is a prefix of the block, made of floats. Computed
/// from the job alone, so workers and shards agree. A value.
class ShardLayout {
 public:
  /// One part: its variable, the piece of the variable, and its position in the block.
  struct Entry {
    std::size_t variable = 0;
    std::size_t updater = 0;  ///< Number of the updater, see `Job::updater_of`. For a counter 0, without meaning.
    std::string name;  ///< Name of the whole variable.
    DType dtype = DType::float32;
    Shape whole;  ///< Shape of the whole variable.
    Slice slice;
    std::size_t offset_bytes = 0;
    std::size_t size_bytes = 0;
    bool travels_whole = false;  ///< True if the variable is one part that travels exactly as it lies in memory.
    std::size_t first_scale = 0;  ///< With `int8_gradients()`: number of its first scale among those of the shard.
  };

  /// All parts with one updater, one after another: a range of the block that is updated by one call. All are float32.
  struct Group {
    std::size_t updater = 0;
    std::size_t offset_bytes = 0;
    std::size_t size_bytes = 0;
  };

  /// `shard`: 0 .. `Job::shards()` - 1.
  DISTRIB_DECL ShardLayout(const Job& job, std::uint32_t shard);

  [[nodiscard]] auto shard() const noexcept -> std::uint32_t { return shard_; }
  /// All parts, in the order in which they lie in the block.
  [[nodiscard]] auto entries() const noexcept -> std::span<const Entry> { return {entries_.data(), entries_.size()}; }
  /// The parts that are trained: the first of the entries.
  [[nodiscard]] auto trained() const noexcept -> std::span<const Entry> { return entries().first(trained_); }
  /// The counters: the other entries.
  [[nodiscard]] auto counters() const noexcept -> std::span<const Entry> { return entries().subspan(trained_); }
  /// The groups of the trained parts, in the order in which they lie in the block.
  [[nodiscard]] auto groups() const noexcept -> std::span<const Group> { return {groups_.data(), groups_.size()}; }
  /// Size of the block in memory, in bytes.
  [[nodiscard]] auto block_bytes() const noexcept -> std::size_t { return block_bytes_; }
  /// Size of the trained part of the block, in bytes, from its beginning. Counters follow it.
  [[nodiscard]] auto float_bytes() const noexcept -> std::size_t { return float_bytes_; }
  /// Format of trained elements in messages, see `ps/store/wire_block.hpp`; of values only, if `int8_gradients()`.
  [[nodiscard]] auto wire_format() const noexcept -> FloatFormat { return wire_format_; }
  /// True if gradients travel as int8 numbers, see `ps/store/gradient_block.hpp`.
  [[nodiscard]] auto int8_gradients() const noexcept -> bool { return int8_gradients_; }
  /// Bytes of all trained elements in a message, rounded up to a multiple of `tensor_alignment`.
  [[nodiscard]] auto wire_float_bytes() const noexcept -> std::size_t {
    return detail::aligned_size(float_bytes_ / sizeof(float) * element_bytes(wire_format_));
  }
  /// Bytes of the whole dense block in a message.
  [[nodiscard]] auto wire_block_bytes() const noexcept -> std::size_t {
    return wire_float_bytes() + (block_bytes_ - float_bytes_);
  }
  /// Bytes of the scales of all trained parts in a contribution, rounded up to a multiple of `tensor_alignment`. 0
  /// unless `int8_gradients()`.
  [[nodiscard]] auto scale_bytes() const noexcept -> std::size_t {
    return detail::aligned_size(num_scales_ * sizeof(float));
  }
  /// As `wire_float_bytes`, of the gradients in a contribution.
  [[nodiscard]] auto gradient_float_bytes() const noexcept -> std::size_t {
    return int8_gradients_ ? scale_bytes() + detail::aligned_size(float_bytes_ / sizeof(float)) : wire_float_bytes();
  }
  /// Bytes of the whole dense block in a contribution.
  [[nodiscard]] auto gradient_block_bytes() const noexcept -> std::size_t {
    return gradient_float_bytes() + (block_bytes_ - float_bytes_);
  }
  /// The shard's share of each table, in the job's order.
  [[nodiscard]] auto tables() const noexcept -> std::span<const TableShare> { return {tables_.data(), tables_.size()}; }

 private:
  std::uint32_t shard_;
  FloatFormat wire_format_;
  bool int8_gradients_;
  std::vector<Entry> entries_;
  std::vector<Group> groups_;
  std::size_t block_bytes_ = 0;
  std::size_t float_bytes_ = 0;
  std::size_t trained_ = 0;  // number of entries that are not counters
  std::size_t num_scales_ = 0;
  std::vector<TableShare> tables_;
};

/// Returns the layouts of all shards of a job, in order.
[[nodiscard]] inline auto shard_layouts(const Job& job) -> std::vector<ShardLayout> {
  std::vector<ShardLayout> layouts;
  for (std::uint32_t shard = 0; shard < job.shards(); ++shard) layouts.emplace_back(job, shard);
  return layouts;
}

/// Returns a sentence about the largest shard if it has more than twice as many bytes of dense values as the mean of
/// all shards, and more than 1 MiB: every step then waits for its ps. Names its largest part. Empty otherwise.
[[nodiscard]] DISTRIB_DECL auto uneven_shards(std::span<const ShardLayout> layouts) -> std::string;

/// Returns the initial values of a shard: a pure function of the job. Counters are zero, and so are variables with a
/// `CustomInitializer`: those values come with contribution 0.
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

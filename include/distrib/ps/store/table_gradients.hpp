// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/float_codec.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/core/int8_blocks.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/store/key_lists.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

// A contribution, for one shard of a job with tables, consists of:
// - the dense block;
// - 8 bytes, little endian: how many bytes of keys follow;
// - the keys of all tables (`append_keys`);
// - the rows of each table, in the order of its keys; each table's rows begin at the next multiple of
//   `tensor_alignment`.
//
// In a job without tables it is the dense block alone. Values consist of the dense block and such rows, in the order of
// the keys of the pull. Elements are in the job's `WireFormat`: rows of int8 gradients as `encode_int8_row` writes
// them.

/// Bytes of `rows` rows of a table in a message.
[[nodiscard]] inline auto wire_row_bytes(const ShardLayout& layout, std::size_t table, std::size_t rows = 1)
    -> std::size_t {
  return rows * layout.tables()[table].info().dim * element_bytes(layout.wire_format());
}

/// As `wire_row_bytes`, of rows of gradients in a contribution.
[[nodiscard]] inline auto gradient_row_bytes(const ShardLayout& layout, std::size_t table, std::size_t rows = 1)
    -> std::size_t {
  return layout.int8_gradients() ? rows * int8_row_bytes(layout.tables()[table].info().dim)
                                 : wire_row_bytes(layout, table, rows);
}

/// Bytes in a message of values of all rows that `keys` name, each table's rows rounded up to a multiple of
/// `tensor_alignment`.
[[nodiscard]] inline auto rows_bytes(const ShardLayout& layout, const KeyLists& keys) -> std::size_t {
  std::size_t bytes = 0;
  for (std::size_t table = 0; table < keys.size(); ++table)
    bytes += detail::aligned_size(wire_row_bytes(layout, table, keys[table].size()));
  return bytes;
}

/// As `rows_bytes`, of rows of gradients in a contribution.
[[nodiscard]] inline auto gradient_rows_bytes(const ShardLayout& layout, const KeyLists& keys) -> std::size_t {
  std::size_t bytes = 0;
  for (std::size_t table = 0; table < keys.size(); ++table)
    bytes += detail::aligned_size(gradient_row_bytes(layout, table, keys[table].size()));
  return bytes;
}

/// What a contribution has for the tables: for each table keys, and a row of gradients for each key.
///
/// Lifetime: the rows are views of the contribution, or of the floats that they were decoded to.
class TableGradients {
 public:
  /// Reads a contribution, which may come from an unknown client; its address must be a multiple of `tensor_alignment`.
  /// Rows that do not travel as float32 are not readable before `decode`. Memory: at most eight times the
  /// contribution's.
  ///
  /// Errors: `ps_errc::wrong_size` if its size is not what it says itself, or what the layout asks for; `unsorted_keys`
  /// if keys do not ascend, repeat, or cannot be read; `no_such_row` if the table does not have a key, or not on this
  /// shard. The contents of this object are unspecified then.
  [[nodiscard]] DISTRIB_DECL auto read(const ShardLayout& layout, ByteView contribution) -> std::error_code;

  /// Number of floats in all rows that were read.
  [[nodiscard]] auto floats(const ShardLayout& layout) const noexcept -> std::size_t {
    std::size_t floats = 0;
    for (std::size_t table = 0; table < keys_.size(); ++table)
      floats += keys_[table].size() * layout.tables()[table].info().dim;
    return floats;
  }

  /// Decodes the rows into `floats`, which has `floats(layout)` elements; from then on the rows are views of it. Only
  /// after `read`, and while the contribution exists.
  DISTRIB_DECL void decode(const ShardLayout& layout, std::span<float> floats);

  /// The keys of one table of the job.
  [[nodiscard]] auto keys(std::size_t table) const noexcept -> std::span<const std::uint64_t> { return keys_[table]; }
  /// The rows of one table: `dim` floats for each of its keys.
  [[nodiscard]] auto rows(std::size_t table) const noexcept -> std::span<const float> { return rows_[table]; }

 private:
  KeyLists keys_;
  std::vector<const std::byte*> sent_;  // each table's rows as they travelled
  std::vector<std::span<const float>> rows_;
};

/// Where the pieces of a contribution with given keys lie. A worker uses it to write one. A value.
class ContributionLayout {
 public:
  /// `keys`: a list for each table of the job; none if the job has no tables.
  DISTRIB_DECL ContributionLayout(const ShardLayout& layout, const KeyLists& keys);

  /// Size of the whole contribution.
  [[nodiscard]] auto size_bytes() const noexcept -> std::size_t { return size_bytes_; }

  /// Writes the keys, and zeros up to the first row, into a contribution of `size_bytes`. Without tables it writes
  /// nothing.
  DISTRIB_DECL void write_keys(std::span<std::byte> contribution) const;

  /// Offset of the first row of a table, in bytes.
  [[nodiscard]] auto rows_at(std::size_t table) const noexcept -> std::size_t { return rows_[table]; }

 private:
  std::size_t dense_bytes_;
  std::size_t size_bytes_ = 0;
  std::vector<std::byte> keys_;
  std::vector<std::size_t> rows_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/impl/table_gradients.ipp>
#endif

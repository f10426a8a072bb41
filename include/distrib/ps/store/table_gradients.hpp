// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/float_codec.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/store/key_lists.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

// A contribution of a job with tables is, for one shard: the dense block; how many bytes of keys follow, 8 of them, little
// endian; the keys of all tables (`append_keys`); and from the next multiple of `tensor_alignment` on each table's rows
// in the order of its keys, each table's beginning at such a multiple. Without tables it is the dense block alone.
// Values are the dense block and such rows, in the order of the keys that were asked for. Elements are in the job's
// `FloatFormat`.

/// Bytes of so many rows of a table, as they travel.
[[nodiscard]] inline auto wire_row_bytes(const ShardLayout& layout, std::size_t table, std::size_t rows = 1)
    -> std::size_t {
  return rows * layout.tables()[table].info().dim * element_bytes(layout.wire_format());
}

/// Bytes, as they travel, of all rows that `keys` say, each table's rounded up to `tensor_alignment`.
[[nodiscard]] inline auto rows_bytes(const ShardLayout& layout, const KeyLists& keys) -> std::size_t {
  std::size_t bytes = 0;
  for (std::size_t table = 0; table < keys.size(); ++table)
    bytes += detail::aligned_size(wire_row_bytes(layout, table, keys[table].size()));
  return bytes;
}

/// What a contribution says of the tables: for each of them keys, and a row of gradients for each key. Lifetime: rows
/// are views of the contribution, or of what they were decoded to.
class TableGradients {
 public:
  /// Reads a contribution, which may be a stranger's; its address is a multiple of `tensor_alignment`.
  /// `ps_errc::wrong_size`: it has another size than it says or the layout asks; `unsorted_keys`: keys do not ascend, or
  /// one comes twice, or they are no keys at all; `no_such_row`: a key that the table does not have, or not on this
  /// shard. Rows that are no float32 are to be decoded then. Memory: at most eight times the contribution's.
  [[nodiscard]] DISTRIB_DECL auto read(const ShardLayout& layout, ByteView contribution) -> std::error_code;

  /// How many floats all rows are that were read.
  [[nodiscard]] auto floats(const ShardLayout& layout) const noexcept -> std::size_t {
    std::size_t floats = 0;
    for (std::size_t table = 0; table < keys_.size(); ++table)
      floats += keys_[table].size() * layout.tables()[table].info().dim;
    return floats;
  }

  /// Decodes the rows that were read, while the contribution is there, to as many `floats` as they are: they are its
  /// rows from then on.
  DISTRIB_DECL void decode(const ShardLayout& layout, std::span<float> floats);

  /// Of one table of the job.
  [[nodiscard]] auto keys(std::size_t table) const noexcept -> std::span<const std::uint64_t> { return keys_[table]; }
  /// `dim` floats for each key.
  [[nodiscard]] auto rows(std::size_t table) const noexcept -> std::span<const float> { return rows_[table]; }

 private:
  KeyLists keys_;
  std::vector<const std::byte*> sent_;  // each table's rows as they came
  std::vector<std::span<const float>> rows_;
};

/// Where a contribution with these keys has what: a worker makes it with this. A value.
class ContributionLayout {
 public:
  DISTRIB_DECL ContributionLayout(const ShardLayout& layout, const KeyLists& keys);

  [[nodiscard]] auto size_bytes() const noexcept -> std::size_t { return size_bytes_; }

  /// Writes the keys, and the gap behind them, into a contribution of that size.
  DISTRIB_DECL void write_keys(std::span<std::byte> contribution) const;

  /// Where the rows of a table begin, in bytes.
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/row_mean.hpp>
#include <distrib/ps/store/table_gradients.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// What the contributions of a step say of one table: each key once, ascending, and for each one row of gradients. Rows
/// of one key are added in the order of ranks and then divided, each operation rounded, as `reduce_mean` does: where
/// all ranks have a key, its row has the bits of a dense mean. Memory is kept for the next step. Threads: one at a time.
class MergedGradients {
 public:
  /// The contributions must outlive the use of this.
  DISTRIB_DECL void merge(std::span<const TableGradients* const> of_ranks, std::size_t table, std::size_t dim,
                          RowMean mean);

  [[nodiscard]] auto keys() const noexcept -> std::span<const std::uint64_t> { return keys_; }

  /// The rows from key `i` on where they lie, when one rank alone has this table; else null, and `write_row` makes them.
  [[nodiscard]] auto rows_in_place(std::size_t i) const noexcept -> const float* {
    return only_ == nullptr ? nullptr : only_ + i * dim_;
  }

  /// Writes the row of key `i`.
  DISTRIB_DECL void write_row(std::size_t i, float* to) const noexcept;

 private:
  struct Entry {
    std::uint64_t key;
    const float* row;
  };

  // Two by two, those of the lower rank first among equals. Which list is next cannot be foretold, so there is no
  // branch on it.
  DISTRIB_DECL void merge_neighbours();

  std::size_t dim_ = 0;
  std::size_t divisor_ = 0;  // 0: each key's own
  std::span<const std::uint64_t> keys_;
  const float* only_ = nullptr;
  std::vector<Entry> entries_;  // of all ranks, by key, then by rank
  std::vector<Entry> merged_;
  std::vector<std::size_t> ends_;  // of runs that ascend
  std::vector<std::uint64_t> unique_;
  std::vector<std::size_t> begins_;  // of each unique key, in entries_
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/detail/impl/merged_gradients.ipp>
#endif

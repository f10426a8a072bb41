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

/// What the contributions of a step have for one table: each key once, ascending, and a row of gradients for each key.
/// Rows of one key are added in rank order, then divided; each operation is rounded, as in `reduce_mean`. So if all
/// ranks have a key, its row has the bits of a dense mean. Memory is kept for the next step.
///
/// Threads: one at a time.
class MergedGradients {
 public:
  /// Merges the gradients of table number `table`, which has rows of `dim` elements. The contributions must exist until
  /// the rows have been read. Ranks without keys of this table are skipped, but `RowMean::of_all` counts them in the
  /// divisor.
  DISTRIB_DECL void merge(std::span<const TableGradients* const> of_ranks, std::size_t table, std::size_t dim,
                          RowMean mean);

  /// The keys of the last `merge`.
  [[nodiscard]] auto keys() const noexcept -> std::span<const std::uint64_t> { return keys_; }

  /// Returns the rows from key `i` on, in the contribution itself, if only one rank has keys of this table and its
  /// gradients are not divided. Otherwise null: use `write_row`.
  [[nodiscard]] auto rows_in_place(std::size_t i) const noexcept -> const float* {
    return only_ == nullptr ? nullptr : only_ + i * dim_;
  }

  /// Writes the row of key `i`, `dim` elements.
  DISTRIB_DECL void write_row(std::size_t i, float* to) const noexcept;

 private:
  struct Entry {
    std::uint64_t key;
    const float* row;
  };

  // Merges the runs two by two; equal keys keep rank order. Which run has the next key cannot be predicted, so there is
  // no branch on it.
  DISTRIB_DECL void merge_neighbours();

  std::size_t dim_ = 0;
  std::size_t divisor_ = 0;  // divisor of every key; 0: the number of contributions with the key
  std::span<const std::uint64_t> keys_;
  const float* only_ = nullptr;
  std::vector<Entry> entries_;  // entries of all ranks, by key, then by rank
  std::vector<Entry> merged_;
  std::vector<std::size_t> ends_;  // ends of the ascending runs in `entries_`
  std::vector<std::uint64_t> unique_;
  std::vector<std::size_t> begins_;  // index in `entries_` of each unique key's first entry
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/store/detail/impl/merged_gradients.ipp>
#endif

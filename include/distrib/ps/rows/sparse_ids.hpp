// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Rows with any number of ids: row r looks up `ids[row_splits[r]]` up to, but not including, `ids[row_splits[r + 1]]`,
/// each with its weight. The form of TensorFlow's RaggedTensor, and of the ragged columns of a batch. A view: the lists
/// must exist while it is used.
struct SparseIds {
  std::span<const std::int64_t> ids;  ///< The ids of all rows, row after row.
  std::span<const std::int64_t> row_splits;  ///< One more than there are rows, ascending from 0 to `ids.size()`.
  std::span<const float> weights{};  ///< One for each id. Empty: every weight is 1.

  /// Number of rows. `row_splits` must be valid: not empty, and ascending from 0 to the number of ids (not checked).
  [[nodiscard]] constexpr auto rows() const noexcept -> std::size_t { return row_splits.size() - 1; }
  /// Position of the first id of row `row` in `ids` and `weights`; for `rows()`, the number of ids. `row` must be at
  /// most `rows()`, and `row_splits` must be valid: not empty, and ascending from 0 to the number of ids (not checked).
  [[nodiscard]] constexpr auto begin_of(std::size_t row) const noexcept -> std::size_t {
    return static_cast<std::size_t>(row_splits[row]);
  }
  /// Number of ids of row `row`, which must be below `rows()`. `row_splits` must be valid (not checked).
  [[nodiscard]] constexpr auto size_of(std::size_t row) const noexcept -> std::size_t {
    return begin_of(row + 1) - begin_of(row);
  }
};

namespace detail {

/// Checks that rows, ids and weights fit together. Fails with `ps_errc::bad_row_splits` or `ps_errc::bad_weights`.
DISTRIB_DECL void check_sparse_ids(const SparseIds& lookups, std::error_code& ec) noexcept;
inline void check_sparse_ids(const SparseIds& lookups) {
  std::error_code ec;
  check_sparse_ids(lookups, ec);
  if (ec)
    throw_error(ec, "a lookup of " + std::to_string(lookups.ids.size()) + " ids with " +
                        std::to_string(lookups.weights.size()) + " weights");
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/rows/impl/sparse_ids.ipp>
#endif

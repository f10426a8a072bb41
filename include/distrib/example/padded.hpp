// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/example/batch.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace distrib {
inline namespace v0 {

/// Lists of a batch as one matrix: `rows` x `columns`, row-major; it begins at a multiple of `tensor_alignment`.
template <class T> struct PaddedRows {
  std::size_t rows = 0;  ///< Number of lists.
  std::size_t columns = 0;  ///< Length of the longest list.
  AlignedBuffer memory;  ///< The elements of the matrix.

  /// Returns all rows, one after the other.
  [[nodiscard]] auto values() const noexcept -> std::span<const T> { return memory.as<T>().first(rows * columns); }
  /// Returns the values of one row, which must be below `rows` (not checked).
  [[nodiscard]] auto operator[](std::size_t row) const noexcept -> std::span<const T> {
    return values().subspan(row * columns, columns);
  }
};

/// Returns the lists that `member` holds in a batch; shorter lists are padded at the end with `filler` to the length of
/// the longest (as TensorFlow's FixedLenSequence of single values, and `padded_batch`). Throws `std::system_error` with
/// `example_errc::unbound_member`, naming the features that are bound, if the schema that filled the batch does not
/// bind this member, or the batch was never filled.
template <class E, class T>
[[nodiscard]] auto padded(const Batch<E>& batch, std::span<const T> E::* member, T filler = {}) -> PaddedRows<T> {
  const RaggedRows<T> lists = batch.ragged(member);
  PaddedRows<T> result;
  result.rows = batch.size();
  for (std::size_t i = 0; i < result.rows; ++i)
    result.columns = std::max(result.columns, static_cast<std::size_t>(lists.row_splits[i + 1] - lists.row_splits[i]));
  result.memory = AlignedBuffer::for_overwrite(result.rows * result.columns * sizeof(T));
  T* to = result.memory.template as<T>().data();
  for (std::size_t i = 0; i < result.rows; ++i, to += result.columns) {
    const T* const from = lists.values.data() + lists.row_splits[i];
    const std::int64_t count = lists.row_splits[i + 1] - lists.row_splits[i];
    std::fill(std::copy_n(from, count, to), to + result.columns, filler);
  }
  return result;
}

}  // namespace v0
}  // namespace distrib

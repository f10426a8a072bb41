// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/rows/row_math.hpp>
#include <distrib/tf/conditional_accumulator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What a sparse accumulator computes for each row.
enum class RowReduction : std::uint8_t {
  /// The sum divided by the number of gradients that have this row: TensorFlow's mean, and the default. A row that 1 of
  /// 50 workers has changes 50 times as much as with `mean`.
  row_mean,
  mean,  ///< The sum divided by the number of all gradients, as for dense gradients whose other rows are zeros.
  sum,
};

/// The rows of a table that a gradient changes, in the form of `unique_keys` and `sum_by_key`.
struct SparseGradient {
  std::span<const std::uint64_t> keys;  ///< Ascending, each key once.
  std::span<const float> rows;  ///< One row for each key.
};

/// Action: a take of a sparse accumulator is complete.
struct SparseGradientTaken {
  std::uint64_t take = 0;  ///< The id of the take.
  Step step = 0;  ///< The accumulator's step after this take.
  std::uint64_t count = 0;  ///< Number of gradients: as many as were required, or more.
  SparseGradient gradient;  ///< Valid until the accumulator's next event.
};

namespace detail {

/// The sum of gradients that have some rows of a table.
class SparseSum {
 public:
  using Gradient = SparseGradient;
  using Taken = SparseGradientTaken;

  SparseSum(std::size_t row_size, RowReduction reduction, std::uint64_t table_rows)
      : row_size_{row_size}, reduction_{reduction}, table_rows_{table_rows} {}

  [[nodiscard]] auto check(SparseGradient gradient, bool) const -> std::error_code {
    if (!is_rows(gradient.rows.size(), gradient.keys.size(), row_size_)) return ps_errc::shape_mismatch;
    if (std::ranges::adjacent_find(gradient.keys, std::greater_equal<>{}) != gradient.keys.end())
      return ps_errc::unsorted_keys;
    if (!gradient.keys.empty() && gradient.keys.back() >= table_rows_) return ps_errc::no_such_row;
    return {};
  }

  void add(SparseGradient gradient, bool first) {
    if (first) sum_.clear();
    merge(gradient);
  }

  [[nodiscard]] auto reduce(std::uint64_t count) noexcept -> SparseGradient {
    for (std::size_t i = 0; i < sum_.keys.size() && reduction_ != RowReduction::sum; ++i) {
      const std::uint64_t number = reduction_ == RowReduction::mean ? count : sum_.touched[i];
      divide_row(sum_.values.data() + i * row_size_, static_cast<float>(number), row_size_);
    }
    return {sum_.keys, sum_.values};
  }

  [[nodiscard]] static auto describe(SparseGradient gradient) -> std::string {
    return "a gradient of " + std::to_string(gradient.keys.size()) + " keys and " +
           std::to_string(gradient.rows.size()) + " elements";
  }

 private:
  struct Rows {
    std::vector<std::uint64_t> keys;
    std::vector<std::uint64_t> touched;  // for each key the number of gradients that have its row
    std::vector<float> values;

    void clear() {
      keys.clear();
      touched.clear();
      values.clear();
    }
    void append(std::uint64_t key, std::uint64_t count, const float* row, std::size_t row_size) {
      keys.push_back(key);
      touched.push_back(count);
      values.insert(values.end(), row, row + row_size);
    }
  };

  // Adds a gradient by walking through both lists of keys, which ascend.
  DISTRIB_DECL void merge(SparseGradient gradient);

  std::size_t row_size_;
  RowReduction reduction_;
  std::uint64_t table_rows_;
  Rows sum_;
  Rows merged_;  // memory for the next `merge`
};

}  // namespace detail

/// TensorFlow's SparseConditionalAccumulator: a `ConditionalAccumulator` of gradients that have some rows of a table,
/// or none. Rows of equal keys are added in the order in which the gradients arrive. Memory: twice the rows that are
/// counted.
///
/// Errors: `apply` fails with `ps_errc::shape_mismatch` if a gradient does not have `row_size` elements for each key,
/// `unsorted_keys` if its keys do not ascend or one occurs twice, `no_such_row` if a key is not below `table_rows`.
class SparseConditionalAccumulator : public BasicConditionalAccumulator<detail::SparseSum> {
 public:
  /// `row_size`: elements of a row. `table_rows`: all keys must be below this number.
  explicit SparseConditionalAccumulator(std::size_t row_size, RowReduction reduction = RowReduction::row_mean,
                                        std::uint64_t table_rows = std::numeric_limits<std::uint64_t>::max())
      : BasicConditionalAccumulator{detail::SparseSum{row_size, reduction, table_rows}} {}
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/tf/impl/sparse_conditional_accumulator.ipp>
#endif

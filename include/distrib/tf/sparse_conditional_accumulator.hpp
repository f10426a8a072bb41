// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/rows/row_math.hpp>
#include <distrib/tf/detail/take_line.hpp>

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

/// What a sparse accumulator gives for each row.
enum class RowReduction : std::uint8_t {
  row_mean,  ///< The sum divided by the number of gradients that have this row: TensorFlow's mean, and the default. A
  ///< row that one of 50 workers touched moves 50 times as far as in a dense mean.
  mean,  ///< The sum divided by the number of all gradients, as of a dense gradient whose other rows are zeros.
  sum,
};

/// The rows of a table that a gradient touches; as `unique_keys` and `sum_by_key` make them.
struct SparseGradient {
  std::span<const std::uint64_t> keys;  ///< Ascending, each once.
  std::span<const float> rows;  ///< One row for each key.
};

/// A take of a sparse accumulator is complete.
struct SparseGradientTaken {
  std::uint64_t take = 0;  ///< Which: the id it was asked for with.
  Step step = 0;  ///< The accumulator's step from now on.
  std::uint64_t count = 0;  ///< Of how many gradients: as many as were required, or more.
  SparseGradient gradient;  ///< Valid until the accumulator's next event.
};

/// TensorFlow's SparseConditionalAccumulator: a `ConditionalAccumulator` of gradients that have some rows of a table.
/// Events, order, threads and steps are the same; rows of equal keys are added in the order in which gradients come.
/// Memory: the rows that are counted, twice.
class SparseConditionalAccumulator {
 public:
  /// Of rows of `row_size` elements, of a table whose keys are below `table_rows`.
  explicit SparseConditionalAccumulator(std::size_t row_size, RowReduction reduction = RowReduction::row_mean,
                                        std::uint64_t table_rows = std::numeric_limits<std::uint64_t>::max())
      : row_size_{row_size}, reduction_{reduction}, table_rows_{table_rows} {}

  /// True: it counts, also when it has no row. False: it is stale. Fails with `ps_errc::shape_mismatch`,
  /// `unsorted_keys`, `no_such_row`, and is then not counted; a stale one is not looked at.
  auto apply(Step local_step, SparseGradient gradient, auto& out, std::error_code& ec) -> bool {
    ec.clear();
    if (!line_.accepts(local_step)) return false;
    if (!detail::is_rows(gradient.rows.size(), gradient.keys.size(), row_size_)) ec = ps_errc::shape_mismatch;
    else if (std::adjacent_find(gradient.keys.begin(), gradient.keys.end(), std::greater_equal<>{}) !=
             gradient.keys.end())
      ec = ps_errc::unsorted_keys;
    else if (!gradient.keys.empty() && gradient.keys.back() >= table_rows_) ec = ps_errc::no_such_row;
    if (ec) return false;
    if (line_.count() == 0) sum_.clear();
    merge(gradient);
    line_.counted();
    serve(out);
    return true;
  }
  auto apply(Step local_step, SparseGradient gradient, auto& out) -> bool {
    std::error_code ec;
    const bool counts = apply(local_step, gradient, out, ec);
    if (ec)
      throw_error(ec, "a gradient of " + std::to_string(gradient.keys.size()) + " keys and " +
                          std::to_string(gradient.rows.size()) + " elements");
    return counts;
  }

  /// Asks for what at least `required` gradients make. Fails with `ps_errc::not_positive`.
  void take(std::uint64_t id, std::int64_t required, auto& out, std::error_code& ec) {
    line_.wait(id, required, ec);
    if (!ec) serve(out);
  }
  void take(std::uint64_t id, std::int64_t required, auto& out) {
    std::error_code ec;
    take(id, required, out, ec);
    if (ec) throw_error(ec, "num_required, " + std::to_string(required));
  }

  /// Takes back a take that waits; the next in line may be complete then. False: it does not wait (any more).
  auto cancel(std::uint64_t id, auto& out) -> bool {
    const bool waited = line_.cancel(id);
    serve(out);
    return waited;
  }

  /// False: the step went backwards. What is counted stays counted.
  auto set_global_step(Step step) noexcept -> bool { return line_.set_step(step); }

  [[nodiscard]] auto global_step() const noexcept -> Step { return line_.step(); }
  /// Gradients counted since the last take.
  [[nodiscard]] auto count() const noexcept -> std::uint64_t { return line_.count(); }
  /// Stale gradients since the beginning.
  [[nodiscard]] auto dropped() const noexcept -> std::uint64_t { return line_.dropped(); }
  /// Takes that wait.
  [[nodiscard]] auto waiting() const noexcept -> std::size_t { return line_.waiting(); }

 private:
  struct Rows {
    std::vector<std::uint64_t> keys;
    std::vector<std::uint64_t> touched;  // how many gradients have this row
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

  // Walks both lists, which ascend.
  DISTRIB_DECL void merge(SparseGradient gradient);

  void serve(auto& out) {
    const auto take = line_.ready();
    if (!take) return;
    const std::uint64_t count = line_.count();
    for (std::size_t i = 0; i < sum_.keys.size() && reduction_ != RowReduction::sum; ++i) {
      const std::uint64_t number = reduction_ == RowReduction::mean ? count : sum_.touched[i];
      detail::divide_row(sum_.values.data() + i * row_size_, static_cast<float>(number), row_size_);
    }
    line_.done();
    out(SparseGradientTaken{*take, line_.step(), count, {sum_.keys, sum_.values}});
  }

  std::size_t row_size_;
  RowReduction reduction_;
  std::uint64_t table_rows_;
  detail::TakeLine line_;
  Rows sum_;  // of nothing when the count is 0
  Rows merged_;  // memory for the next sum
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/tf/impl/sparse_conditional_accumulator.ipp>
#endif

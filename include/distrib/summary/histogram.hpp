// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/protowire.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

constexpr auto count_histogram_powers() -> std::size_t {
  std::size_t count = 0;
  for (double limit = 1e-12; limit < 1e20; limit *= 1.1) ++count;
  return count;
}
inline constexpr std::size_t histogram_powers = count_histogram_powers();

constexpr auto make_histogram_limits() -> std::array<double, 2 * histogram_powers + 3> {
  std::array<double, 2 * histogram_powers + 3> limits{};
  std::size_t up = histogram_powers + 2;
  std::size_t down = histogram_powers;
  for (double limit = 1e-12; limit < 1e20; limit *= 1.1) {
    limits[up++] = limit;
    limits[down--] = -limit;
  }
  limits.back() = std::numeric_limits<double>::max();
  limits.front() = std::numeric_limits<double>::lowest();
  return limits;
}

/// Upper limits of the buckets of a `Histogram`, ascending, as in TensorFlow (tsl/lib/histogram/histogram.cc): 1e-12
/// times the powers of 1.1, up to 1e20; the same negative; 0; the largest and the lowest double.
inline constexpr auto histogram_limits = detail::make_histogram_limits();

}  // namespace detail

/// Counts values in TensorFlow's buckets. Values that are infinite or NaN only count in `not_finite`; TensorFlow's own
/// operation fails for them. A value. Memory: 12 KiB.
///
/// Threads: one at a time.
class Histogram {
 public:
  /// A bucket, or several consecutive empty buckets that were merged into one.
  struct Bucket {
    double limit = 0;  ///< Its values are below this limit and not below the limit of the bucket before.
    double count = 0;  ///< Number of values.

    [[nodiscard]] auto operator==(const Bucket&) const -> bool = default;
  };

  Histogram() : counts_(detail::histogram_limits.size()) {}

  /// Counts a value, or each of several values.
  void add(double value) {
    if (!std::isfinite(value)) {
      ++not_finite_;
      return;
    }
    const auto above = std::upper_bound(detail::histogram_limits.begin(), detail::histogram_limits.end() - 1, value);
    counts_[static_cast<std::size_t>(above - detail::histogram_limits.begin())] += 1;
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
    count_ += 1;
    sum_ += value;
    sum_squares_ += value * value;
  }
  void add(std::span<const float> values) {
    for (const float value : values) add(static_cast<double>(value));
  }

  /// Returns the number of finite values. Only these count for `min`, `max`, the sums and `buckets`.
  [[nodiscard]] auto count() const noexcept -> double { return count_; }
  /// Returns the least value; without values, the largest double.
  [[nodiscard]] auto min() const noexcept -> double { return min_; }
  /// Returns the largest value; without values, the lowest double.
  [[nodiscard]] auto max() const noexcept -> double { return max_; }
  /// Return the sum of the finite values, and the sum of their squares; 0 if there are none.
  [[nodiscard]] auto sum() const noexcept -> double { return sum_; }
  [[nodiscard]] auto sum_squares() const noexcept -> double { return sum_squares_; }
  /// Returns the number of values that are infinite or NaN.
  [[nodiscard]] auto not_finite() const noexcept -> std::uint64_t { return not_finite_; }

  /// Returns the buckets as TensorFlow writes them: consecutive empty buckets are merged. At least one bucket.
  [[nodiscard]] DISTRIB_DECL auto buckets() const -> std::vector<Bucket>;

 private:
  std::vector<double> counts_;
  double min_ = std::numeric_limits<double>::max();
  double max_ = std::numeric_limits<double>::lowest();
  double count_ = 0;
  double sum_ = 0;
  double sum_squares_ = 0;
  std::uint64_t not_finite_ = 0;
};

/// Writes a histogram at one step of the run, in the form of TensorFlow 1, which all versions of TensorBoard show.
/// `wall_time`: seconds since 1970. Replaces the content of `out`.
DISTRIB_DECL void write_histogram_event(WireWriter& out, double wall_time, std::int64_t step, std::string_view tag,
                                        const Histogram& histogram);

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/summary/impl/histogram.ipp>
#endif

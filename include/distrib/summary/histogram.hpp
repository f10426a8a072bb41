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

/// Upper limits of the buckets of a `Histogram`, ascending; they are TensorFlow's (tsl/lib/histogram/histogram.cc): the
/// powers of 1.1 times 1e-12 up to 1e20, the same below 0, 0, and the largest numbers that there are.
inline constexpr auto histogram_limits = detail::make_histogram_limits();

}  // namespace detail

/// How many values lie where, in TensorFlow's buckets. A value that is no finite number is counted in `not_finite` and
/// nowhere else; TensorFlow's own operation fails there. A value; one thread at a time. Memory: 12 KiB.
class Histogram {
 public:
  /// A bucket and those empty ones before it that have no other.
  struct Bucket {
    double limit = 0;  ///< Its values are below this, and not below the limit before.
    double count = 0;

    [[nodiscard]] auto operator==(const Bucket&) const -> bool = default;
  };

  Histogram() : counts_(detail::histogram_limits.size()) {}

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

  [[nodiscard]] auto count() const noexcept -> double { return count_; }
  /// The least and the largest value; without any, the largest and the least number that there is.
  [[nodiscard]] auto min() const noexcept -> double { return min_; }
  [[nodiscard]] auto max() const noexcept -> double { return max_; }
  [[nodiscard]] auto sum() const noexcept -> double { return sum_; }
  [[nodiscard]] auto sum_squares() const noexcept -> double { return sum_squares_; }
  /// How many values were infinite or no number.
  [[nodiscard]] auto not_finite() const noexcept -> std::uint64_t { return not_finite_; }

  /// The buckets as TensorFlow writes them: empty ones that follow each other are one. At least one.
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

/// A histogram at one step of the run, in the form of TensorFlow 1, which TensorBoard shows in all its versions.
/// `wall_time` in seconds since 1970. What `out` held is replaced.
DISTRIB_DECL void write_histogram_event(WireWriter& out, double wall_time, std::int64_t step, std::string_view tag,
                                        const Histogram& histogram);

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/summary/impl/histogram.ipp>
#endif

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "json_values.hpp"

#include <distrib/summary/scalar_event.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tools {

/// A summary of the points of one tag.
class Curve {
 public:
  void add(const distrib::ScalarEvent& event) {
    if (points_++ == 0) {
      first_step_ = event.step;
      first_ = event.value;
    }
    last_step_ = event.step;
    last_ = event.value;
    nans_ += std::isnan(event.value) ? 1U : 0U;
    infinite_ += std::isinf(event.value) ? 1U : 0U;
    if (!std::isfinite(event.value)) return;
    const bool is_first = finite_++ == 0;
    least_ = is_first ? event.value : std::min(least_, event.value);
    most_ = is_first ? event.value : std::max(most_, event.value);
  }

  /// Returns the summary: "10 points, steps 0 to 9: 1 to 0.1, least 0.1, most 1". Least and most are of the finite
  /// values.
  [[nodiscard]] auto text() const -> std::string {
    std::string text = std::to_string(points_) + (points_ == 1 ? " point" : " points") + ", steps " +
                       std::to_string(first_step_) + " to " + std::to_string(last_step_) + ": " + short_text(first_) +
                       " to " + short_text(last_);
    if (finite_ != 0) text += ", least " + short_text(least_) + ", most " + short_text(most_);
    if (finite_ != points_)
      text += ", " + std::to_string(points_ - finite_) + " not finite (" + std::to_string(nans_) + " NaN, " +
              std::to_string(infinite_) + " infinite)";
    return text;
  }

 private:
  std::size_t points_ = 0, finite_ = 0, nans_ = 0, infinite_ = 0;
  std::int64_t first_step_ = 0, last_step_ = 0;
  double first_ = 0, last_ = 0, least_ = 0, most_ = 0;
};

}  // namespace tools

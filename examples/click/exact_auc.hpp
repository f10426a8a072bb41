// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

/// The score of an example, and whether it was clicked on.
struct Scored {
  double score = 0;  ///< Higher: more likely a click. Not NaN.
  bool clicked = false;
};

/// Returns the area under the ROC curve: the share of the pairs of a click and another example in which the click has
/// the higher score; a pair with equal scores counts as half. 0 if there are no pairs. Takes time n log n.
[[nodiscard]] inline auto exact_auc(std::vector<Scored> examples) -> double {
  std::ranges::sort(examples, {}, &Scored::score);
  double others_below = 0, clicks = 0, twice_right = 0;
  for (auto first = examples.begin(); first != examples.end();) {
    const auto last = std::ranges::upper_bound(first, examples.end(), first->score, {}, &Scored::score);
    const auto clicks_here = static_cast<double>(std::count_if(first, last, [](const Scored& s) { return s.clicked; }));
    const auto others_here = static_cast<double>(last - first) - clicks_here;
    twice_right += clicks_here * (2 * others_below + others_here);
    clicks += clicks_here;
    others_below += others_here;
    first = last;
  }
  const double pairs = clicks * others_below;
  return pairs > 0 ? twice_right / (2 * pairs) : 0;
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/step.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Adds one `Value` of each rank in a fixed binary tree over the ranks, as they arrive. A node (level, index) is the
/// sum of the aligned block of 2^level ranks from index * 2^level on: left half + right half. It is computed as soon as
/// both are there, whichever came first, so the result depends only on the values. A half without ranks is passed over:
/// nothing is added for it, because -0 + 0 is another number than -0.
///
/// Memory: at most half of the ranks, plus one, wait; in rank order at most one of each level. A value.
template <class Value>
class TreeSum {
 public:
  /// Adds the value of `rank`, once for each rank. `ranks`: how many ranks there are. `sum(left, right)`: returns the
  /// sum of two nodes.
  void add(Rank rank, Rank ranks, Value value, auto sum) {
    Node at{0, rank};
    for (Rank width = ranks; width > 1; width = width / 2 + width % 2) {  // `width`: the nodes of this level
      const Node sibling{at.first, at.second ^ 1};
      if (sibling.second < width) {
        const auto there = nodes_.find(sibling);
        if (there == nodes_.end()) break;
        const Value other = std::move(there->second);
        nodes_.erase(there);
        value = at.second < sibling.second ? sum(value, other) : sum(other, value);
      }
      at = {at.first + 1, at.second / 2};
    }
    nodes_.emplace(at, std::move(value));
  }

  /// Returns how many sums and single values wait to be added to others.
  [[nodiscard]] auto waiting() const noexcept -> std::size_t { return nodes_.size(); }

  /// Returns the sum of all. Every rank must have been added.
  [[nodiscard]] auto total() const -> const Value& { return nodes_.begin()->second; }

 private:
  using Node = std::pair<std::uint32_t, Rank>;  // level, index

  std::map<Node, Value> nodes_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

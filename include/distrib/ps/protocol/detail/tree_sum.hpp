// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/rank_block.hpp>
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
/// What arrives is the value of a rank or the sum of a block, in any mixture, also blocks that lie in each other. What
/// is inside a node that is there is dropped; a node takes the place of everything inside it.
///
/// Memory: at most half of the ranks, plus one, wait; in rank order at most one of each level. A value.
template <class Value>
class TreeSum {
 public:
  /// Adds the value of `block`. Returns false, and drops it, if a node with its ranks is there. `ranks`: how many ranks
  /// there are. `sum(left, right)`: returns the sum of two nodes.
  auto add(RankBlock block, Rank ranks, Value value, auto sum) -> bool {
    Node at{block.level, block.first >> block.level};
    Rank width = ((ranks - 1) >> block.level) + 1;  // the nodes of this level
    if (is_held(at, width)) return false;
    drop_inside(at);
    for (; width > 1; width = width / 2 + width % 2) {
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
    complete_ = width == 1;
    nodes_.emplace(at, std::move(value));
    return true;
  }

  /// Returns how many sums and single values wait to be added to others.
  [[nodiscard]] auto waiting() const noexcept -> std::size_t { return nodes_.size(); }
  /// True if every rank has been added.
  [[nodiscard]] auto complete() const noexcept -> bool { return complete_; }

  /// Returns the sum of all. Every rank must have been added.
  [[nodiscard]] auto total() const -> const Value& { return nodes_.begin()->second; }

 private:
  using Node = std::pair<std::uint32_t, Rank>;  // level, index

  // A node whose sibling has no ranks is kept under the name of the node above.
  [[nodiscard]] auto is_held(Node node, Rank width) const -> bool {
    for (; !nodes_.contains(node); node = {node.first + 1, node.second / 2}) {
      if (width == 1) return false;
      width = width / 2 + width % 2;
    }
    return true;
  }

  void drop_inside(Node node) {
    for (std::uint32_t level = 0; level < node.first && !nodes_.empty(); ++level) {
      const std::uint32_t up = node.first - level;
      nodes_.erase(nodes_.lower_bound({level, node.second << up}),
                   nodes_.lower_bound({level, (node.second + 1) << up}));
    }
  }

  std::map<Node, Value> nodes_;
  bool complete_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

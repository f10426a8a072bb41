// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/protocol/detail/tree_sum.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <random>
#include <string>
#include <vector>

using distrib::Rank;
using distrib::detail::TreeSum;

namespace {

/// Adds the ranks in this order; returns how their sum was made: "((0+1)+2)". `most`: the most nodes that waited.
auto tree_of(const std::vector<Rank>& order, std::size_t& most) -> std::string {
  TreeSum<std::string> tree;
  most = 0;
  for (const Rank rank : order) {
    tree.add(rank, static_cast<Rank>(order.size()), std::to_string(rank),
             [](const std::string& left, const std::string& right) { return "(" + left + "+" + right + ")"; });
    most = std::max(most, tree.waiting());
  }
  CHECK(tree.waiting() == 1);
  return tree.total();
}

auto in_order(Rank ranks) -> std::vector<Rank> {
  std::vector<Rank> order(ranks);
  std::iota(order.begin(), order.end(), Rank{0});
  return order;
}

}  // namespace

TEST_CASE("TreeSum: which sums there are", "[ps]") {
  const char* const expected[] = {"0",
                                  "(0+1)",
                                  "((0+1)+2)",
                                  "((0+1)+(2+3))",
                                  "(((0+1)+(2+3))+4)",
                                  "(((0+1)+(2+3))+(4+5))",
                                  "(((0+1)+(2+3))+((4+5)+6))",
                                  "(((0+1)+(2+3))+((4+5)+(6+7)))",
                                  "((((0+1)+(2+3))+((4+5)+(6+7)))+8)"};
  std::size_t most = 0;
  Rank ranks = 0;
  for (const char* const text : expected) CHECK(tree_of(in_order(++ranks), most) == text);
}

TEST_CASE("TreeSum: the order of arrival decides nothing but how much waits", "[ps]") {
  std::mt19937 random{7};
  for (Rank ranks = 1; ranks <= 40; ++ranks) {
    CAPTURE(ranks);
    std::size_t most = 0;
    const std::string expected = tree_of(in_order(ranks), most);
    CHECK(most <= 7);  // one of each level
    for (int turn = 0; turn < 20; ++turn) {
      std::vector<Rank> order = in_order(ranks);
      std::ranges::shuffle(order, random);
      CHECK(tree_of(order, most) == expected);
      CHECK(most <= ranks / 2 + 1);
    }
  }
}

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
using distrib::RankBlock;
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

auto sum(const std::string& left, const std::string& right) -> std::string { return "(" + left + "+" + right + ")"; }

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

TEST_CASE("TreeSum: what is inside a node that is there is dropped, and a node takes the place of its parts", "[ps]") {
  TreeSum<std::string> tree;
  CHECK(tree.add(1, 7, "1", sum));
  CHECK(tree.add({2, 1}, 7, "2+3", sum));
  CHECK_FALSE(tree.add(3, 7, "another 3", sum));
  CHECK_FALSE(tree.add({2, 1}, 7, "another 2+3", sum));
  CHECK(tree.waiting() == 2);
  CHECK(tree.add({0, 2}, 7, "0..3", sum));  // in place of 1 and 2+3
  CHECK(tree.waiting() == 1);
  CHECK_FALSE(tree.add(1, 7, "another 1", sum));
  CHECK(tree.add(6, 7, "6", sum));
  CHECK_FALSE(tree.complete());
  CHECK(tree.add(5, 7, "5", sum));
  CHECK_FALSE(tree.complete());  // although 6 is kept where a block of two would be
  CHECK(tree.add({4, 1}, 7, "4+5", sum));  // in place of 5
  CHECK(tree.complete());
  CHECK(tree.total() == "(0..3+(4+5+6))");
  CHECK_FALSE(tree.add({0, 3}, 7, "all", sum));
}

TEST_CASE("TreeSum: the sum of all ranks takes the place of everything", "[ps]") {
  TreeSum<std::string> tree;
  CHECK(tree.add(0, 5, "0", sum));
  CHECK(tree.add(4, 5, "4", sum));
  CHECK_FALSE(tree.add(4, 5, "another 4", sum));
  CHECK(tree.add({0, 3}, 5, "all", sum));
  CHECK(tree.complete());
  CHECK(tree.total() == "all");
  CHECK(tree.waiting() == 1);
}

TEST_CASE("TreeSum: blocks and ranks in any mixture give one sum", "[ps]") {
  std::mt19937 random{11};
  for (Rank ranks = 1; ranks <= 24; ++ranks) {
    CAPTURE(ranks);
    std::vector<RankBlock> blocks;
    for (std::uint32_t level = 0; level < 6; ++level)
      for (Rank first = 0; first < ranks; first += Rank{1} << level)
        if (distrib::is_block({first, level}, ranks)) blocks.emplace_back(first, level);
    std::size_t most = 0;
    const std::string expected = tree_of(in_order(ranks), most);
    for (int turn = 0; turn < 20; ++turn) {
      std::ranges::shuffle(blocks, random);
      TreeSum<std::string> tree;
      for (const RankBlock block : blocks) {
        TreeSum<std::string> of_block;  // as a process sums it
        for (Rank rank = block.first; rank < block.end(ranks); ++rank)
          of_block.add(rank, ranks, std::to_string(rank), sum);
        CHECK(of_block.waiting() == 1);
        tree.add(block, ranks, of_block.total(), sum);
        CHECK(tree.waiting() <= ranks / 2 + 1);
      }
      CHECK(tree.complete());
      CHECK(tree.total() == expected);
    }
  }
}
